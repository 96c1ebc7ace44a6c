#ifndef MTLM_PLAN_DISK_H
#define MTLM_PLAN_DISK_H

#include <stdio.h>

#include "graph/predict/outline.h"
#include "launch/options/options.h"

/* Prints what --offload reads and writes, and where; nothing without
 * offloaded state. */
void mtlm_plan_disk(const struct mtlm_options *options,
                    const struct mtlm_outline *outline, FILE *out);

#endif /* MTLM_PLAN_DISK_H */
