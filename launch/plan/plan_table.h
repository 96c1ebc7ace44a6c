#ifndef MTLM_LAUNCH_PLAN_TABLE_H
#define MTLM_LAUNCH_PLAN_TABLE_H

#include <stdio.h>

#include "graph/predict/outline.h"

/* Tables of a layout, a line for stages that are alike: memory of a rank by
 * kind, and messages that a rank sends in an iteration. */
void mtlm_plan_table_memory(const struct mtlm_outline *outline, FILE *out);
void mtlm_plan_table_traffic(const struct mtlm_outline *outline, FILE *out);

#endif /* MTLM_LAUNCH_PLAN_TABLE_H */
