#ifndef MTLM_GRAPH_PROGRAM_H
#define MTLM_GRAPH_PROGRAM_H

#include "codelets/op.h"
#include "graph/build/ramp.h"
#include "graph/build/rows.h"
#include "graph/graph.h"
#include "graph/layout.h"
#include "graph/schedule/priority.h"
#include "graph/schedule/window.h"
#include "models/model.h"

/* A training run of one rank: gradient accumulation over microbatches, then
 * the optimizer, written in program order.  No schedule is written down
 * anywhere: when something runs follows from the tensors it reads and
 * writes, the lengths of the rings and the priorities. */

/* Which activations are computed again for the backward pass instead of being
 * kept (Megatron-LM's --recompute-*), see graph/build/recompute.h. */
struct mtlm_recompute {
    enum {
        MTLM_RECOMPUTE_NONE,
        MTLM_RECOMPUTE_SELECTIVE, /* the core of attention */
        MTLM_RECOMPUTE_FULL,      /* whole layers */
    } granularity;
    enum {
        MTLM_RECOMPUTE_UNIFORM, /* groups of num_layers keep their input */
        MTLM_RECOMPUTE_BLOCK,   /* the first num_layers of a virtual stage */
    } method;
    int64_t num_layers;
};

struct mtlm_program_config {
    struct mtlm_model model;
    struct mtlm_layout layout;
    int64_t micro_batch;  /* b: samples per microbatch */
    int64_t microbatches; /* m per iteration and rank, at the most */
    /* Iterations of fewer, before it is over; all 0: none.  Its numbers are
     * multiples of micro_batch * layout.dp. */
    struct mtlm_ramp ramp;
    int64_t eval_microbatches;   /* per validation; 0: no validation */
    uint64_t seed;               /* of initial weights and dropout */
    enum mtlm_pipeline pipeline; /* the schedule, see graph/schedule/window.h */
    double window;               /* alpha, the same */
    double act_mem; /* bytes of activations of a rank, instead of alpha; 0 */
    /* Instead of both, w and q of that many virtual stages, where these are all
     * of the model; borrowed. */
    const struct mtlm_window *stage_windows;
    int n_stage_windows;
    bool sequence_parallel;
    enum mtlm_attention_backend attention_backend;
    bool distributed_optimizer; /* see graph/build/bucket.h */
    int64_t bucket_size;        /* elements, the same; 0: MTLM_BUCKET_SIZE */
    struct mtlm_recompute recompute;
    bool params_norm; /* compute the norm of the weights after each step */
    bool count_zeros; /* count the elements of the gradients that are 0 */
    bool skip_nan;    /* go on after a norm or loss that is not finite */
    int row_parts;    /* of a sample, see graph/build/rows.h; 0: by its shape */
    /* Of weights and activations: MTLM_REAL, which is 0, MTLM_BF16 or
     * MTLM_F16.  In 16 bit each weight has an fp32 master. */
    enum mtlm_dtype value;
    struct mtlm_loss_scale loss_scale;
    double clip; /* largest gradient norm; 0: no clipping */
    double beta1, beta2, epsilon;
    struct mtlm_schedule schedule;      /* of learning rate and weight decay */
    struct mtlm_samples *train, *valid; /* borrowed */
    /* Which checkpoints there will be, see graph/build/save.h. */
    enum { MTLM_SAVE_NOTHING, MTLM_SAVE_WEIGHTS, MTLM_SAVE_ALL } save;
    /* The values of a checkpoint that it begins with; masters are weights. */
    enum { MTLM_LOAD_NOTHING, MTLM_LOAD_WEIGHTS, MTLM_LOAD_ALL } loads;
    /* Validations are all that is to be run: there are no gradients, moments
     * and masters, and nothing of an iteration. */
    bool eval_only;
    bool outline; /* no items are written down: for a plan only */
};

/* What of a parameter is in a checkpoint. */
enum mtlm_saved {
    MTLM_SAVED_VALUE, /* in fp32 */
    MTLM_SAVED_M,
    MTLM_SAVED_V,
    MTLM_SAVED_COUNT
};

/* One parameter of this rank (its shard under tensor parallelism). */
struct mtlm_parameter {
    enum mtlm_param kind;
    int64_t layer;                /* -1 outside the layers */
    int64_t number;               /* in the whole model: mtlm_param_number() */
    struct mtlm_param_info info;  /* of the whole */
    int64_t first_row, first_col; /* of the shard in the whole */
    struct mtlm_tensor *weight, *grad; /* grad: NULL with config.eval_only */
    /* What this rank steps: the elements from first on, whose gradient, added
     * up over data-parallel ranks, is reduced.  NULL: none of them.  Moments
     * are NULL too where the weight is another one's memory; master, of the
     * same elements, also where the weight is its own. */
    struct mtlm_tensor *reduced, *m, *v, *master;
    int64_t first;
    /* What this rank writes of it into a checkpoint, see graph/build/save.h:
     * the elements of the weight, or of what it steps.  NULL: not that. */
    struct mtlm_tensor *saved[MTLM_SAVED_COUNT];
    bool copy;    /* the last stage's copy of the tied word embedding */
    bool counted; /* no other rank of this one's replica of the model stands
                   * for it in norm and hash */
};

/* What one microbatch does on one virtual stage. */
struct mtlm_stage {
    int stage;
    int64_t first_layer, n_layers;
    bool first, last;               /* of the model */
    struct mtlm_rows input, output; /* [s_i, b, h], of a training's forward
                                     * pass: the last stage has no output */
    struct mtlm_rows eval_output;   /* the same of a validation */
    struct mtlm_list forward, backward, weight;
    struct mtlm_list reduce; /* once per iteration, after the last W */
    struct mtlm_list eval;   /* forward without dropout */
};

/* Parameters whose gradients one message reduces (graph/build/bucket.h). */
struct mtlm_bucket {
    int chunk;                /* of this rank */
    int *param;               /* [n]: numbers in program->param, as they lie */
    int n;                    /* parameters */
    int n_replicated;         /* the first of them: whole on every rank */
    int64_t elems;            /* of the block, padding included */
    struct mtlm_tensor *idle; /* this rank's shard, where it has nothing but
                               * padding; else NULL */
};

/* A node of one microbatch, as it is submitted. */
struct mtlm_item {
    const struct mtlm_node *node;
    int microbatch; /* -1: once per iteration or piece of a validation */
    int priority;   /* within an iteration, see graph/schedule/priority.h */
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
    struct mtlm_bucket *bucket; /* of parameters, see graph/build/bucket.h */
    int n_buckets;
    int64_t bundle_elems; /* see graph/build/bundle.h */
    struct mtlm_list init_list, tail_list, eval_tail_list, save_list;

    /* Once per run; once per iteration; once per piece of a validation; once
     * per checkpoint, after an iteration: in program order. */
    struct mtlm_items init, train, eval, save;

    struct mtlm_tensor *control; /* F64 [MTLM_CONTROL_COUNT] */
    /* Of iterations: NULL with config.eval_only. */
    struct mtlm_tensor *loss;   /* F64 [MTLM_LOSS_COUNT]; NULL without the
                                 * last stage */
    struct mtlm_tensor *status; /* F64 [sums + MTLM_STATUS_EXTRA] */
    struct mtlm_tensor *report; /* copy of control, for the host; 2 slots */
    /* With config.params_norm: F64 [sums], and [1] for the host, 2 slots. */
    struct mtlm_tensor *params_sums, *params_norm;
    /* Of validations likewise; 2 slots of reports for two pieces. */
    struct mtlm_tensor *eval_loss, *eval_status, *eval_report;
    /* Of a validation's microbatch, where the last stage is: logits
     * [s_i, b, Vl], and those of the binary head [1, b, 2]; or NULL. */
    struct mtlm_rows eval_logits;
    struct mtlm_tensor *eval_answers;
};

/* Microbatches of a piece of a validation, of which the last one may have less,
 * and how many pieces it has.  Each ends with a report, in which all ranks
 * learn of a signal.  With two under way the pipeline stays full, and a signal
 * is obeyed after three at most: the time of an iteration, of two where there
 * are less than 2 p microbatches.  A piece's first microbatches have an
 * iteration's first priorities, so they go before the last ones of the piece
 * before. */
int64_t mtlm_program_piece(const struct mtlm_program_config *config);
int64_t mtlm_program_pieces(const struct mtlm_program_config *config);

/* Whether tensor-parallel ranks share the rows of what they do not split
 * otherwise: sequence parallelism. */
bool mtlm_program_splits_rows(const struct mtlm_program_config *config);

/* Frees the program and its graph; NULL is allowed. */
void mtlm_program_destroy(struct mtlm_program *program);

/* What its priorities follow from. */
struct mtlm_priority mtlm_program_priority(const struct mtlm_program *program);

/* "layers.3.mlp.dense_h_to_4h.weight" + suffix: what the parameter is called in
 * files.  The caller frees it. */
char *mtlm_parameter_name(const struct mtlm_parameter *p, const char *suffix);

/* The parameter, or NULL where this rank does not hold it; head: the one that
 * the output layer uses. */
struct mtlm_parameter *mtlm_program_param(const struct mtlm_program *program,
                                          enum mtlm_param kind, int64_t layer,
                                          bool head);

#endif /* MTLM_GRAPH_PROGRAM_H */
