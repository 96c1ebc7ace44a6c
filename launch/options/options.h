#ifndef MTLM_OPTIONS_H
#define MTLM_OPTIONS_H

/* The values of all options and their sources.  options_parse.h fills the
 * struct, options_resolve.h completes the struct. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "codelets/attention_backend.h"
#include "codelets/settings.h"
#include "graph/build/program.h"
#include "graph/build/ramp.h"
#include "graph/layout.h"
#include "graph/predict/noise.h"
#include "launch/options/option_list.h"
#include "launch/task/task.h"
#include "models/model.h"
#include "models/text/tokenizer.h"
#include "models/weights/ends.h"
#include "runtime/base/error.h"
#include "runtime/comm/engine.h"
#include "runtime/machine/epilogue.h"

/* What to do instead of training. */
enum mtlm_options_request {
    MTLM_REQUEST_NONE, /* train */
    MTLM_REQUEST_HELP,
    MTLM_REQUEST_USAGE,
    MTLM_REQUEST_VERSION,
    MTLM_REQUEST_MODELS,
    MTLM_REQUEST_CONFIG,
    MTLM_REQUEST_PLAN,
    MTLM_REQUEST_SIMULATE,
    MTLM_REQUEST_FIT,
};

/* The source of a value.  A later source in this list overrides an earlier
 * one. */
enum mtlm_option_source {
    MTLM_SOURCE_DEFAULT,
    MTLM_SOURCE_CHECKPOINT, /* of --load */
    MTLM_SOURCE_PRESET,
    MTLM_SOURCE_CONFIG,
    MTLM_SOURCE_COMMAND_LINE,
};

/* In the order of their CHOICE in launch/options/option_list.h. */
enum mtlm_transport_choice {
    MTLM_USE_AUTO,
    MTLM_USE_MPI,
    MTLM_USE_NCCL,
    MTLM_USE_SERIAL,
};
/* Parts of published code that ours replace: a sum. */
enum mtlm_ours {
    MTLM_OURS_NOTHING = 0,
    MTLM_OURS_RECOMPUTE = 1,
    MTLM_OURS_OVERLAP = 2,
    MTLM_OURS_ALL = 3
};

enum mtlm_simulate_engine { MTLM_ENGINE_EVALUATOR, MTLM_ENGINE_STARPU };
enum mtlm_comm_node { MTLM_COMM_ACQUIRE, MTLM_COMM_TASK };

enum mtlm_log_format { MTLM_LOG_SHORT, MTLM_LOG_MEGATRON };

enum mtlm_bound_kind { MTLM_BOUND_PATH, MTLM_BOUND_LP };
enum mtlm_svg_detail { MTLM_SVG_BOX, MTLM_SVG_OP };

/* A slow rank: its speed as a share of the others' speed; 0: no slow rank. */
struct mtlm_slow_rank {
    int64_t rank;
    double speed;
};

struct mtlm_range {
    int64_t first, last; /* both included */
};

/* All options, complete and checked after mtlm_options_parse(). */
struct mtlm_options {
    /* Configuration and help */
    enum mtlm_options_request request;
    char *preset;       /* name, or NULL: none */
    char *config_file;  /* or NULL */
    int64_t world_size; /* ranks of a plan or a simulation; 0: not given */

    /* Model: all of it. vocab_size counts tokens without padding. */
    struct mtlm_model model;
    bool bert_no_binary_head;  /* sets model.binary_head */
    bool no_query_key_scaling; /* sets model.query_key_scaling */

    /* Regularisation */
    double weight_decay, start_weight_decay, end_weight_decay;
    double clip_grad; /* largest norm of the gradients; 0: no clipping */

    /* Batch and training */
    int64_t micro_batch_size;  /* samples of a microbatch */
    int64_t global_batch_size; /* samples of an iteration */
    struct mtlm_ramp ramp;     /* up to the global batch */
    int64_t train_iters;       /* to train; else from --train-samples */
    int64_t train_samples;     /* to train; else from --train-iters */
    int64_t eval_iters;        /* batches of an evaluation; 0: no evaluation */
    int64_t eval_interval;     /* iterations */
    int64_t seed;              /* 0 .. 2^32 - 1 */
    int64_t log_interval;      /* iterations */
    enum mtlm_log_format log_format;
    bool launched; /* by mpirun or srun: stdout is no terminal of a person */
    bool log_throughput;                 /* TFLOP/s in the iteration line */
    bool log_params_norm, log_num_zeros; /* in the iteration line, too */
    bool summary_text;                   /* explain the result at the end */
    bool no_check_for_nan;     /* skip steps with a NaN instead of stopping */
    int64_t exit_interval;     /* iterations; 0: no such stop */
    double exit_duration_mins; /* minutes; 0: no limit */

    /* Optimizer. lr_schedule follows from the fields below; counts in
     * iterations are 0 where the user counts in samples. */
    struct mtlm_lr_schedule lr_schedule;
    int64_t lr_decay_iters, lr_decay_samples;
    int64_t lr_warmup_iters, lr_warmup_samples;
    double lr_warmup_fraction; /* of the decay; 0 when not used */
    int64_t lr_wsd_decay_iters, lr_wsd_decay_samples;
    double adam_beta1, adam_beta2, adam_eps;
    int64_t weight_staleness; /* of gradients, steps: 0 or 1 */

    /* Precision */
    bool bf16, fp16; /* not both */
    enum mtlm_packing pack_weights;
    double loss_scale;            /* static; 0: dynamic, by scale */
    int64_t hysteresis;           /* of scale */
    struct mtlm_loss_scale scale; /* without loss_scale: see
                                   * mtlm_options_precision_scale() */

    /* Parallelism and machine */
    /* Ranks.  If the user gives neither, launch/plan/layout_choice.h chooses
     * both once the number of ranks is known. */
    int64_t tensor_parallel, pipeline_parallel;
    /* Virtual stages per rank; maximum of layers in each.  0: from other
     * options. */
    int64_t virtual_stages, layers_per_stage;
    enum mtlm_placement placement;
    char *stage_layers;       /* "3,3,4,2", or NULL: even; as numbers: */
    int64_t *layers_of_stage; /* [n_layers_of_stage], owned */
    int n_layers_of_stage;
    bool distributed_optimizer; /* shared among data-parallel ranks */
    int64_t ddp_bucket_size;    /* elements of a message of gradients */
    bool sequence_parallel;
    enum mtlm_attention_backend attention_backend;
    struct mtlm_epilogue_wishes epilogues;
    char *blas;                   /* name, file, "auto" or "measure" */
    int schedule;                 /* index in mtlm_schedules[] */
    char *schedule_file;          /* order of F, B and W, or NULL; as read: */
    struct mtlm_box_order *order; /* of one piece of W, owned, or NULL */
    int64_t order_microbatches;
    enum mtlm_follow schedule_mode;
    double act_mem; /* bytes of a rank; 0: no limit */
    double window;  /* alpha: microbatches in flight over the least needed */
    char *stage_times, *durations; /* files, or NULL; read into: */
    struct mtlm_stage_times times; /* of the stages; stages 0: none */
    int64_t replan_after;          /* iterations; 0: never */
    char *stage_windows;           /* "4,3+1,2+2,1+3", or NULL; as numbers: */
    struct mtlm_window *window_of_stage; /* [n_windows_of_stage], owned */
    int n_windows_of_stage;
    struct mtlm_recompute recompute;
    enum mtlm_offload offload;
    double offload_memory; /* bytes; 0: what the machine has */
    char *offload_dir;     /* or NULL: in the user's cache */
    bool offload_host;     /* offloaded state lives in host memory */
    int64_t row_parts; /* of a sample's activations; 0: by shape, 1 on a GPU */
    int64_t workers;   /* of this rank; 0: one per core */
    bool no_gpu;
    bool share_gpu; /* among ranks */
    enum mtlm_transport_choice transport;
    enum mtlm_comm_node comm_node;
    enum mtlm_collective_order collective_order;
    double timeout_minutes; /* limit for a rank without sign of life */

    /* Synthetic runs */
    char *cluster_file; /* or NULL: no synthetic run */
    struct mtlm_noise jitter;
    char *jitter_file; /* or NULL; read into: */
    struct mtlm_noise_table *jitter_table;
    struct mtlm_slow_rank slow_rank;
    double stretch; /* factor of all durations */

    /* Prediction */
    char *simulate_file;                  /* or NULL: no simulation */
    bool ignore_memory;                   /* simulate a job that does not fit */
    struct mtlm_range trace_microbatches; /* 1-based; last 0: by their nodes */
    char *as; /* name of published code, or NULL; found as: */
    const struct mtlm_profile *profile; /* borrowed, or NULL: our own */
    enum mtlm_ours ours; /* parts that replace those of the profile */
    enum mtlm_simulate_engine simulate_engine;
    char *graph_out; /* file for the graph, or NULL */
    char *fit_file;  /* measured iterations to fit to, or NULL */

    /* Data */
    /* Lists for models/text/blend_list.h: data of all splits, or of one; or
     * NULL.  Files with such lists, or NULL. */
    char *data_path, *train_data_path, *valid_data_path, *test_data_path;
    char *data_args_path, *per_split_data_args_path;
    /* As given, or NULL. */
    char *tokenizer_type, *vocab_file, *merge_file, *tokenizer_model;
    const struct mtlm_tokenizer *tokenizer; /* NULL: none given; owned */
    struct mtlm_ends ends;                  /* of an imported model */
    char *split;                      /* "969, 30, 1", for mtlm_split_parse() */
    double mask_prob, short_seq_prob; /* BERT */
    bool eod_mask_loss; /* GPT: the label after an end does not count */
    bool mock_data;     /* true exactly when no data is read */

    /* Checkpoints */
    char *save_dir, *load_dir; /* or NULL */
    int64_t save_interval;     /* iterations; 0: at the end only */
    int64_t keep_last;         /* at least 2; 0: all */
    bool load_best;            /* not the newest */
    bool no_save_optim, no_load_optim, no_load_rng, finetune, eval_only;
    char *options_path; /* checkpoint that options came from, or NULL */
    char *tokenizer_text; /* of the tokenizer that checkpoint learned with, or
                           * NULL; see mtlm_tokenizer_describe() */

    /* Generation of text */
    char *generate;          /* the prompt, or NULL */
    char *prompt_file;       /* prompts, a line each, or NULL */
    bool config_has_prompts; /* --config has a prompt-file */
    int64_t max_new_tokens;  /* of a sequence; 0: 100, or as many as fit */
    int64_t num_samples;     /* of each prompt */
    double temperature, top_p;
    int64_t top_k; /* 0: all tokens */

    /* Tasks */
    char *task_name;                    /* or NULL: no task */
    const struct mtlm_task_entry *task; /* borrowed, or NULL; by task_name */
    char *train_data, *valid_data;      /* files, blanks between; or NULL */
    char *pretrained_dir;               /* or NULL */
    bool new_head;      /* load_dir is pretrained_dir: the head is none of it */
    char *load_instead; /* with new_head, --load as given, or NULL; owned */
    char *predictions; /* file for answers, or NULL */
    int64_t epochs;
    char *seeds;          /* "1,2,3", or NULL; as numbers: */
    int64_t *seed_of_run; /* [n_seeds], owned */
    int n_seeds;
    bool keep_last_batch;     /* of an epoch */
    int64_t overlapping_eval; /* tokens from a window to the next */
    bool strict_lambada;      /* the whole last word counts */

    char *svg;          /* picture of the plan, or NULL */
    char *schedule_out; /* order of the plan, or NULL */
    char *modes_out;    /* seconds of the plan's modes, or NULL */
    enum mtlm_bound_kind bound;
    char *bound_out; /* proof of the bound, or NULL */

    /* Tracing */
    char *trace_dir; /* or NULL: no trace */
    enum mtlm_svg_detail svg_detail;
    struct mtlm_range trace_iterations; /* 1-based, within train_iters */
    char *metrics, *tensorboard_dir;    /* file, directory; or NULL */

    /* Testing */
    char *dump_dir;       /* or NULL */
    int64_t dump_samples; /* 0: those of the first iteration */
    char *logits_dir;     /* or NULL; with eval_only */
    int64_t inject_nan;   /* iteration, 1-based; 0: never */
    bool weight_hash;

    /* How the options were understood, a sentence per line, or NULL. */
    char *notes;

    /* Source of each value: enum mtlm_option_source, indexed by
     * enum mtlm_option_id. */
    unsigned char source[MTLM_OPTION_COUNT];
};

/* Returns the source of the option's value. */
enum mtlm_option_source mtlm_options_source(const struct mtlm_options *options,
                                            enum mtlm_option_id option);

/* Returns whether the option has a value from elsewhere than the defaults. */
bool mtlm_options_given(const struct mtlm_options *options,
                        enum mtlm_option_id option);

/* Frees all that options owns, not options. */
void mtlm_options_free(struct mtlm_options *options);

#endif /* MTLM_OPTIONS_H */
