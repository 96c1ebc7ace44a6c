#ifndef MTLM_ATTENTION_FUSED_H
#define MTLM_ATTENTION_FUSED_H

/* What plans need to know of cuDNN's attention on machines without cuDNN. */

#include <stdbool.h>

#include "codelets/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns whether cuDNN's attention may compute a call: 16-bit values, whole
 * samples, heads of a multiple of 8 elements, and a backend that permits
 * cuDNN. */
bool mtlm_attention_fused_allowed(const struct mtlm_call *call);

/* Returns the workspace of the deterministic backward in bytes, on the GPUs
 * that need most (Hopper): 16 bits per query and key in tiles of 128, plus 256
 * bytes.  Returns 0 if cuDNN may not compute the call or if the workspace
 * exceeds MTLM_ATTENTION_FUSED_BYTES. */
#define MTLM_ATTENTION_FUSED_BYTES 2147483648.0
double mtlm_attention_fused_bytes(const struct mtlm_call *call);

/* Returns whether cuDNN exists; loads the library. */
bool mtlm_attention_fused_there(void);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_ATTENTION_FUSED_H */
