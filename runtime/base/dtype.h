#ifndef MTLM_DTYPE_H
#define MTLM_DTYPE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* Element types of tensors.
 *
 * A job has one value type: MTLM_REAL, MTLM_BF16 or MTLM_F16.  These tensors
 * have the value type: weights as kernels use them (matrices, biases, gamma,
 * beta, embedding tables), activations, and gradients of activations.  These
 * tensors are always MTLM_REAL: gradients of weights, which accumulate; master
 * weights and Adam's moments; means, row statistics of attention and
 * cross-entropy, and the weights of the loss. */
enum mtlm_dtype {
    MTLM_REAL, /* mtlm_real */
    MTLM_F64,
    MTLM_I32,
    MTLM_BF16, /* the upper half of a float: 8 bits of exponent, 7 of mantissa
                */
    MTLM_F16,  /* IEEE 754 binary16: 5 bits of exponent, 10 of mantissa */
    /* Of no tensor: in the table of operations, an operand of the call's value
     * type (struct mtlm_call). */
    MTLM_VALUE,
};

/* The type of fp32 computations: float; double in the libraries of the gradient
 * checks (the same sources with -DMTLM_DOUBLE). */
#if MTLM_DOUBLE
typedef double mtlm_real;
#else
typedef float mtlm_real;
#endif

/* Returns the bytes of an element; not for MTLM_VALUE. */
static inline size_t mtlm_dtype_bytes(enum mtlm_dtype dtype)
{
    switch (dtype) {
    case MTLM_REAL:
        return sizeof(mtlm_real);
    case MTLM_F64:
        return sizeof(double);
    case MTLM_I32:
        return sizeof(int);
    case MTLM_BF16:
    case MTLM_F16:
        return 2;
    case MTLM_VALUE:
        break;
    }
    assert(!"an element has a type");
    return 0;
}

/* Whether the type is bf16 or fp16 (runtime/base/value16.h). */
static inline bool mtlm_dtype_is_16_bit(enum mtlm_dtype dtype)
{
    return dtype == MTLM_BF16 || dtype == MTLM_F16;
}

#endif /* MTLM_DTYPE_H */
