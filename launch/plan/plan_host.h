#ifndef MTLM_PLAN_HOST_H
#define MTLM_PLAN_HOST_H

#include <stdio.h>

#include "graph/predict/outline.h"

/* Prints what --offload moves between GPUs and host memory; nothing without
 * offloaded state. */
void mtlm_plan_host(const struct mtlm_outline *outline, FILE *out);

#endif /* MTLM_PLAN_HOST_H */
