#ifndef MTLM_GRAPH_PROGRAM_H
#define MTLM_GRAPH_PROGRAM_H

/* The program of one rank: the task graph of a training run, with
 * configuration, parameters and items.  graph/build/program_build.h builds a
 * program.
 *
 * Items stand in program order: gradient accumulation over microbatches, then
 * the optimizer.  Program order is no schedule.  The order of execution follows
 * from data dependencies, ring lengths and priorities. */

#include "codelets/attention_backend.h"
#include "codelets/settings.h"
#include "graph/build/ramp.h"
#include "graph/build/row_parts.h"
#include "graph/graph.h"
#include "graph/layout.h"
#include "graph/order/order.h"
#include "graph/schedule/schedule.h"
#include "graph/schedule/stage_times.h"
#include "models/model.h"

/* Activation recomputation (Megatron-LM's --recompute-*); see
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

/* Memory of the activations of one microbatch, measured by
 * graph/predict/activation_memory.h. */
struct mtlm_activation_memory {
    /* [virtual stages of the model], bytes: activations that F leaves for B and
     * W. */
    double *stage;
    /* Memory that is in use until W ends, as a share of stage[]: activations
     * that W reads, and gradients that B leaves for W. */
    double waiting_share;
    double gradient_share; /* share of those gradients alone */
    /* Share of those gradients that have the shapes of tensors which B reads
     * last: under an order, both take turns in slots. */
    double exchanged_share;
};

/* Generation of text (graph/build/decode.h). */
struct mtlm_decoding {
    int sequences;       /* decoded at a time by a replica; 0: no generation */
    int64_t positions;   /* maximum of a sequence, prompt included */
    int64_t prompt_rows; /* positions of a prompt in one submission */
    double temperature, top_p;
    int64_t top_k; /* all as in codelets/sample_token.c */
};

/* State that lives on a disk (graph/build/offload.h). */
enum mtlm_offload {
    MTLM_OFFLOAD_NONE,
    MTLM_OFFLOAD_OPTIMIZER, /* moments and masters */
    MTLM_OFFLOAD_ALL,       /* and gradients and weights */
    MTLM_OFFLOAD_AUTO,      /* of options, not of programs: as memory demands */
};

/* How much goes to the disk with MTLM_OFFLOAD_ALL.  A bucket counts as one; the
 * buckets of word embeddings stay in memory. */
struct mtlm_offload_amount {
    int gradients, weights; /* offloaded buckets of a rank, at most */
    /* Microbatches that go through a virtual stage together; 0: all.  Memory
     * holds the inputs of layers of these; each group loads the weights
     * again. */
    int group;
    /* Recomputed layers of a rank whose inputs are offloaded, at most; of every
     * microbatch (graph/build/offload_inputs.h). */
    int inputs;
};

/* Packed copies of weights (graph/build/packing.h). */
enum mtlm_packing {
    MTLM_PACKING_NO,
    MTLM_PACKING_YES,  /* wherever a product can read them */
    MTLM_PACKING_AUTO, /* where they save time */
};

struct mtlm_profile;

/* What a validation measures: means of the losses of its microbatches, each a
 * mean over labels; or sums over all labels that count.  HITS: the sums, and
 * the samples whose labels are all the model's answers (codelets/hits.h). */
enum mtlm_measure { MTLM_MEASURE_MEANS, MTLM_MEASURE_SUMS, MTLM_MEASURE_HITS };

/* The input of mtlm_program_build(). */
struct mtlm_program_config {
    struct mtlm_model model;
    struct mtlm_layout layout;
    int64_t micro_batch;  /* b, samples */
    int64_t microbatches; /* m per iteration and rank, after a ramp-up */
    /* Batch ramp-up: fewer microbatches at the start; all 0: none.  Batches are
     * multiples of micro_batch * layout.dp samples. */
    struct mtlm_ramp ramp;
    int64_t eval_microbatches; /* of a validation; 0: no validation */
    enum mtlm_measure measure; /* of a validation */
    uint64_t seed;             /* seed of initial weights and dropout */
    const struct mtlm_schedule *schedule;
    double window; /* alpha: graph/schedule/window.h */
    /* Activation memory of a rank in bytes, which then decides the windows
     * instead of alpha; 0: alpha decides. */
    double act_mem;
    struct mtlm_activation_memory activation; /* with act_mem; borrowed */
    int more_gradients; /* with act_mem: graph/schedule/window.h */
    /* [n_stage_windows], borrowed: windows w and q.  They decide instead of
     * alpha and act_mem if there is one for each virtual stage of the model. */
    const struct mtlm_window *stage_windows;
    int n_stage_windows;
    /* An order of all boxes, each W in one piece, that the program follows;
     * borrowed.  The order decides the windows.  NULL: none. */
    const struct mtlm_box_order *order;
    enum mtlm_follow follow;
    /* Times of the stages, borrowed; NULL: each layer counts 1.  Without effect
     * unless there are times of each virtual stage of the model. */
    const struct mtlm_stage_times *times;
    bool sequence_parallel;
    enum mtlm_attention_backend attention_backend;
    int weight_staleness; /* 0, or 1: two versions (graph/build/version.h) */
    bool distributed_optimizer; /* graph/build/bucket.h */
    int64_t bucket_size;        /* elements; 0: MTLM_BUCKET_SIZE */
    enum mtlm_packing packing;
    enum mtlm_offload offload;
    struct mtlm_offload_amount offload_amount;
    struct mtlm_recompute recompute;
    /* Recompute all nodes of a layer, as published code does, though no
     * gradient reads the outputs of some. */
    bool recompute_whole;
    /* Published code whose memory plans have
     * (graph/predict/published_memory.h); borrowed.  NULL: our own. */
    const struct mtlm_profile *profile;
    bool params_norm; /* compute the norm of the weights after each step */
    bool count_zeros; /* count the gradient elements that are 0 */
    bool skip_nan;    /* step again after a norm or loss that is not finite */
    /* Parts of a sample (graph/build/row_parts.h); 0: by shape. */
    int row_parts;
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
    /* Content that the run loads from a checkpoint before its first iteration.
     * Weights include masters. */
    enum { MTLM_LOAD_NOTHING, MTLM_LOAD_WEIGHTS, MTLM_LOAD_ALL } loads;
    /* Validations only: no gradients, moments, masters or iterations. */
    bool eval_only;
    /* Generation of text, with eval_only, without validations; micro_batch is
     * 1.  valid holds the prompts: a sample is a sequence. */
    struct mtlm_decoding decoding;
    bool outline; /* for plans: the program has no items */
};

/* Saved tensors of a parameter. */
enum mtlm_saved {
    MTLM_SAVED_VALUE, /* in fp32 */
    MTLM_SAVED_M,
    MTLM_SAVED_V,
    MTLM_SAVED_BEFORE, /* in the type of the weight */
    MTLM_SAVED_COUNT
};

/* A parameter as this rank holds it: a shard under tensor parallelism. */
struct mtlm_parameter {
    enum mtlm_param kind;
    int64_t layer;                /* -1 outside the layers */
    int64_t number;               /* mtlm_param_number(), in the whole model */
    struct mtlm_param_info info;  /* of the whole parameter */
    int64_t first_row, first_col; /* first element of the shard in the whole */
    struct mtlm_tensor *weight, *grad; /* grad: NULL with config.eval_only */
    /* This rank steps the weight's elements from `first` on.  The tensors hold
     * these elements; all are NULL if this rank steps none.  reduced: gradient,
     * summed over data-parallel ranks.  m, v: Adam's moments; NULL also if the
     * weight aliases another weight.  master: weight in fp32; NULL also if
     * weights are fp32. */
    struct mtlm_tensor *reduced, *m, *v, *master;
    int64_t first;
    /* The version before that of weight (graph/build/version.h); NULL without
     * versions, and where m is. */
    struct mtlm_tensor *before;
    /* Copies for a checkpoint (graph/build/save.h): the whole weight, or the
     * stepped elements.  NULL: another rank writes them. */
    struct mtlm_tensor *saved[MTLM_SAVED_COUNT];
    bool grad_is_set; /* graph/build/first_gradient.h */
    bool copy;    /* the output layer's copy of the word embedding */
    bool counted; /* This rank owns the parameter for norm and hash. */
};

/* A virtual stage: the nodes of one microbatch. */
struct mtlm_stage {
    int stage; /* number in the model */
    int64_t first_layer, n_layers;
    bool first, last; /* first, last virtual stage of the model */
    /* Activations of training, parts [s_i, b, h].  The last stage has no
     * output. */
    struct mtlm_rows input, output;
    struct mtlm_rows eval_output;               /* output in a validation */
    struct mtlm_list forward, backward, weight; /* F, B, W */
    struct mtlm_list pack;   /* once per iteration, before the first F */
    struct mtlm_list reduce; /* once per iteration, after the last W */
    struct mtlm_list eval;   /* forward without dropout */
    /* Generation: a piece of a prompt; one position.  Both lists end before
     * the head; the outputs of the last stage are below. */
    struct mtlm_list prompt, step;
    struct mtlm_tensor *prompt_output, *step_output;
};

/* Parameters whose gradients one message reduces (graph/build/bucket.h). */
struct mtlm_bucket {
    int chunk;        /* virtual stage, as this rank counts them */
    int *param;       /* [n]: indices into program->param, in memory order */
    int n;            /* number of parameters */
    int n_replicated; /* number of replicated parameters, which come first */
    int64_t elems;    /* elements of the memory block, with padding */
    /* This rank's shard, if the shard is nothing but padding; else NULL. */
    struct mtlm_tensor *idle;
};

/* Offloaded state that is loaded and stored together.  Of a bucket
 * (graph/build/offload.h): the weights, the gradients, or moments and masters
 * of neighbours.  Of each microbatch (graph/build/offload_inputs.h): a part of
 * a layer's input. */
struct mtlm_unit {
    enum mtlm_storage storage; /* MTLM_STORE_PARAM, _GRAD, _MOMENT or
                                * _ACTIVATION */
    int bucket;                /* index into program->bucket; -1: an input */
    int first, n;              /* parameters: places in the bucket's param[] */
    int microbatches;          /* that have pieces of their own; 0: no input */
    int piece, pieces;  /* of the rank's file: the first one, their number; of
                         * an input: those of microbatch 0 */
    int64_t bytes;      /* of the pieces, with padding */
    int number_of_slot; /* among all slots of the rank; of an input: the first
                         * one of the ring */
    struct mtlm_tensor *slot; /* memory of the unit; an input: itself */
    /* Copy for a checkpoint: its first piece, -1: none; a tensor for ordering
     * that the end of the copy writes. */
    int saved_piece;
    struct mtlm_tensor *saved;
};

/* Offloaded state of a rank; empty without config.offload. */
struct mtlm_offloaded {
    struct mtlm_unit *unit; /* [n_units] */
    int n_units, n_slots;
    int64_t *piece; /* [n_pieces] bytes of the pieces of the rank's file */
    int n_pieces;
    double loaded_bytes, stored_bytes; /* per iteration */
    int64_t moves;                     /* loads and stores of an iteration */
};

/* One submission: a node, for one microbatch. */
struct mtlm_item {
    const struct mtlm_node *node;
    int microbatch; /* -1: once per iteration or validation piece */
    int priority;   /* within an iteration (graph/schedule/priority.h) */
    /* In a chained program whose order has lanes: the pass's lane, which is the
     * worker that runs the item; else -1. */
    int lane;
};

/* Items in program order. */
struct mtlm_items {
    struct mtlm_item *item;
    int n;
    size_t capacity;
};

/* Generation of text; empty without config.decoding (graph/build/decode.h). */
struct mtlm_decode {
    /* [layers of the model]: keys and values [positions, 2 hl] of this rank's
     * heads, a slot per sequence; NULL: another rank holds the layer. */
    struct mtlm_tensor **cache;
    struct mtlm_tensor *token; /* I32 [1, 1]: the newest, a slot per sequence */
    struct mtlm_list begin_list, prompt_end_list, step_end_list;
    /* Items of one sequence each: clear its caches; take a piece of its prompt;
     * draw the first token; take the newest token and draw the next one. */
    struct mtlm_items begin, prompt, prompt_end, step;
};

/* The program of one rank; owns its members. */
struct mtlm_program {
    struct mtlm_program_config config;
    struct mtlm_graph *graph;
    struct mtlm_stage *stage;   /* [layout.virtual_stages] */
    struct mtlm_window *window; /* [virtual stages of the whole model] */
    int *place; /* of mtlm_program_priority(); NULL: no order, or its windows
                 * only */
    struct mtlm_parameter *param; /* [n_params] */
    int n_params;
    /* [mtlm_param_numbers() + 1] index into param + 1; 0: another rank holds
     * the parameter.  Behind the numbers: the copy of the word embedding. */
    int *param_at;
    struct mtlm_bucket *bucket; /* [n_buckets], graph/build/bucket.h */
    int n_buckets;
    struct mtlm_offloaded offloaded;
    int64_t bundle_elems; /* elements of a bundle: graph/build/bundle.h */
    struct mtlm_list init_list, tail_list, eval_tail_list, save_list;

    /* Items that run once per run, per iteration, per validation piece, and per
     * checkpoint (after an iteration). */
    struct mtlm_items init, train, eval, save;
    struct mtlm_decode decode;

    struct mtlm_tensor *control; /* F64 [MTLM_CONTROL_COUNT] */
    /* The control tensor that passes read, for the loss scale: control; with
     * two versions of the weights, a constant one. */
    struct mtlm_tensor *pass_control;
    /* Tensors of iterations; NULL with config.eval_only.  Tensors that the host
     * reads have 2 slots: the host reads one while the next iteration runs. */
    struct mtlm_tensor *loss;   /* F64 [MTLM_LOSS_COUNT], on the last stage */
    struct mtlm_tensor *status; /* F64 [sums + MTLM_STATUS_EXTRA] */
    struct mtlm_tensor *report; /* F64 [MTLM_CONTROL_COUNT], for the host */
    /* With config.params_norm, else NULL: F64 [sums]; F64 [1] for the host. */
    struct mtlm_tensor *params_sums, *params_norm;
    /* The same tensors for validations; NULL without validation.  Two pieces
     * run at once; eval_report F64 [MTLM_STATUS_EXTRA] has a slot for each. */
    struct mtlm_tensor *eval_loss, *eval_status, *eval_report;
    /* Results of a validation microbatch, on the last stage; else NULL. */
    struct mtlm_rows eval_logits; /* parts [s_i, b, vocabulary of this rank] */
    /* Logits of the binary head [1, b, 2], or of a task: [1, b, classes], [1, b
     * / choices, choices]; of a span [1, b, s] of the answer's begin and of its
     * end, where padding has very small ones.  NULL: there are none. */
    struct mtlm_tensor *eval_answers[2];
};

/* Returns the number of microbatches of a validation piece; the last piece may
 * have fewer.
 *
 * Each piece ends with a report, by which all ranks learn of a signal.  Two
 * pieces under way keep the pipeline full.  A signal takes effect after three
 * pieces at most.
 *
 * A piece has as many microbatches as an iteration, or 2 p if that is more, for
 * p pipeline ranks.  Priorities restart with each piece: the first microbatches
 * of a piece precede the last ones of the previous piece. */
int64_t mtlm_program_piece(const struct mtlm_program_config *config);

/* Returns the number of pieces of a validation; 0: no validation. */
int64_t mtlm_program_pieces(const struct mtlm_program_config *config);

/* Returns whether sequence parallelism is on and tp > 1: each tensor-parallel
 * rank then has its own rows (mtlm_build_sum()). */
bool mtlm_program_splits_rows(const struct mtlm_program_config *config);

/* Returns the boxes of config->order, without times. */
struct mtlm_boxes mtlm_program_boxes(const struct mtlm_program_config *config);

/* Returns whether items stand in the order of config->order, which then deals
 * out slots (graph/build/order_pool.h): in mode strict, and in mode hint if
 * microbatches ascend on each stage and a rank has one worker. */
bool mtlm_program_is_ordered(const struct mtlm_program_config *config);

/* Returns whether a box of the program waits for the box before it in its lane
 * of config->order. */
bool mtlm_program_is_chained(const struct mtlm_program_config *config);

/* Frees the program with its graph; NULL is allowed. */
void mtlm_program_destroy(struct mtlm_program *program);

/* Returns the input of mtlm_priority() for the program's items. */
struct mtlm_priority mtlm_program_priority(const struct mtlm_program *program);

/* Returns the name of a parameter in files, with suffix appended; for example
 * "layers.3.mlp.dense_h_to_4h.weight".  The caller frees the string. */
char *mtlm_parameter_name(const struct mtlm_parameter *p, const char *suffix);

/* Returns a parameter, or NULL if another rank holds the parameter.  layer -1:
 * outside the layers.  head: of the word embedding, returns the output layer's
 * copy. */
struct mtlm_parameter *mtlm_program_param(const struct mtlm_program *program,
                                          enum mtlm_param kind, int64_t layer,
                                          bool head);

/* Returns the parameter whose reduced gradient the step of p reads: of the word
 * embedding, the output layer's copy, if this rank holds both; else p. */
const struct mtlm_parameter *mtlm_program_summed(
    const struct mtlm_program *program, const struct mtlm_parameter *p);

#endif /* MTLM_GRAPH_PROGRAM_H */
