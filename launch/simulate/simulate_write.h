#ifndef MTLM_SIMULATE_WRITE_H
#define MTLM_SIMULATE_WRITE_H

#include <stdio.h>

#include "graph/predict/choose.h"
#include "launch/simulate/prediction.h"
#include "launch/simulate/simulate_outputs.h"

/* Writes --metrics, --trace and --graph-out of an evaluated run to the outputs,
 * and prints a line about trace and graph to out.  Returns -1 and sets *err
 * (MTLM_EXIT_IO) at the first that cannot be written.  A trace that was written
 * before goes when the outputs are closed, and the error says so. */
int mtlm_simulate_write(struct mtlm_simulate_outputs *outputs,
                        const struct mtlm_options *options,
                        const struct mtlm_choice *choice,
                        const struct mtlm_folded_run *run,
                        const struct mtlm_prediction *prediction, FILE *out,
                        struct mtlm_error *err);

#endif /* MTLM_SIMULATE_WRITE_H */
