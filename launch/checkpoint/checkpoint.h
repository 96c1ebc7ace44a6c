#ifndef MTLM_CHECKPOINT_H
#define MTLM_CHECKPOINT_H

#include "launch/job/job.h"
#include "models/weights/manifest.h"

/* What a checkpoint holds of a parameter NAME, all in fp32 and by the names of
 * the whole model, so that any layout and any precision can read it: "NAME",
 * its values (of 16-bit weights the masters, from which the weights follow),
 * "NAME.exp_avg" and "NAME.exp_avg_sq", Adam's moments. */
struct mtlm_checkpoint_tensor {
    char *name; /* owned */
    struct mtlm_slice slice;
    const struct mtlm_tensor *tensor; /* this rank's, of those elements */
    int64_t rows;                     /* of the whole, without padding */
    bool moment;
};

struct mtlm_checkpoint_tensors {
    struct mtlm_checkpoint_tensor *tensor;
    int n;
};

/* Those that this rank writes, as copies that the program makes
 * (graph/build/save.h); those that it needs.  moments: with them. */
void mtlm_checkpoint_to_save(const struct mtlm_job *job,
                             struct mtlm_checkpoint_tensors *list);
void mtlm_checkpoint_to_load(const struct mtlm_job *job, bool moments,
                             struct mtlm_checkpoint_tensors *list);
void mtlm_checkpoint_tensors_free(struct mtlm_checkpoint_tensors *list);

/* Settings that a checkpoint is bound to, as texts by option: a new
 * reference.  Whether the job has those of a checkpoint at path: the model and
 * its tokenizer (which is only warned of to finetune) always, what decides on
 * the samples only to continue. */
json_t *mtlm_checkpoint_settings(const struct mtlm_job *job);
int mtlm_checkpoint_settings_check(const struct mtlm_job *job,
                                   const json_t *settings, const char *path,
                                   bool continues, struct mtlm_error *err);

/* Those of the model alone; and the model that they are of, into options, its
 * vocabulary without padding: MTLM_EXIT_INPUT. */
json_t *mtlm_checkpoint_model_settings(const struct mtlm_options *options);
int mtlm_checkpoint_model(const json_t *settings, const char *path,
                          struct mtlm_options *options, struct mtlm_error *err);

/* What the control tensor remembers of past iterations; whether a checkpoint's
 * can be, MTLM_EXIT_INPUT; and back into it. */
json_t *mtlm_checkpoint_state(const struct mtlm_job *job,
                              const double control[MTLM_CONTROL_COUNT]);
int mtlm_checkpoint_state_check(const json_t *state, const char *path,
                                struct mtlm_error *err);
void mtlm_checkpoint_restore(const struct mtlm_job *job, const json_t *state,
                             double control[MTLM_CONTROL_COUNT]);

/* For launch/checkpoint/saver.h, from any thread: writes this rank's file of
 * the checkpoint of iteration, once its copies are made, and describes it; and,
 * on rank 0, the manifest of all ranks' files, and commits; then removes what
 * --keep-last does not keep.  MTLM_EXIT_IO. */
int mtlm_checkpoint_write(const struct mtlm_job *job, int64_t iteration,
                          const struct mtlm_checkpoint_tensors *list,
                          struct mtlm_manifest_file *file,
                          struct mtlm_error *err);
int mtlm_checkpoint_complete(const struct mtlm_job *job,
                             const struct mtlm_manifest *manifest,
                             struct mtlm_error *err);
void mtlm_checkpoint_remove_old(const struct mtlm_job *job, int64_t iteration);

/* The weights, moments and counters of job->loaded, if there is one, to where
 * mtlm_run_init() has put the first ones. */
void mtlm_checkpoint_load(struct mtlm_job *job);

#endif /* MTLM_CHECKPOINT_H */
