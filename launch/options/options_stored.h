#ifndef MTLM_OPTIONS_STORED_H
#define MTLM_OPTIONS_STORED_H

#include <jansson.h>

#include "launch/options/options.h"

/* The options that a checkpoint stores, as texts by the option's name, in two
 * JSON objects of its manifest:
 *
 * settings  model and samples: a job that loads the checkpoint must agree
 * options   others that were given: a later job may give its own
 *
 * Layout, schedule, machine, outputs and tracing are not stored. */

/* Returns the settings of the model: a new reference. */
json_t *mtlm_options_stored_model(const struct mtlm_options *options);

/* Returns the settings of model and samples: a new reference. */
json_t *mtlm_options_stored_settings(const struct mtlm_options *options);

/* Returns the other options that were given: a new reference.  Paths become
 * absolute, unless the option could not be read again: a list with a blank in a
 * path, or a path with " ;". */
json_t *mtlm_options_stored_others(const struct mtlm_options *options);

/* Refuses an option that a checkpoint cannot store, a text that is not UTF-8.
 * MTLM_EXIT_USAGE.  Notes paths that stay relative to the directory. */
int mtlm_options_stored_check(struct mtlm_options *options,
                              struct mtlm_error *err);

/* Returns whether this job takes the checkpoint's value of an option. */
bool mtlm_options_stored_takes(const struct mtlm_options *options,
                               enum mtlm_option_id option);

/* Sets the options of a checkpoint that no other source gives, with the source
 * MTLM_SOURCE_CHECKPOINT.  settings, others: the JSON objects, or NULL.
 *
 * An option gives way to those that contradict it: --data-path to --mock-data,
 * --vocab-file to --tokenizer-type, --fp16 to --bf16.  --finetune takes neither
 * the seed nor the precision.  path names the checkpoint in errors.  -1 and
 * MTLM_EXIT_INPUT: a text is no value of its option. */
int mtlm_options_stored_take(struct mtlm_options *options,
                             const json_t *settings, const json_t *others,
                             const char *path, struct mtlm_error *err);

/* Sets options->model alone from settings, with the unpadded vocabulary.  -1
 * and MTLM_EXIT_INPUT. */
int mtlm_options_stored_take_model(struct mtlm_options *options,
                                   const json_t *settings, const char *path,
                                   struct mtlm_error *err);

/* Refuses model settings that differ from the given options, before any value
 * follows from another.  -1 and MTLM_EXIT_USAGE with both values. */
int mtlm_options_stored_compare_given(const struct mtlm_options *options,
                                      const json_t *settings, const char *path,
                                      struct mtlm_error *err);

/* Refuses settings that differ from the resolved options: of the model, and of
 * the samples where the job continues the training.  -1 and MTLM_EXIT_USAGE
 * with both values. */
int mtlm_options_stored_compare(const struct mtlm_options *options,
                                const json_t *settings, const char *path,
                                struct mtlm_error *err);

/* Compares the text of one key with this job's; hint: end of the sentence.  A
 * key that the checkpoint lacks is not compared. */
int mtlm_options_stored_compare_text(const json_t *settings, const char *key,
                                     const char *ours, const char *path,
                                     const char *hint, struct mtlm_error *err);

#endif /* MTLM_OPTIONS_STORED_H */
