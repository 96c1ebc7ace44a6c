#ifndef MTLM_LINEAR_CUH
#define MTLM_LINEAR_CUH

#include "codelets/matmul.cuh"

/* Products of linear layers, without an epilogue, for the operations of
 * linear.c and for those that have one more operand behind x or dy and the
 * weight.  The addresses are the device's; call gives types and the shapes of
 * its operands 0 and 1. */

/* y = x weight^T */
struct mtlm_product mtlm_linear_forward(const struct mtlm_call *call,
                                        const void *x, const void *weight,
                                        const void *y,
                                        const struct mtlm_device *device);

/* dx = dy weight + beta dx */
struct mtlm_product mtlm_linear_dgrad(const struct mtlm_call *call,
                                      const void *dy, const void *weight,
                                      const void *dx, float beta,
                                      const struct mtlm_device *device);

#endif /* MTLM_LINEAR_CUH */
