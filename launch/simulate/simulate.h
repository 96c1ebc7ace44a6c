#ifndef MTLM_SIMULATE_H
#define MTLM_SIMULATE_H

#include <stdio.h>

#include "graph/predict/cluster.h"
#include "launch/options/options.h"

/* --simulate: predicts an iteration on the machine of a cluster file, and
 * prints the prediction to out.  Starts no ranks, allocates no tensors.  If the
 * options leave layout or micro batch open, chooses both and sets them in
 * options.  Returns -1 and sets *err if the job cannot be simulated. */
int mtlm_simulate(struct mtlm_options *options, FILE *out,
                  struct mtlm_error *err);

/* Sets *seconds to the time of an iteration that mtlm_simulate() would print,
 * with `cluster` for the file's.  Sets layout and micro batch in options, too.
 * Returns -1 and sets *err as mtlm_simulate(). */
int mtlm_simulate_seconds(struct mtlm_options *options,
                          const struct mtlm_cluster *cluster, double *seconds,
                          struct mtlm_error *err);

/* --dry-run: prints the plan (launch/plan/dry_run.h).  With --synthetic,
 * --world-size and no layout, the plan is of the fastest layout, by simulation
 * on the machine of --synthetic; the ten fastest are printed, too. */
int mtlm_simulate_plan(struct mtlm_options *options, FILE *out,
                       struct mtlm_error *err);

#endif /* MTLM_SIMULATE_H */
