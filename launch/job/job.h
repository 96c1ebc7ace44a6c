#ifndef MTLM_JOB_H
#define MTLM_JOB_H

#include "graph/predict/choose.h"
#include "graph/run/run.h"
#include "launch/log/metrics.h"
#include "launch/options/options.h"
#include "models/text/entropy.h"
#include "models/text/indexed_dataset.h"
#include "models/weights/checkpoint_dir.h"
#include "models/weights/manifest.h"
#include "models/weights/safetensors.h"
#include "runtime/base/sample.h"
#include "runtime/comm/engine.h"
#include "runtime/comm/ranks.h"
#include "runtime/machine/cpu.h"
#include "runtime/machine/gpu.h"

/* Samples of the data set as the batch nodes see them. */
struct mtlm_job_source {
    struct mtlm_samples source;
    struct mtlm_samples *samples;
};

/* Everything that a training run holds, in the order in which it starts. */
struct mtlm_job {
    struct mtlm_options options;
    struct mtlm_ranks *ranks;
    struct mtlm_cpu cpu;
    int workers; /* of this rank; layout.workers: the most of any rank */
    struct mtlm_gpus gpus;
    int gpu;     /* of those that this rank drives; -1: it trains on CPUs */
    bool leaves; /* there is no GPU for this rank */
    /* Of the GPU that has least, what a rank may take; and what it could if no
     * other process held any of it. */
    double gpu_bytes, gpu_unshared_bytes;
    double gpu_free_bytes; /* of this rank's, before anything was taken */
    int gpu_sharing;       /* ranks that drive it */
    int host_rank;         /* this rank among those of its host */
    char *gpu_text;        /* mtlm_gpu_describe() */
    enum mtlm_transport_kind transport;
    struct mtlm_hosts hosts;   /* as they were before anything was built */
    struct mtlm_wish wish;     /* before a choice was made */
    struct mtlm_choice choice; /* made, or refused for want of memory */
    char *advice; /* what that would take and what could be done, or NULL */
    struct mtlm_layout layout;
    struct mtlm_cluster cluster; /* of a synthetic run, as is the next */
    struct mtlm_synthetic synthetic;
    struct mtlm_indexed_dataset *dataset; /* NULL: mock data */
    struct mtlm_job_source train, valid;
    struct mtlm_samples *test;   /* or NULL: no documents for it */
    struct mtlm_entropy entropy; /* of the validation bytes; see .has_entropy */
    bool has_entropy;
    struct mtlm_program *program;
    struct mtlm_plan plan;
    const char *made_dir[4]; /* output directories that this rank made */
    int n_made_dirs;
    char *load_path;             /* of the checkpoint to begin with, or NULL */
    struct mtlm_manifest loaded; /* its, until it is loaded */
    struct mtlm_checkpoint_list damaged; /* newer ones, left out */
    struct mtlm_ramp_place begin;        /* of the first iteration */
    int checkpoint_lock;          /* rank 0: a file that is open; else -1, 0 */
    bool saves_there;             /* rank 0: --save and --load are one */
    bool begin_is_saved;          /* where this run saves, too */
    double skipped_before;        /* steps left out before the begin */
    int64_t checkpoint_bytes;     /* of one that is saved, about */
    bool machine;                 /* StarPU runs */
    struct mtlm_metrics *metrics; /* of the rank that prints; or NULL */
    struct mtlm_recorder *recorder;
    int64_t clock_offset_ns; /* with a recorder: rank 0's clock less ours, when
                              * the run began */
    struct mtlm_engine *engine;
    struct mtlm_collective_plan collective_plan; /* --collective-order plan */
    struct mtlm_run *run;
    /* CPU seconds of the communication thread, and the time, at the first
     * iteration; its share of a core from then on, once it is stopped. */
    double engine_seconds;
    int64_t engine_since_ns;
    double engine_share;
};

/* Steps that stand in job_gpus.c: which GPUs there are; who drives which; ranks
 * for which there is none leave job->ranks; what may be taken of a GPU. */
int mtlm_job_find_gpus(struct mtlm_job *job, struct mtlm_error *err);
int mtlm_job_share_gpus(struct mtlm_job *job, struct mtlm_error *err);
int mtlm_job_begin_gpu(struct mtlm_job *job, struct mtlm_error *err);
int mtlm_job_measure_gpu(struct mtlm_job *job, struct mtlm_error *err);
/* What the plan takes of the host's memory where this rank drives a GPU. */
double mtlm_job_beside_gpu_bytes(const struct mtlm_job *job);

/* In job_transport.c: what is known of that before GPUs are; what carries the
 * collectives, job->transport; whether all ranks have the same of it; a line
 * about it where there is a choice. */
bool mtlm_job_may_use_nccl(const struct mtlm_job *job);
int mtlm_job_choose_transport(struct mtlm_job *job, struct mtlm_error *err);
int mtlm_job_compare_nccl(struct mtlm_job *job, struct mtlm_error *err);
void mtlm_job_say_transport(const struct mtlm_job *job);
/* "NCCL 2.28.9", "MPI"; NULL: on CPUs, or of one rank, there is no choice. */
const char *mtlm_job_transport(const struct mtlm_job *job);

/* Steps of the start that stand in job_layout.c: whether the layout that the
 * options give fits the ranks; choosing what they leave open, within memory.
 * Commands that would fit where this one does not. */
int mtlm_job_check_layout(struct mtlm_job *job, struct mtlm_error *err);
int mtlm_job_choose_layout(struct mtlm_job *job, struct mtlm_error *err);
void mtlm_job_advise(struct mtlm_job *job);

/* A step that stands in job_data.c: opens the data. */
int mtlm_job_open_data(struct mtlm_job *job, struct mtlm_error *err);

/* Steps that stand in job_compare.c: whether all ranks run the same program
 * file, with the same settings, on the same data. */
int mtlm_job_compare_programs(struct mtlm_job *job, struct mtlm_error *err);
int mtlm_job_compare_settings(struct mtlm_job *job, struct mtlm_error *err);
int mtlm_job_compare_data(struct mtlm_job *job, struct mtlm_error *err);

/* The settings' "tokenizer" (NULL: the job was not told of one) and "data":
 * what it is, in a line.  The caller frees it. */
char *mtlm_job_describe_tokenizer(const struct mtlm_job *job);
char *mtlm_job_describe_data(const struct mtlm_job *job);

/* Steps that stand in job_outputs.c: whether what the job writes can be
 * written; opening what grows as it runs.  What is undone when it does not
 * start after all: nothing of it is left. */
int mtlm_job_probe_outputs(struct mtlm_job *job, struct mtlm_error *err);
int mtlm_job_open_metrics(struct mtlm_job *job, struct mtlm_error *err);
void mtlm_job_remove_outputs(struct mtlm_job *job);

/* Writes to job->metrics what the job is. */
void mtlm_job_begin_metrics(struct mtlm_job *job);

/* From now on what the communication thread takes is measured. */
void mtlm_job_watch_engine(struct mtlm_job *job);

/* Waits for everything and stops the engine, if it runs: from then on the main
 * thread speaks MPI, and job->engine_share is known. */
void mtlm_job_stop_engine(struct mtlm_job *job);

/* Whether the recorder records nodes of an iteration (0-based) and of the
 * validation after it. */
bool mtlm_job_records(const struct mtlm_job *job, int64_t iteration);

/* Microbatches per iteration and pipeline: of a whole batch; of one of batch
 * samples; of the last iteration that is traced. */
int64_t mtlm_job_microbatches(const struct mtlm_job *job);
int64_t mtlm_job_microbatches_in(const struct mtlm_job *job, int64_t batch);
int64_t mtlm_job_microbatches_traced(const struct mtlm_job *job);

#endif /* MTLM_JOB_H */
