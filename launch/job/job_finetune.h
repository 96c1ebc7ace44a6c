#ifndef MTLM_JOB_FINETUNE_H
#define MTLM_JOB_FINETUNE_H

#include "launch/job/job.h"
#include "models/task/recipe.h"

/* Samples of a fine-tuning, and where each comes from. */

/* Data to evaluate on: a file, or all files with one score. */
struct mtlm_job_dev {
    char *path; /* as given; of several files with blanks between */
    struct mtlm_task_data *data;
    int64_t first; /* its first sample among those of all files */
};

struct mtlm_job_finetune {
    /* The training's samples: epochs of whole batches.  The last batch of an
     * epoch is dropped, or filled up with the epoch's first samples. */
    struct mtlm_samples batches;
    struct mtlm_task_data *train; /* NULL: the job only evaluates */
    int64_t epoch_samples;        /* of an epoch's batches */
    /* The samples to evaluate on: of all files, then again from the first. */
    struct mtlm_samples all;
    struct mtlm_job_dev *dev; /* [devs] */
    int devs;
    int64_t samples; /* of all files */
};

/* Reads the data of the task, and sets the iterations and evaluations of the
 * options. */
int mtlm_job_finetune_open(struct mtlm_job *job, struct mtlm_error *err);

/* Returns the iterations of an epoch of batches; keep_last: as
 * --keep-last-batch.  0: the job only evaluates. */
int64_t mtlm_job_finetune_iterations(const struct mtlm_job *job, int64_t batch,
                                     bool keep_last);

/* Prints the task and its data.  For rank 0. */
void mtlm_job_finetune_print(const struct mtlm_job *job);

/* Returns one line about the data.  The caller frees the line. */
char *mtlm_job_finetune_describe(const struct mtlm_job *job);

/* Returns whether the data to evaluate on have answers, so that there are
 * scores. */
bool mtlm_job_finetune_labelled(const struct mtlm_job *job);

/* Returns a hash of the data to evaluate on. */
uint64_t mtlm_job_finetune_valid_hash(const struct mtlm_job *job);

/* Returns how many scores an evaluation has: exact match and F1, or the
 * accuracy of each file, then of all files.  The last one decides which epoch
 * is best. */
int mtlm_job_finetune_scores(const struct mtlm_job *job);

/* Returns what follows the number of a score: " %" or "". */
const char *mtlm_job_finetune_score_unit(const struct mtlm_job *job);

/* Return what score i is, "FILE: accuracy", and the same with a value.  The
 * caller frees the text. */
char *mtlm_job_finetune_score_name(const struct mtlm_job *job, int i);
char *mtlm_job_finetune_score_text(const struct mtlm_job *job, int i,
                                   double value);

/* Frees the data.  Does nothing without fine-tuning. */
void mtlm_job_finetune_close(struct mtlm_job *job);

#endif /* MTLM_JOB_FINETUNE_H */
