#ifndef MTLM_TRAIN_H
#define MTLM_TRAIN_H

#include "launch/job/job.h"

/* Trains a job that mtlm_train_start() started, or evaluates it only
 * (--eval-only), and prints the log.  Collective.  Returns the exit code. */
int mtlm_train(struct mtlm_job *job);

#endif /* MTLM_TRAIN_H */
