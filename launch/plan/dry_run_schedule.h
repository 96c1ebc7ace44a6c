#ifndef MTLM_DRY_RUN_SCHEDULE_H
#define MTLM_DRY_RUN_SCHEDULE_H

#include <stdbool.h>
#include <stdio.h>

#include "graph/build/program.h"
#include "runtime/base/error.h"

/* Where a plan leaves its schedule. */
struct mtlm_dry_run_files {
    const char *svg;          /* picture, or NULL */
    bool svg_ops;             /* as in struct mtlm_trace_info */
    const char *model, *name; /* title of the picture */
    const char *order;        /* graph/order/order_write.h, or NULL */
    const char *times;        /* option and file that config->times are from */
    const char *without;      /* as in mtlm_plan_modes_print() */
};

/* Evaluates the schedule of a plan (graph/predict/evaluate.h) with config's
 * times, or else with FLOPs as durations.  Prints times, windows, bubble and
 * bound beside the published formulas, and the modes of an order.  Returns -1
 * and sets *err if a file cannot be written. */
int mtlm_dry_run_schedule(const struct mtlm_program_config *config,
                          const struct mtlm_dry_run_files *files, FILE *out,
                          struct mtlm_error *err);

#endif /* MTLM_DRY_RUN_SCHEDULE_H */
