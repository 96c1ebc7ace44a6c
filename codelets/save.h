#ifndef MTLM_SAVE_OP_H
#define MTLM_SAVE_OP_H

#include <stdint.h>

/* What the nodes that copy tensors for a checkpoint have taken the workers of
 * this process so far, together. */
int64_t mtlm_save_copies_ns(void);

#endif /* MTLM_SAVE_OP_H */
