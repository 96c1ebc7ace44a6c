#ifndef MTLM_DTYPE_H
#define MTLM_DTYPE_H

#include <stddef.h>

/* Element types of tensors. */
enum mtlm_dtype {
    MTLM_REAL, /* mtlm_real: weights and activations */
    MTLM_F64,
    MTLM_I32,
};

/* What weights and activations are made of: float, or double in the library
 * set that the gradient checks use (the same sources with -DMTLM_DOUBLE). */
#if MTLM_DOUBLE
typedef double mtlm_real;
#else
typedef float mtlm_real;
#endif

static inline size_t mtlm_dtype_bytes(enum mtlm_dtype dtype)
{
    return dtype == MTLM_REAL  ? sizeof(mtlm_real)
           : dtype == MTLM_F64 ? sizeof(double)
                               : sizeof(int);
}

#endif /* MTLM_DTYPE_H */
