#ifndef MTLM_TRAIN_END_H
#define MTLM_TRAIN_END_H

#include "launch/job/job.h"

/* Rank 0 prints the last lines: peak memory beside the planned memory, and the
 * share of a core that the communication threads took.  Collective; the engine
 * is stopped. */
void mtlm_train_end_print(struct mtlm_job *job);

#endif /* MTLM_TRAIN_END_H */
