#ifndef MTLM_PLAN_DISK_H
#define MTLM_PLAN_DISK_H

#include <stdio.h>

#include "graph/predict/outline.h"
#include "launch/options/options.h"

/* Prints what --offload reads and writes, where, and how long an iteration
 * takes; nothing without offloaded state.  Measures the rates of this machine.
 * per_host: ranks of a host. */
void mtlm_plan_disk(const struct mtlm_options *options,
                    const struct mtlm_program_config *config,
                    const struct mtlm_outline *outline, int per_host,
                    FILE *out);

#endif /* MTLM_PLAN_DISK_H */
