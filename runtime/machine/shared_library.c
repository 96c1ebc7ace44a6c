/* Loads libraries at run time. */

#include "config.h"

#include <dlfcn.h>
#include <string.h>

#include "runtime/machine/shared_library.h"

int mtlm_shared_library_load(const char *file,
                             const struct mtlm_library_function *function,
                             int n, struct mtlm_error *err)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return mtlm_error_set(err, MTLM_EXIT_PEER, "cannot load %s: %s", file,
                              dlerror());
    for (int i = 0; i < n; i++) {
        void *address = dlsym(handle, function[i].name);

        if (!address)
            return mtlm_error_set(err, MTLM_EXIT_PEER, "%s has no %s", file,
                                  function[i].name);
        memcpy(function[i].to, &address, sizeof(address));
    }
    return 0;
}
