#ifndef MTLM_LAUNCH_PLAN_TABLE_H
#define MTLM_LAUNCH_PLAN_TABLE_H

#include <stdio.h>

#include "graph/predict/outline.h"

/* Tables of what the ranks of a layout take, a line for stages that are alike:
 * memory by kind, and what each rank sends in an iteration. */
void mtlm_plan_table_memory(const struct mtlm_outline *outline, FILE *out);
void mtlm_plan_table_traffic(const struct mtlm_outline *outline, FILE *out);

#endif /* MTLM_LAUNCH_PLAN_TABLE_H */
