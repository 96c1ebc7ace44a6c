#ifndef MTLM_VALUE_H
#define MTLM_VALUE_H

/* Runs CPU kernels on operands of any value type. */

#include "codelets/op.h"

/* Runs the CPU kernel of call and its next calls on operands in host memory.
 * Widens 16-bit operands before and rounds them after. */
void mtlm_value_run_cpu(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context);

/* Returns the bytes of context->wide that mtlm_value_run_cpu() needs. */
size_t mtlm_value_wide_bytes(const struct mtlm_call *call);

#endif /* MTLM_VALUE_H */
