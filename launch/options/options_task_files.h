#ifndef MTLM_OPTIONS_TASK_FILES_H
#define MTLM_OPTIONS_TASK_FILES_H

/* The files of --train-data and --valid-data. */

#include "launch/options/options.h"

/* Refuses a list with weights: a task reads every sample of its files.  Accepts
 * an option without a value.  -1 and MTLM_EXIT_USAGE. */
int mtlm_options_task_files_check(const struct mtlm_options *options,
                                  enum mtlm_option_id option,
                                  struct mtlm_error *err);

/* Refuses several files in --valid-data, and weights.  -1 and MTLM_EXIT_USAGE.
 */
int mtlm_options_task_files_check_one(const struct mtlm_options *options,
                                      struct mtlm_error *err);

#endif /* MTLM_OPTIONS_TASK_FILES_H */
