#ifndef MTLM_OPTIONS_FINETUNE_H
#define MTLM_OPTIONS_FINETUNE_H

/* --task mnli, qqp, race or squad: a training on the data of a task. */

#include "launch/options/options.h"

/* Returns whether the job trains for a task, or evaluates such a training. */
bool mtlm_options_finetunes(const struct mtlm_options *options);

/* Makes a job with --pretrained-checkpoint load the weights there, unless
 * --load has a checkpoint to continue.  Call before the options of a checkpoint
 * are taken.  -1 and MTLM_EXIT_USAGE, or MTLM_EXIT_IO. */
int mtlm_options_finetune_begin(struct mtlm_options *options,
                                struct mtlm_error *err);

/* Refuses to continue or evaluate a pretraining or another task as a task,
 * whose head is missing.  stored: the task of the checkpoint at path, or NULL.
 * -1 and MTLM_EXIT_USAGE. */
int mtlm_options_finetune_compare(const struct mtlm_options *options,
                                  const char *stored, const char *path,
                                  struct mtlm_error *err);

/* Drops what a pretraining needs from a job that trains for a task.  Call
 * before any value follows from another.  -1 and MTLM_EXIT_USAGE: an option is
 * missing or contradicts. */
int mtlm_options_finetune_prepare(struct mtlm_options *options,
                                  struct mtlm_error *err);

/* Sets the model's head.  Call after mtlm_options_tokenizer_open().  -1 and
 * MTLM_EXIT_USAGE: there is no WordPiece tokenizer. */
int mtlm_options_finetune_resolve(struct mtlm_options *options,
                                  struct mtlm_error *err);

/* Sets the head of a task's model; nothing for a task without. */
void mtlm_options_finetune_set_head(struct mtlm_model *model,
                                    const struct mtlm_task_entry *task);

/* Refuses batches that cut a question. */
int mtlm_options_finetune_check(const struct mtlm_options *options,
                                struct mtlm_error *err);

#endif /* MTLM_OPTIONS_FINETUNE_H */
