#ifndef MTLM_VIRTUAL_WAITING_H
#define MTLM_VIRTUAL_WAITING_H

/* What an unfinished simulation waits for. */

#include <stddef.h>

#include "runtime/virtual/job.h"
#include "runtime/virtual/times.h"

/* Writes the ready tasks that have not ended, three at most, to text [n]:
 * "linear_fwd, F of microbatch 3, stage 1, iteration 1". */
void mtlm_virtual_waiting_describe(const struct mtlm_virtual_job *job,
                                   const struct mtlm_virtual_times *times,
                                   char *text, size_t n);

#endif /* MTLM_VIRTUAL_WAITING_H */
