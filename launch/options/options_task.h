#ifndef MTLM_OPTIONS_TASK_H
#define MTLM_OPTIONS_TASK_H

/* --task: an evaluation on a published data set instead of a training. */

#include "launch/options/options.h"

/* Sets options->task by name.  -1 and MTLM_EXIT_USAGE: no such task. */
int mtlm_options_task_find(struct mtlm_options *options, const char *name,
                           struct mtlm_error *err);

/* Turns a job with --task into one that only evaluates, and drops what a
 * training needs.  Call before any value follows from another.  -1 and
 * MTLM_EXIT_USAGE: an option contradicts, or is for tasks only. */
int mtlm_options_task_prepare(struct mtlm_options *options,
                              struct mtlm_error *err);

/* Checks model and tokenizer of a job with --task.  Call after
 * mtlm_options_tokenizer_open().  -1 and MTLM_EXIT_USAGE. */
int mtlm_options_task_resolve(struct mtlm_options *options,
                              struct mtlm_error *err);

#endif /* MTLM_OPTIONS_TASK_H */
