#ifndef MTLM_CHECKPOINT_H
#define MTLM_CHECKPOINT_H

/* Content of a checkpoint: tensors, settings and counters; and how a rank
 * writes and reads its part.  The files checkpoint_*.c share this header. */

#include "codelets/control_slots.h"
#include "launch/job/job.h"
#include "models/weights/manifest.h"

/* A tensor of a checkpoint: parameter "NAME" (the master of a 16-bit weight),
 * or Adam's moments "NAME.exp_avg" and "NAME.exp_avg_sq", or with two versions
 * of the weights the one before, "NAME.before".  All are fp32 and named after
 * the whole model: any layout and precision can read them. */
struct mtlm_checkpoint_tensor {
    char *name; /* owned */
    struct mtlm_slice slice;
    const struct mtlm_tensor *tensor; /* of this rank, with these elements */
    int64_t layer;                    /* -1: outside the layers */
    int64_t rows;                     /* of the whole tensor, unpadded */
    bool moment;
    bool head;     /* of the head of a fine-tuning task, pooler included */
    bool of_task;  /* of the layer that is the task's own */
    bool optional; /* a checkpoint may lack it */
};

struct mtlm_checkpoint_tensors {
    struct mtlm_checkpoint_tensor *tensor;
    int n;
};

/* Lists the tensors that the program's rank writes, copies of the program's
 * (graph/build/save.h), or those that it loads, with or without moments: layer
 * after layer.  The caller frees the list. */
void mtlm_checkpoint_to_save(const struct mtlm_program *program,
                             struct mtlm_checkpoint_tensors *list);
void mtlm_checkpoint_to_load(const struct mtlm_program *program, bool moments,
                             struct mtlm_checkpoint_tensors *list);
void mtlm_checkpoint_tensors_free(struct mtlm_checkpoint_tensors *list);

/* Returns the settings of launch/options/options_stored.h, and those of data
 * and tokenizer: a new reference, which the caller releases. */
json_t *mtlm_checkpoint_settings(const struct mtlm_job *job);

/* Compares the settings of the checkpoint at path with the job's.  Compares the
 * model and the tokenizer; with --finetune, another tokenizer is a warning.
 * For a job that continues, compares also data and order of samples.  On a
 * difference, returns -1 and sets *err (MTLM_EXIT_USAGE).  With --eval-only,
 * rank 0 prints a line about text that was trained on. */
int mtlm_checkpoint_settings_check(const struct mtlm_job *job,
                                   const json_t *settings, const char *path,
                                   struct mtlm_error *err);

/* Sets options->model from the manifest of the checkpoint at path, with the
 * unpadded vocabulary, and options->task if the checkpoint has the head of a
 * task.  -1 and MTLM_EXIT_INPUT. */
int mtlm_checkpoint_model(const struct mtlm_manifest *manifest,
                          const char *path, struct mtlm_options *options,
                          struct mtlm_error *err);

/* Returns the counters of the control tensor, for the manifest: a new
 * reference. */
json_t *mtlm_checkpoint_state(const struct mtlm_job *job,
                              const double control[MTLM_CONTROL_COUNT]);

/* Checks the counters of a manifest.  -1 and MTLM_EXIT_INPUT. */
int mtlm_checkpoint_state_check(const json_t *state, const char *path,
                                struct mtlm_error *err);

/* Returns the job's batch by that of the loaded checkpoint where both count
 * iterations; else 1.  The clock of the learning rate counts samples, and its
 * lengths are iterations of the batch. */
double mtlm_checkpoint_batch_change(const struct mtlm_job *job);

/* Copies the counters of a manifest to the control tensor's values; the clock
 * then is that of the same iteration with the job's batch. */
void mtlm_checkpoint_restore(const struct mtlm_job *job, const json_t *state,
                             double control[MTLM_CONTROL_COUNT]);

/* Steps of launch/checkpoint/saver.h, from any thread.  Writes this rank's file
 * of the checkpoint of iteration and describes it in *file.  -1 and
 * MTLM_EXIT_IO. */
int mtlm_checkpoint_write(const struct mtlm_job *job, int64_t iteration,
                          const struct mtlm_checkpoint_tensors *list,
                          struct mtlm_manifest_file *file,
                          struct mtlm_error *err);

/* Rank 0 writes the manifest of all files and commits.  -1 and MTLM_EXIT_IO.
 * The new checkpoint may have the name of one in job->damaged that somebody
 * removed: the list forgets the name. */
int mtlm_checkpoint_complete(struct mtlm_job *job,
                             const struct mtlm_manifest *manifest,
                             struct mtlm_error *err);

/* Rank 0 removes the checkpoints that --keep-last does not keep; the best one
 * stays. */
void mtlm_checkpoint_remove_old(const struct mtlm_job *job, int64_t iteration);

/* Replaces the initial weights, moments and counters by those of job->loaded,
 * if there is one.  Call after mtlm_run_init(). */
void mtlm_checkpoint_load(struct mtlm_job *job);

#endif /* MTLM_CHECKPOINT_H */
