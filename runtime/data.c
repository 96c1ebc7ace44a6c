#include "config.h"

#include <inttypes.h>

#include "runtime/data.h"
#include "runtime/error.h"

starpu_data_handle_t mtlm_data_register(void *memory, int64_t elems,
                                        enum mtlm_dtype dtype, const char *name)
{
    starpu_data_handle_t handle;

    if (elems < 1 || elems > UINT32_MAX)
        mtlm_fatal(__FILE__, __LINE__,
                   "%s has %" PRId64 " elements, StarPU counts to %" PRIu32,
                   name, elems, UINT32_MAX);
    starpu_vector_data_register(&handle, memory ? STARPU_MAIN_RAM : -1,
                                (uintptr_t) memory, (uint32_t) elems,
                                mtlm_dtype_bytes(dtype));
    starpu_data_set_name(handle, name);
    return handle;
}
