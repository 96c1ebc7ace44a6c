#ifndef MTLM_TRAIN_END_H
#define MTLM_TRAIN_END_H

#include "launch/job/job.h"

/* Prints the last lines on rank 0: peak and planned memory, and the share of a
 * core that the communication threads took.  Collective; the engine must be
 * stopped. */
void mtlm_train_end_print(struct mtlm_job *job);

#endif /* MTLM_TRAIN_END_H */
