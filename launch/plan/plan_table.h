#ifndef MTLM_LAUNCH_PLAN_TABLE_H
#define MTLM_LAUNCH_PLAN_TABLE_H

#include <stdio.h>

#include "graph/predict/outline.h"

/* Prints the memory of a rank by kind; similar stages share a line. */
void mtlm_plan_table_memory(const struct mtlm_outline *outline, FILE *out);

/* Prints the messages that a rank sends in an iteration; similar stages share a
 * line. */
void mtlm_plan_table_traffic(const struct mtlm_outline *outline, FILE *out);

#endif /* MTLM_LAUNCH_PLAN_TABLE_H */
