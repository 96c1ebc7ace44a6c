#ifndef MTLM_DRY_RUN_JOB_H
#define MTLM_DRY_RUN_JOB_H

/* What --dry-run says of a job before its schedule: model, vocabulary,
 * parameters, layout, iteration, FLOPs and nodes. */

#include <stdio.h>

#include "graph/predict/choose.h"
#include "graph/predict/outline.h"
#include "launch/options/options.h"

/* All is borrowed. */
struct mtlm_dry_run_job {
    const struct mtlm_options *options;
    const struct mtlm_wish *wish;
    const struct mtlm_choice *choice;
    const struct mtlm_outline *outline;
    int64_t microbatches; /* of an iteration and a replica */
};

/* Prints lines to out. */
void mtlm_dry_run_job(const struct mtlm_dry_run_job *job, FILE *out);

#endif /* MTLM_DRY_RUN_JOB_H */
