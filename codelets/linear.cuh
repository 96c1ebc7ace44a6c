#ifndef MTLM_LINEAR_CUH
#define MTLM_LINEAR_CUH

/* Products of linear layers without an epilogue, for linear.cu and
 * linear_gelu.cu.  Addresses are device addresses.  call gives the types and
 * the shapes of its operands 0 and 1. */

#include "codelets/matmul.cuh"

/* Returns the product y = x weight^T. */
struct mtlm_product mtlm_linear_forward(const struct mtlm_call *call,
                                        const void *x, const void *weight,
                                        const void *y,
                                        const struct mtlm_device *device);

/* Returns the product dx = dy weight + beta dx. */
struct mtlm_product mtlm_linear_dgrad(const struct mtlm_call *call,
                                      const void *dy, const void *weight,
                                      const void *dx, float beta,
                                      const struct mtlm_device *device);

#endif /* MTLM_LINEAR_CUH */
