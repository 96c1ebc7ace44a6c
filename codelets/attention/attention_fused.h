#ifndef MTLM_ATTENTION_FUSED_H
#define MTLM_ATTENTION_FUSED_H

#include <stdbool.h>

#include "codelets/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of cuDNN's attention without it: plans need that on every
 * machine. */

/* Whether it comes into question for a call: values of 16 bits, whole samples,
 * heads of a multiple of 8 elements, and a backend that permits it. */
bool mtlm_attention_fused_allowed(const struct mtlm_call *call);

/* The workspace of its backward that gives the same bits each time, on the
 * GPUs where that takes most (Hopper): 16 bits for each query and key, in
 * tiles of 128, and a little.  0 where it does not come into question, also
 * because that would be more than MTLM_ATTENTION_FUSED_BYTES. */
#define MTLM_ATTENTION_FUSED_BYTES 2147483648.0
double mtlm_attention_fused_bytes(const struct mtlm_call *call);

/* Whether there is a cuDNN to load, which this does. */
bool mtlm_attention_fused_there(void);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_ATTENTION_FUSED_H */
