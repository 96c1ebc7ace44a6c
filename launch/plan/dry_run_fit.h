#ifndef MTLM_DRY_RUN_FIT_H
#define MTLM_DRY_RUN_FIT_H

/* Whether the job of --dry-run fits on machines like this one, or on those of
 * a cluster file. */

#include <stdbool.h>
#include <stdio.h>

#include "graph/predict/choose.h"
#include "graph/predict/outline.h"
#include "launch/options/options.h"

/* All is borrowed. */
struct mtlm_dry_run_fit {
    const struct mtlm_options *options;
    const struct mtlm_wish *wish;
    const struct mtlm_hosts *hosts;
    int launched; /* ranks of the job that was started and that train */
    const struct mtlm_choice *choice;
    const struct mtlm_outline *outline;
    bool described; /* the plan is for the machine of a cluster file */
    bool on_gpus;   /* the ranks of the plan drive GPUs */
};

/* Prints lines to out.  Where the job does not fit, prints layouts that do.
 * Names a tensor or a message with more elements than the runtime can count. */
void mtlm_dry_run_fit(const struct mtlm_dry_run_fit *fit, FILE *out);

#endif /* MTLM_DRY_RUN_FIT_H */
