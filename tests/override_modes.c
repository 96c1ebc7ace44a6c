#include "config.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include "tests/override_modes.h"

bool override_modes(bool on)
{
    const uint32_t bit = UINT32_C(1) << CAP_DAC_OVERRIDE;
    struct __user_cap_header_struct head = {.version =
                                                _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &head, data) < 0)
        return false;
    data->effective &= ~bit;
    if (on)
        data->effective |= data->permitted & bit;
    return syscall(SYS_capset, &head, data) == 0;
}
