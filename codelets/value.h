#ifndef MTLM_VALUE_H
#define MTLM_VALUE_H

/* Runs CPU kernels on operands of any value type.  The kernels compute in
 * mtlm_real. */

#include <stdbool.h>

#include "codelets/op.h"

/* Runs the CPU kernel of call and its next calls.  ptr: n_operands pointers to
 * host memory per call (mtlm_call_spread()).  Calls the operation's kernel on
 * bf16 where the operation and the processor have one.  Other kernels get
 * 16-bit operands as floats: widened before the kernel, rounded after, unless
 * the operation is cpu_typed.  Operations by_positions are computed part after
 * part. */
void mtlm_value_run_cpu(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context);

/* Whether the operation's kernel on bf16 runs the call. */
bool mtlm_value_is_bf16(const struct mtlm_call *call);

/* Returns the bytes of context->wide that mtlm_value_run_cpu() takes. */
size_t mtlm_value_wide_bytes(const struct mtlm_call *call);

/* Returns the bytes of context->scratch in which kernels that
 * mtlm_value_run_cpu() calls widen operands. */
size_t mtlm_value_kernel_bytes(const struct mtlm_call *call);

/* For kernels that take values of any type a few at a time. */

/* Returns n rounded up, so that the next buffer begins with a cache line. */
int64_t mtlm_value_pad_elems(int64_t n);

/* Returns elements first .. first + n - 1 of values: themselves if type is
 * MTLM_REAL, else widened in scratch [n]. */
mtlm_real *mtlm_value_get(enum mtlm_dtype type, void *values, int64_t first,
                          int64_t n, mtlm_real *scratch);

/* Rounds x [n] to these elements.  Does nothing if type is MTLM_REAL: x must be
 * these elements then, as mtlm_value_get() returns them. */
void mtlm_value_put(enum mtlm_dtype type, const mtlm_real *x, int64_t first,
                    int64_t n, void *values);

#endif /* MTLM_VALUE_H */
