#ifndef MTLM_JOB_H
#define MTLM_JOB_H

/* A job: everything a training run holds, and quantities that several
 * subfolders read.  Each job_*.h declares one step of the start. */

#include "graph/predict/choose.h"
#include "graph/run/run.h"
#include "launch/log/metrics.h"
#include "launch/options/options.h"
#include "models/task/scored_text.h"
#include "models/text/bert_dataset.h"
#include "models/text/entropy.h"
#include "models/text/indexed_dataset.h"
#include "models/text/prompts.h"
#include "models/text/split.h"
#include "models/weights/best_checkpoint.h"
#include "models/weights/checkpoint_dir.h"
#include "models/weights/manifest.h"
#include "runtime/base/clock.h"
#include "runtime/base/sample.h"
#include "runtime/comm/engine.h"
#include "runtime/comm/ranks.h"
#include "runtime/disk/pieces.h"
#include "runtime/machine/cpu.h"
#include "runtime/machine/gpu.h"

/* Samples of the data set as the batch nodes read them. */
struct mtlm_job_source {
    struct mtlm_samples source;
    struct mtlm_samples *samples;
};

/* A data set, and its documents of each split. */
struct mtlm_job_dataset {
    struct mtlm_indexed_dataset *dataset;
    int64_t documents; /* before a cut */
    double weight;     /* in a blend, as given; 0: by its samples */
    bool serves[MTLM_SPLITS];
    int64_t bound[MTLM_SPLITS + 1]; /* documents of each split */
    bool cut;                  /* too few documents: tokens are split instead */
    double share[MTLM_SPLITS]; /* weight in each split's blend */
    struct mtlm_bert_too_long too_long; /* of the splits in use */
};

/* A job.  Fields are in the order in which the parts start. */
struct mtlm_job {
    struct mtlm_options options;
    struct mtlm_ranks *ranks;
    struct mtlm_cpu cpu;
    int workers; /* of this rank; layout.workers: maximum over ranks */
    struct mtlm_gpus gpus;
    int gpu;     /* index in gpus of this rank's GPU; -1: trains on CPUs */
    bool leaves; /* there is no GPU for this rank */
    /* Bytes of a GPU that a rank may take, minimum over ranks; and the same if
     * no other process held memory of the GPU. */
    double gpu_bytes, gpu_unshared_bytes;
    double gpu_free_bytes; /* free bytes of this rank's GPU at the start */
    int gpu_sharing;       /* ranks that drive the same GPU */
    int host_rank;         /* index of this rank on its host */
    char *gpu_text;        /* mtlm_gpu_describe() */
    enum mtlm_transport_kind transport;
    struct mtlm_hosts hosts;   /* memory before anything was built */
    struct mtlm_wish wish;     /* before the choice */
    struct mtlm_choice choice; /* made, or refused for lack of memory */
    char *advice; /* need of the refused job and commands that fit, or NULL */
    struct mtlm_layout layout;
    struct mtlm_cluster cluster; /* synthetic runs only, as the next */
    struct mtlm_synthetic synthetic;
    struct mtlm_job_dataset *data; /* [datasets] */
    int datasets;                  /* 0: mock data */
    struct mtlm_job_source train, valid;
    struct mtlm_samples *test; /* NULL: no test documents */
    /* A job that generates text has prompts, which are valid.samples, too; else
     * NULL. */
    struct mtlm_prompts *prompts;
    struct mtlm_decoding decoding;
    /* The samples of --task, which are valid.samples, too; else NULL. */
    const struct mtlm_scored_text *scored;
    /* The data of a fine-tuning, which is train.samples and valid.samples, too;
     * else NULL. */
    struct mtlm_job_finetune *finetune;
    struct mtlm_best_checkpoint best; /* epoch of the fine-tuning */
    /* Clock at which --exit-duration-in-mins ends; 0: it counts from the first
     * iteration. */
    int64_t deadline_ns;
    struct mtlm_entropy entropy; /* of the validation bytes, if has_entropy */
    bool has_entropy;
    struct mtlm_program *program;
    struct mtlm_activation_memory activation; /* program->config borrows it */
    struct mtlm_plan plan;
    const char *made_dir[4]; /* output directories that this rank made */
    int n_made_dirs;
    int output_lock[2]; /* rank 0: descriptors; of --trace, --dump-logits */
    char *load_path;    /* checkpoint to begin with, or NULL */
    struct mtlm_manifest loaded;         /* of load_path, until loaded */
    struct mtlm_checkpoint_list damaged; /* newer than load_path */
    struct mtlm_ramp_place begin;        /* of the first iteration */
    int checkpoint_lock;      /* rank 0: descriptor of the lock; else -1 or 0 */
    bool saves_there;         /* rank 0: --save and --load name one DIR */
    bool begin_is_saved;      /* the checkpoint to begin with is also in
                               * --save */
    double skipped_before;    /* skipped steps before the begin */
    int64_t checkpoint_bytes; /* of a saved checkpoint, about */
    /* The plan is made again after so many iterations of this run
     * (--replan-after); 0: never. */
    int64_t replan_after;
    bool machine_started;         /* StarPU is running */
    struct mtlm_metrics *metrics; /* last rank only; else NULL */
    struct mtlm_recorder *recorder;
    /* Clock of rank 0 minus ours, if there is a recorder: at the start, and at
     * the end of the training; until then twice at the start. */
    struct mtlm_clock_offsets clock_offsets;
    struct mtlm_engine *engine;
    struct mtlm_pieces offload; /* offloaded state */
    struct mtlm_io *io;         /* its threads, or NULL */
    struct mtlm_offload_speed offload_speed;
    double pipeline_tasks; /* with offloaded state: per iteration, of all ranks
                            * of rank 0's pipeline */
    bool offload_failed; /* the disk refused state of this rank */
    struct mtlm_collective_plan collective_plan; /* --collective-order plan */
    struct mtlm_run *run;
    int64_t submitted_before; /* nodes submitted by the run before */
    double copied_bytes; /* of the weights and moments that a change of plan
                          * copied; 0: none */
    /* CPU seconds of the communication thread and the clock at the first
     * iteration; its share of a core since then, set by
     * mtlm_job_stop_engine(). */
    double engine_seconds;
    int64_t engine_since_ns;
    double engine_share;
};

/* Returns how many workers of this rank compute: on a GPU its own alone. */
static inline int mtlm_job_computing_workers(const struct mtlm_job *job)
{
    return job->gpu < 0 ? job->workers : 1;
}

/* Begins to measure the communication thread's share of a core. */
void mtlm_job_watch_engine(struct mtlm_job *job);

/* Waits for all tasks and stops the engine, if any; sets job->engine_share.
 * Afterwards the main thread may call MPI. */
void mtlm_job_stop_engine(struct mtlm_job *job);

/* Returns whether the job traces iterations, for files or for a report. */
bool mtlm_job_traces(const struct mtlm_job *job);

/* Returns whether the recorder records the nodes of an iteration, from 0, for
 * the trace, and of the validation after the iteration. */
bool mtlm_job_records(const struct mtlm_job *job, int64_t iteration);

/* Returns the microbatches per iteration and pipeline of a full batch. */
int64_t mtlm_job_microbatches(const struct mtlm_job *job);

/* Returns the microbatches per iteration and pipeline of `batch` samples. */
int64_t mtlm_job_microbatches_in(const struct mtlm_job *job, int64_t batch);

/* Returns the microbatches per pipeline of the last traced iteration. */
int64_t mtlm_job_microbatches_traced(const struct mtlm_job *job);

#endif /* MTLM_JOB_H */
