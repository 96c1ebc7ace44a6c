#ifndef MTLM_GRAPH_PROGRAM_H
#define MTLM_GRAPH_PROGRAM_H

/* The program of one rank: the task graph of a training run, its configuration,
 * parameters and items in program order.  graph/build/program_build.h builds a
 * program; this header holds the structs and what reads them. */

#include "codelets/op.h"
#include "graph/build/ramp.h"
#include "graph/build/rows.h"
#include "graph/graph.h"
#include "graph/layout.h"
#include "graph/schedule/schedule.h"
#include "models/model.h"

/* A training run of one rank: gradient accumulation over microbatches, then the
 * optimizer, in program order.  A program holds no schedule.  The order of
 * execution follows from the tensors that nodes read and write, ring lengths
 * and priorities. */

/* Activation recomputation (Megatron-LM's --recompute-*), see
 * graph/build/recompute.h. */
struct mtlm_recompute {
    enum {
        MTLM_RECOMPUTE_NONE,
        MTLM_RECOMPUTE_SELECTIVE, /* the core of attention */
        MTLM_RECOMPUTE_FULL,      /* whole layers */
    } granularity;
    enum {
        MTLM_RECOMPUTE_UNIFORM, /* groups of num_layers layers */
        MTLM_RECOMPUTE_BLOCK,   /* first num_layers layers of a virtual stage */
    } method;
    int64_t num_layers;
};

/* Activations of one microbatch, in bytes; measured by
 * graph/predict/activation_memory.h. */
struct mtlm_activation_memory {
    double *stage;        /* [virtual stages of the model], from F on */
    double waiting_share; /* share with gradients, from B to W */
};

struct mtlm_program_config {
    struct mtlm_model model;
    struct mtlm_layout layout;
    int64_t micro_batch;  /* b, samples */
    int64_t microbatches; /* m, largest number per iteration and rank */
    /* Batch ramp-up with fewer microbatches at the start; all 0: none.  Batches
     * are multiples of micro_batch * layout.dp samples. */
    struct mtlm_ramp ramp;
    int64_t eval_microbatches; /* in a validation; 0: no validation */
    uint64_t seed;             /* seed of initial weights and dropout */
    const struct mtlm_schedule *schedule;
    double window; /* alpha of the window (graph/schedule/window.h) */
    /* activation memory of a rank, bytes; decides instead of alpha; 0: alpha */
    double act_mem;
    struct mtlm_activation_memory activation; /* with act_mem; borrowed */
    /* Windows w and q of n_stage_windows virtual stages, borrowed.  Used
     * instead of alpha and act_mem if n_stage_windows is the number of all
     * virtual stages. */
    const struct mtlm_window *stage_windows;
    int n_stage_windows;
    bool sequence_parallel;
    enum mtlm_attention_backend attention_backend;
    bool distributed_optimizer; /* graph/build/bucket.h */
    int64_t bucket_size;        /* elements; 0: MTLM_BUCKET_SIZE */
    struct mtlm_recompute recompute;
    bool params_norm; /* compute the norm of the weights after each step */
    bool count_zeros; /* count the elements of the gradients that are 0 */
    bool skip_nan;    /* continue after a norm or loss that is not finite */
    int row_parts;    /* parts of a sample (graph/build/rows.h); 0: by shape */
    /* Element type of weights and activations: MTLM_REAL (0), MTLM_BF16 or
     * MTLM_F16.  Each 16-bit weight has an fp32 master. */
    enum mtlm_dtype value;
    struct mtlm_loss_scale loss_scale;
    double clip; /* maximum gradient norm; 0: no clipping */
    double beta1, beta2, epsilon;
    struct mtlm_lr_schedule lr_schedule; /* learning rate, weight decay */
    struct mtlm_samples *train, *valid;  /* borrowed */
    /* Content of the checkpoints (graph/build/save.h). */
    enum { MTLM_SAVE_NOTHING, MTLM_SAVE_WEIGHTS, MTLM_SAVE_ALL } save;
    /* Content loaded from the checkpoint that the run begins with; masters
     * belong to the weights. */
    enum { MTLM_LOAD_NOTHING, MTLM_LOAD_WEIGHTS, MTLM_LOAD_ALL } loads;
    /* Validations only: no gradients, moments, masters or iterations. */
    bool eval_only;
    bool outline; /* for a plan only: the program has no items */
};

/* Saved tensors of a parameter. */
enum mtlm_saved {
    MTLM_SAVED_VALUE, /* in fp32 */
    MTLM_SAVED_M,
    MTLM_SAVED_V,
    MTLM_SAVED_COUNT
};

/* A parameter of this rank: its shard under tensor parallelism. */
struct mtlm_parameter {
    enum mtlm_param kind;
    int64_t layer;                /* -1 outside the layers */
    int64_t number;               /* mtlm_param_number(), in the whole model */
    struct mtlm_param_info info;  /* whole parameter */
    int64_t first_row, first_col; /* begin of the shard in the whole */
    struct mtlm_tensor *weight, *grad; /* grad: NULL with config.eval_only */
    /* What this rank steps: the elements from `first` on.  reduced: their
     * gradient, summed over data-parallel ranks; NULL: this rank steps no
     * element.  m, v: NULL also if the weight aliases another weight.  master:
     * fp32 copy of the same elements; NULL also if weights are fp32. */
    struct mtlm_tensor *reduced, *m, *v, *master;
    int64_t first;
    /* What this rank writes into a checkpoint (graph/build/save.h): elements of
     * the weight, or the stepped elements.  NULL: another rank writes them. */
    struct mtlm_tensor *saved[MTLM_SAVED_COUNT];
    bool copy;    /* output layer's copy of the tied word embedding */
    bool counted; /* This rank owns the parameter for norm and hash. */
};

/* The work of one microbatch on one virtual stage. */
struct mtlm_stage {
    int stage;
    int64_t first_layer, n_layers;
    bool first, last; /* first, last stage of the model */
    /* training forward pass, parts [s_i, b, h]; the last stage has no output */
    struct mtlm_rows input, output;
    struct mtlm_rows eval_output; /* output of a validation */
    struct mtlm_list forward, backward, weight;
    struct mtlm_list reduce; /* once per iteration, after the last W */
    struct mtlm_list eval;   /* forward without dropout */
};

/* Parameters whose gradients one message reduces (graph/build/bucket.h). */
struct mtlm_bucket {
    int chunk;        /* of this rank */
    int *param;       /* [n]: indices into program->param, in memory order */
    int n;            /* number of parameters */
    int n_replicated; /* leading parameters that every rank holds whole */
    int64_t elems;    /* of the block, with padding */
    /* this rank's shard if the shard is padding only; else NULL */
    struct mtlm_tensor *idle;
};

/* A node of one microbatch, as submitted. */
struct mtlm_item {
    const struct mtlm_node *node;
    int microbatch; /* -1: once per iteration or validation piece */
    int priority;   /* in an iteration (graph/schedule/priority.h) */
};

struct mtlm_items {
    struct mtlm_item *item;
    int n, capacity;
};

struct mtlm_program {
    struct mtlm_program_config config;
    struct mtlm_graph *graph;
    struct mtlm_stage *stage;   /* [layout.virtual_stages] */
    struct mtlm_window *window; /* [virtual stages of the whole model] */
    struct mtlm_parameter *param;
    int n_params;
    struct mtlm_bucket *bucket; /* [n_buckets], graph/build/bucket.h */
    int n_buckets;
    int64_t bundle_elems; /* graph/build/bundle.h */
    struct mtlm_list init_list, tail_list, eval_tail_list, save_list;

    /* Items in program order: once per run; per iteration; per validation
     * piece; per checkpoint, after an iteration. */
    struct mtlm_items init, train, eval, save;

    struct mtlm_tensor *control; /* F64 [MTLM_CONTROL_COUNT] */
    /* Tensors of iterations; NULL with config.eval_only. */
    /* F64 [MTLM_LOSS_COUNT]; NULL without the last stage */
    struct mtlm_tensor *loss;
    struct mtlm_tensor *status; /* F64 [sums + MTLM_STATUS_EXTRA] */
    struct mtlm_tensor *report; /* copy of control for the host, 2 slots */
    /* With config.params_norm: F64 [sums], and F64 [1] for the host, 2
     * slots. */
    struct mtlm_tensor *params_sums, *params_norm;
    /* The same tensors of validations; eval_report has 2 slots for two
     * pieces. */
    struct mtlm_tensor *eval_loss, *eval_status, *eval_report;
    /* Logits of a validation microbatch, parts [s_i, b, Vl], and of the binary
     * head [1, b, 2].  NULL without the last stage or the head. */
    struct mtlm_rows eval_logits;
    struct mtlm_tensor *eval_answers;
};

/* Returns the microbatches of a validation piece; the last piece may have
 * fewer.
 *
 * Each piece ends with a report, in which all ranks learn of a signal.  With
 * two pieces under way the pipeline stays full, and a signal takes effect after
 * three pieces at most.  A piece takes as long as an iteration, or two
 * iterations of fewer than 2 p microbatches.  The first microbatches of a piece
 * have the first priorities of an iteration and so precede the last ones of the
 * previous piece. */
int64_t mtlm_program_piece(const struct mtlm_program_config *config);

/* Returns the number of pieces of a validation; 0: no validation. */
int64_t mtlm_program_pieces(const struct mtlm_program_config *config);

/* Returns whether tensor-parallel ranks share the rows of unsplit activations
 * (sequence parallelism with tp > 1). */
bool mtlm_program_splits_rows(const struct mtlm_program_config *config);

/* Frees the program with its graph; NULL is allowed. */
void mtlm_program_destroy(struct mtlm_program *program);

/* Returns the parameters of the program's priorities. */
struct mtlm_priority mtlm_program_priority(const struct mtlm_program *program);

/* Returns the parameter's name in files with suffix appended, for example
 * "layers.3.mlp.dense_h_to_4h.weight".  The caller frees the string. */
char *mtlm_parameter_name(const struct mtlm_parameter *p, const char *suffix);

/* Returns the parameter, or NULL if this rank does not hold the parameter.
 * head: the copy of the word embedding that the output layer uses. */
struct mtlm_parameter *mtlm_program_param(const struct mtlm_program *program,
                                          enum mtlm_param kind, int64_t layer,
                                          bool head);

#endif /* MTLM_GRAPH_PROGRAM_H */
