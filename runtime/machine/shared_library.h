#ifndef MTLM_SHARED_LIBRARY_H
#define MTLM_SHARED_LIBRARY_H

#include "runtime/base/error.h"

/* Loads libraries that only some runs need.  Loading CUDA's libraries takes
 * 0.1 s, which a run without a GPU saves. */

struct mtlm_library_function {
    const char *name;
    void *to; /* address of the pointer to the function */
};

/* Loads `file` and sets n pointers.  The library stays loaded.  Returns 0, or
 * -1 with the loader's reason. */
int mtlm_shared_library_load(const char *file,
                             const struct mtlm_library_function *function,
                             int n, struct mtlm_error *err);

#endif /* MTLM_SHARED_LIBRARY_H */
