#ifndef MTLM_DRY_RUN_SCHEDULE_H
#define MTLM_DRY_RUN_SCHEDULE_H

#include <stdbool.h>
#include <stdio.h>

#include "graph/build/program.h"
#include "graph/predict/noise.h"
#include "graph/predict/stage_cost.h"
#include "runtime/base/error.h"

/* Where a plan leaves its schedule. */
struct mtlm_dry_run_files {
    const char *svg;          /* picture, or NULL */
    bool svg_ops;             /* as in struct mtlm_trace_info */
    const char *model, *name; /* title of the picture */
    const char *order;        /* graph/order/order_write.h, or NULL */
    bool searched;            /* a search found the order of the config */
    bool bound_lp;            /* print the bound of linear programs */
    const char *bound;        /* launch/plan/plan_bound.h, or NULL */
    const char *times;        /* option and file that config->times are from */
    /* Machines that nodes have costs on; without a cluster: none.  Borrowed. */
    const struct mtlm_stage_cost *machine;
    const char *without;            /* as in mtlm_plan_modes_list() */
    const char *modes;              /* mtlm_plan_noise_write(), or NULL */
    const struct mtlm_noise *noise; /* of --jitter, or NULL */
    int64_t seed;                   /* the first seed of the noise */
};

/* Refuses a schedule that this machine has too little memory to evaluate
 * (launch/plan/plan_size.h). */
int mtlm_dry_run_schedule_check(const struct mtlm_program_config *config,
                                struct mtlm_error *err);

/* Evaluates the schedule of a plan (graph/predict/evaluate.h) with config's
 * times, or else with FLOPs as durations.  With a cluster, also evaluates the
 * programs node by node, unless they are large.  Prints times, windows, bubble
 * and bound beside the published formulas, the modes of an order, and the modes
 * under noise.  Returns -1 and sets *err if a file cannot be written, or if
 * this machine has too little memory (launch/plan/plan_size.h). */
int mtlm_dry_run_schedule(const struct mtlm_program_config *config,
                          const struct mtlm_dry_run_files *files, FILE *out,
                          struct mtlm_error *err);

#endif /* MTLM_DRY_RUN_SCHEDULE_H */
