#ifndef MTLM_ATTENTION_FUSED_H
#define MTLM_ATTENTION_FUSED_H

/* Which calls cuDNN's attention may compute, and with how much memory.  A
 * machine that plans a run needs no cuDNN. */

#include <stdbool.h>

#include "codelets/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns whether cuDNN's attention may compute an attention call.  Conditions:
 *
 *   - values have 16 bits
 *   - heads have a multiple of 8 elements
 *   - rows are whole samples, of at least two positions
 *   - the dropout probability is below 1
 *   - there is no ALiBi
 *   - the backend is AUTO or FUSED */
bool mtlm_attention_fused_allowed(const struct mtlm_call *call);

/* Returns the workspace of the deterministic backward, in bytes, on the GPUs
 * that need most (Hopper).  Each sample and head takes 2 bytes per pair of
 * query and key, in tiles of 128 x 128.  256 bytes come on top.
 *
 * Returns 0 if cuDNN may not compute the call, or if the workspace exceeds
 * MTLM_ATTENTION_FUSED_BYTES (2 GiB). */
#define MTLM_ATTENTION_FUSED_BYTES 2147483648.0
double mtlm_attention_fused_bytes(const struct mtlm_call *call);

/* Returns whether this machine has a usable cuDNN, see mtlm_cudnn(); loads the
 * library.  Returns false in a build without cuDNN. */
bool mtlm_attention_fused_there(void);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_ATTENTION_FUSED_H */
