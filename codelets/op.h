#ifndef MTLM_OP_H
#define MTLM_OP_H

/* An operation: operands, attributes, shapes, gradient rule and kernels.
 * op_list.h has the table of operations. */

#include <stdbool.h>
#include <stdint.h>

#include "codelets/attention_backend.h"
#include "codelets/op_list.h"
#include "codelets/settings.h"
#include "runtime/base/dtype.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/base/sample.h"
#include "runtime/base/shape.h"
#include "runtime/comm/group.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum number of operands of one call: a limit of our tables, not of
 * StarPU. */
#define MTLM_MAX_OPERANDS 8

/* Maximum number of calls of one task.  The arguments of a CUDA kernel for 64
 * calls fit into CUDA's 4 KiB of kernel parameters. */
#define MTLM_MAX_CALLS 64

/* Access of a node to an operand.  MTLM_RW: the node adds to the operand (a
 * weight's gradient, for example), or updates the operand in place. */
enum mtlm_access { MTLM_R, MTLM_W, MTLM_RW };

/* Who runs a node.
 *
 *   COMPUTE      a GPU worker if the rank has one and the operation has a CUDA
 *                kernel, else a CPU worker
 *   HOST         likewise; the node uses host state, which a CUDA kernel takes
 *                as an argument
 *   COLLECTIVE   the communication engine
 *   P2P          the communication engine
 *   DISK         the threads of runtime/disk/io.h
 *   ALIAS        nobody: the output is the input, and the node exists only for
 *                its gradient rule */
enum mtlm_op_class {
    MTLM_CLASS_COMPUTE,
    MTLM_CLASS_HOST,
    MTLM_CLASS_COLLECTIVE,
    MTLM_CLASS_P2P,
    MTLM_CLASS_DISK,
    MTLM_CLASS_ALIAS,
};

/* Dropout sites of a layer, for mtlm_philox_dropout_stream(). */
enum mtlm_dropout_site {
    MTLM_SITE_EMBEDDING,
    MTLM_SITE_ATTENTION,
    MTLM_SITE_PROJECTION,
    MTLM_SITE_MLP,
    MTLM_SITE_HEAD, /* of a task, with layer 0 */
};

struct mtlm_dropout {
    double p; /* probability of dropping an element; 0: no dropout */
    uint64_t seed;
    int layer; /* in the whole model */
    int site;  /* enum mtlm_dropout_site */
    /* Position in the sample of the operand's first row.  Masks belong to
     * positions, so a mask does not depend on how samples are cut into parts.
     * Attention uses attr.attention.first_query and first_key instead. */
    int64_t first_row;
};

/* Attributes of an operation. */
union mtlm_attr {
    struct {
        struct mtlm_samples *source;
        enum mtlm_field field;
        int64_t first;      /* sample position of the first row */
        int64_t seq_length; /* loss weights: rows of a sample */
        int64_t step; /* batch: samples from a column to the next; 0 means 1 */
        bool whole;   /* loss weights: the mask itself, for a sum */
    } batch;
    struct {
        int64_t first; /* this rank's first row of the vocabulary */
        int64_t size;  /* rows of the whole vocabulary, without padding */
        int slot;      /* enum mtlm_loss_slot */
    } vocabulary;
    struct {
        int64_t first;   /* y's column of x's first row */
        int64_t column;  /* column of x */
        int64_t choices; /* samples that share a row of y */
    } scores;
    struct {
        double epsilon;
    } layernorm;
    struct {
        bool exact; /* exact form (error function), else tanh form */
    } gelu;
    struct mtlm_dropout dropout;
    struct {
        int heads;      /* of this rank */
        int first_head; /* this rank's first head, numbered in the layer */
        bool causal;    /* queries see keys up to their position */
        /* Sample positions of the first query and of the first key; length of
         * every sample, with padding. */
        int64_t first_query, first_key, seq_length;
        double coefficient; /* query-key layer scaling; 1: none */
        int alibi_heads;    /* ALiBi: heads of the layer; 0: no ALiBi */
        enum mtlm_attention_backend backend;
        struct mtlm_dropout dropout;
    } attention;
    struct {
        /* Normally distributed values; std 0: all values are mean.  A value
         * depends on the element's number in the full tensor: (first_row + row)
         * * full_cols + first_col + col.  So all layouts have the same values.
         *
         * cols 0: x is a whole shard.  Else x is a piece of a shard with cols
         * columns: the elements from `first` on. */
        double mean, std;
        uint64_t seed;
        int64_t param; /* parameter's number: mtlm_philox_param_stream() */
        int64_t full_cols, first_row, first_col;
        int64_t first, cols;
    } fill;
    struct {
        double temperature; /* 0: the greatest logit */
        double top_p;       /* 1: all */
        int64_t top_k;      /* 0: all */
        uint64_t seed;
        int64_t size; /* tokens of the vocabulary, without padding */
    } sampling;
    struct {
        int64_t slot;  /* element of status to write; publish: first element */
        double factor; /* publish: factor on the losses */
        /* square_sum, count_zeros: trailing elements of g to ignore */
        int64_t padding;
    } status;
    struct {
        struct mtlm_lr_schedule lr_schedule;
        double clip;    /* maximum gradient norm; 0: no clipping */
        int64_t n_sums; /* sums of squares at the start of status */
        /* The optimizer never steps again after a loss or norm that is not
         * finite (overflows of the loss scale excepted).  The weights stay
         * unchanged. */
        bool nan_is_final;
        struct mtlm_loss_scale scale;
    } control; /* control_init uses scale only */
    struct {
        double beta1, beta2, epsilon;
        bool decay; /* weight decay applies to this weight */
        /* Element of the weight to which element 0 of g, m, v and master
         * belongs. */
        int64_t first;
        bool keeps_g; /* g stays as it is, else becomes 0 */
    } adam;
    struct {
        enum mtlm_group group;
        enum mtlm_reduce reduce;
        int size; /* number of ranks of the group; 0: shapes do not change */
        /* Reductions of a bucket: elements to reduce, with padding.  Gather of
         * a bucket: elements of one rank's shard. */
        int64_t count;
    } collective;
    struct {
        bool gradient; /* for gradients of inputs, else for forward products */
        int64_t rows;  /* of the products that read the packed weight */
    } pack;
    struct {
        int peer; /* rank of the other end */
        int tag;  /* equal for a send and the receive that matches */
    } p2p;
    struct {
        int first, n; /* pieces of the rank's file of offloaded state */
        int step;     /* from a microbatch's first piece to the next one's;
                       * 0: the state is no microbatch's */
        bool zeros;   /* of a store: the slot holds zeros; nothing is written */
    } disk;
};

/* One call of an operation; shape[i] belongs to operand i. */
struct mtlm_call {
    enum mtlm_op_kind kind;
    /* Element type of MTLM_VALUE operands: MTLM_REAL, MTLM_BF16 or MTLM_F16.
     * Calls of one job may differ: fill writes 16-bit weights and their fp32
     * masters.  Kernels compute in mtlm_real. */
    enum mtlm_dtype value;
    bool packed; /* the weight of the linear layer is packed: codelets/pack.h */
    /* linear_wgrad, linear_bias_wgrad: in the first microbatch of an iteration
     * the call sets dweight, which may hold anything.  Else it adds. */
    bool sets;
    union mtlm_attr attr;
    struct mtlm_shape shape[MTLM_MAX_OPERANDS];
    /* Next call of the same task, with the same operation and value type; or
     * NULL.  Tasks with several calls bundle work on small tensors. */
    struct mtlm_call *next;
};

/* Stream, cuBLAS handles and workspace of one GPU: runtime/machine/device.h. */
struct mtlm_device;

/* Where and when a kernel runs.  All pointers are borrowed. */
struct mtlm_context {
    int64_t sample; /* number of the microbatch's first sample in the run */
    /* Weight of the microbatch in the losses of its iteration or validation: 1
     * / (microbatches * data-parallel ranks). */
    double share;
    int64_t batch; /* samples of the iteration on all ranks */
    bool first;    /* The microbatch is the first of the iteration. */
    /* Added to positions of attributes: the position of row 0 in its sequence
     * (decoding), and in the whole operand (by_positions of struct mtlm_op). */
    int64_t position;
    int64_t rows; /* decoding only, else 0: number of rows in use */
    struct mtlm_scratch *scratch; /* this worker's host scratch */
    struct mtlm_scratch *wide; /* host scratch for 16-bit operands as floats */
    const struct mtlm_device *device; /* this worker's GPU, or NULL */
};

/* A kernel: computes call on the operands ptr[i], see struct mtlm_op. */
typedef void mtlm_kernel(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context);

/* Where an operand of a gradient call comes from.  i: an operand of the forward
 * call. */
enum mtlm_grad_source {
    MTLM_GRAD_END,   /* end of the operands */
    MTLM_GRAD_VALUE, /* operand i */
    MTLM_GRAD_OF,    /* gradient of operand i */
    MTLM_GRAD_OVER,  /* operand i, which the gradient overwrites */
};

struct mtlm_grad_arg {
    enum mtlm_grad_source source;
    int operand; /* i */
};

/* B computes gradients of activations, W gradients of weights.  Separate nodes
 * let W wait (zero-bubble pipelines, arXiv 2401.10241). */
enum mtlm_grad_phase { MTLM_GRAD_B, MTLM_GRAD_W };

/* A call that a gradient rule makes. */
struct mtlm_grad_call {
    bool used;
    enum mtlm_grad_phase phase;
    enum mtlm_op_kind kind;
    /* Replaces kind where an activation already has a gradient, to which the
     * call must add.  0 (MTLM_OP_BATCH): no such kind. */
    enum mtlm_op_kind kind_add;
    struct mtlm_grad_arg arg[MTLM_MAX_OPERANDS];
};

/* The gradient rule of a forward operation, as data.  graph/build/backward.c
 * walks the forward calls in reverse order.  Each forward call gets the calls
 * of the rule, with the attributes of the forward call. */
struct mtlm_grad {
    bool root; /* a loss: the rule needs no gradient of the outputs */
    struct mtlm_grad_call call[2];
    /* pass[i].used: operand i and operand `from` have the same gradient. */
    struct {
        bool used;
        int from;
    } pass[MTLM_MAX_OPERANDS];
    /* Sums the gradient of pass over attr.collective.group (Megatron-LM's
     * operator f). */
    bool reduce;
};

/* One operation.  mtlm_graph_call() takes the MTLM_R and MTLM_RW operands, and
 * creates MTLM_W operands that are not given. */
struct mtlm_op {
    const char *name; /* for traces, performance models, messages */
    enum mtlm_op_class op_class;
    int n_operands;
    enum mtlm_access access[MTLM_MAX_OPERANDS];
    enum mtlm_dtype dtype[MTLM_MAX_OPERANDS]; /* see mtlm_call_dtype() */
    bool shared[MTLM_MAX_OPERANDS]; /* one tensor for all calls of a task */
    /* Kernels use few elements of the operand; or none, as only the gradient
     * rule needs the operand.  mtlm_call_bytes() leaves the operand out. */
    bool untouched[MTLM_MAX_OPERANDS];

    /* Checks the shapes of the given operands and sets the shapes of created
     * operands.  Returns 0, or -1 with the reason in err. */
    int (*infer)(struct mtlm_call *call, struct mtlm_error *err);

    /* Returns the number of floating-point operations of a call; NULL: too few
     * to count. */
    double (*flops)(const struct mtlm_call *call);

    struct mtlm_grad grad;

    /* Computes one call on the CPU.  ptr[i] is operand i, in host memory.
     * Without cpu_typed, mtlm_value_run_cpu() converts MTLM_VALUE operands to
     * mtlm_real. */
    mtlm_kernel *cpu;
    /* The same on MTLM_VALUE operands in bf16, not converted.  Called instead of
     * cpu where mtlm_bf16_product_here(); NULL: no such kernel. */
    mtlm_kernel *cpu_bf16;
    /* cpu_bf16 computes call and all its next calls at once.  ptr holds
     * n_operands pointers per call. */
    bool bf16_together;
    /* Whether cpu_bf16 is faster than cpu; NULL: always. */
    bool (*bf16_pays)(const struct mtlm_call *call);
    /* Enqueues one call on the device's stream without waiting.  ptr[i] is
     * operand i, in GPU memory; MTLM_VALUE operands have type call->value. */
    mtlm_kernel *cuda;
    /* cpu takes MTLM_VALUE operands of type call->value, not converted. */
    bool cpu_typed;
    /* mtlm_value_run_cpu() may call cpu on some positions of operand 0 [s, b,
     * ...] at a time, in order.  Operands with these two dimensions have the
     * same positions.  The kernel only reads other operands, or adds sums over
     * MTLM_ROW_BLOCK rows to operands of mtlm_real. */
    bool by_positions;
    /* Returns the bytes of context->scratch in which cpu widens 16-bit
     * operands, without buffers that mtlm_real takes, too.  NULL: none.
     * Requires cpu_typed. */
    size_t (*wide_bytes)(const struct mtlm_call *call);
    /* cpu reads operand 0 wherever it lies: ptr[0] may be GPU memory. */
    bool cpu_fetches;
    /* cuda computes call and all its next calls at once.  ptr holds n_operands
     * pointers per call.  The kernel asserts which attributes must agree. */
    bool cuda_together;
};

#define OP(UC, lc)                                                             \
    extern const struct mtlm_op mtlm_op_##lc;                                  \
    mtlm_kernel mtlm_##lc##_bf16;                                              \
    mtlm_kernel mtlm_##lc##_cuda;
MTLM_OP_LIST(OP)
#undef OP

/* The CUDA kernel of an operation; NULL without CUDA and in double
 * precision. */
#if HAVE_CUDA && !MTLM_DOUBLE
#define MTLM_CUDA_KERNEL(lc) mtlm_##lc##_cuda
#else
#define MTLM_CUDA_KERNEL(lc) NULL
#endif

/* The CPU kernel of an operation on bf16; NULL in double precision, and without
 * oneDNN, which tells what the processor can. */
#if HAVE_ONEDNN && !MTLM_DOUBLE
#define MTLM_BF16_KERNEL(lc) mtlm_##lc##_bf16
#else
#define MTLM_BF16_KERNEL(lc) NULL
#endif

/* Calls infer() of the call's operation.  Returns 0, or -1 with the operation's
 * name and the reason in err. */
int mtlm_call_infer(struct mtlm_call *call, struct mtlm_error *err);

/* Returns the element type of operand i of a call; MTLM_VALUE becomes
 * call->value. */
enum mtlm_dtype mtlm_call_dtype(const struct mtlm_call *call, int i);

/* Maximum number of pointers that kernels of one task take. */
#define MTLM_MAX_POINTERS (MTLM_MAX_CALLS * MTLM_MAX_OPERANDS)

/* Returns the number of operands of the task that computes call and its next
 * calls.  Counts shared operands once. */
int mtlm_call_n_operands(const struct mtlm_call *call);

/* Writes ptr, n_operands pointers per call, from operand [n], where n is
 * mtlm_call_n_operands().  Repeats shared operands for each call.  ptr has room
 * for MTLM_MAX_POINTERS. */
void mtlm_call_spread(const struct mtlm_call *call, void *const operand[],
                      void *ptr[]);

/* Enqueues the CUDA kernel of call and its next calls on the device's
 * stream. */
void mtlm_call_run_cuda(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context);

/* Returns the floating-point operations of call and its next calls. */
double mtlm_call_flops(const struct mtlm_call *call);

/* Returns the bytes that call and its next calls read and write.  Counts
 * MTLM_RW operands twice. */
double mtlm_call_bytes(const struct mtlm_call *call);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_OP_H */
