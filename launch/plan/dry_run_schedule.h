#ifndef MTLM_DRY_RUN_SCHEDULE_H
#define MTLM_DRY_RUN_SCHEDULE_H

#include <stdbool.h>
#include <stdio.h>

#include "graph/build/program.h"
#include "runtime/base/error.h"

/* What the schedule of a plan makes of its pipeline, by evaluation
 * (graph/predict/evaluate.h) with FLOPs as times: prints windows, bubble and
 * bound, beside the published formulas of the bubble.  svg: the file that a
 * picture of it goes to, or NULL; -1 where that cannot be written.  model,
 * name: for the picture's title; svg_ops: as in struct mtlm_trace_info. */
int mtlm_dry_run_schedule(const struct mtlm_program_config *config,
                          const char *model, const char *name, const char *svg,
                          bool svg_ops, FILE *out, struct mtlm_error *err);

#endif /* MTLM_DRY_RUN_SCHEDULE_H */
