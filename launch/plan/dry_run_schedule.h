#ifndef MTLM_DRY_RUN_SCHEDULE_H
#define MTLM_DRY_RUN_SCHEDULE_H

#include <stdbool.h>
#include <stdio.h>

#include "graph/build/program.h"
#include "runtime/base/error.h"

/* Evaluates the schedule of a plan (graph/predict/evaluate.h) with FLOPs as
 * durations.  Prints windows, bubble and bound beside the published formulas.
 * svg: file for a picture, or NULL.  Returns -1 and sets *err if the file
 * cannot be written.  model, name: title of the picture; svg_ops: as in struct
 * mtlm_trace_info. */
int mtlm_dry_run_schedule(const struct mtlm_program_config *config,
                          const char *model, const char *name, const char *svg,
                          bool svg_ops, FILE *out, struct mtlm_error *err);

#endif /* MTLM_DRY_RUN_SCHEDULE_H */
