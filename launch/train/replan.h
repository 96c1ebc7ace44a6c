#ifndef MTLM_REPLAN_H
#define MTLM_REPLAN_H

#include "launch/train/train_private.h"

/* Makes the plan again from the times of the iterations so far
 * (--replan-after), and logs a line.  Where the second plan is shorter, the
 * program and its run are replaced: weights, moments and counters move by a
 * copy, bit for bit, those of some layers to another rank.  Where it is not, or
 * memory lacks, the first plan goes on.
 *
 * Call between two iterations, when none is submitted.  Collective. */
void mtlm_replan(struct mtlm_train *s);

#endif /* MTLM_REPLAN_H */
