#ifndef MTLM_HITS_H
#define MTLM_HITS_H

/* Operands of the operations of hits.c, for C and CUDA kernels. */

/* label_misses */
enum { LM_LOGITS, LM_LABELS, LM_SUMS, LM_WEIGHTS, LM_MISSES };
/* label_hits */
enum { LH_MISSES, LH_LOSS };

#endif /* MTLM_HITS_H */
