#ifndef MTLM_OP_H
#define MTLM_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "codelets/op_list.h"
#include "runtime/base/dtype.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/base/sample.h"
#include "runtime/base/shape.h"
#include "runtime/comm/group.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Operands of one call at most, in our own tables: StarPU takes any number. */
#define MTLM_MAX_OPERANDS 8

/* Calls that one task makes at most: what a CUDA kernel is told of so many fits
 * into the 4 KiB of its parameters. */
#define MTLM_MAX_CALLS 64

enum mtlm_op_kind {
#define OP(UC, lc) MTLM_OP_##UC,
    MTLM_OP_LIST(OP)
#undef OP
        MTLM_OP_COUNT
};

/* MTLM_RW is for what several nodes add to, such as a weight's gradient, and
 * for what is overwritten in place. */
enum mtlm_access { MTLM_R, MTLM_W, MTLM_RW };

/* Who runs a node: a worker; a worker too, but what it reads or writes is
 * host state, so that it takes a CPU one unless a CUDA kernel gets that state
 * as an argument;
 * the communication engine; nobody (the node only exists for its gradient: its
 * output is its input). */
enum mtlm_op_class {
    MTLM_CLASS_COMPUTE,
    MTLM_CLASS_HOST,
    MTLM_CLASS_COLLECTIVE,
    MTLM_CLASS_P2P,
    MTLM_CLASS_ALIAS,
};

/* Dropout sites inside a layer, for mtlm_stream_dropout(). */
enum mtlm_dropout_site {
    MTLM_SITE_EMBEDDING,
    MTLM_SITE_ATTENTION,
    MTLM_SITE_PROJECTION,
    MTLM_SITE_MLP,
};

struct mtlm_dropout {
    double p; /* probability of being dropped; 0 for none */
    uint64_t seed;
    int layer; /* of the whole model */
    int site;  /* enum mtlm_dropout_site */
    /* Position in the sample of the operand's first row: an operand may be a
     * part of a sample, and the mask must not depend on how it is cut.  (Not
     * of attention, which has positions of its own.) */
    int64_t first_row;
};

/* The course of learning rate and weight decay, as Megatron-LM's; its clock
 * counts the samples of the optimizer's steps (codelets/learning_rate.h). */
enum mtlm_lr_style {
    MTLM_LR_CONSTANT,
    MTLM_LR_LINEAR,
    MTLM_LR_COSINE,
    MTLM_LR_INVERSE_SQUARE_ROOT,
    MTLM_LR_WSD, /* warm-up, stable, decay */
};
enum mtlm_wsd_style { MTLM_WSD_EXPONENTIAL, MTLM_WSD_LINEAR, MTLM_WSD_COSINE };
enum mtlm_weight_decay_style {
    MTLM_WEIGHT_DECAY_CONSTANT,
    MTLM_WEIGHT_DECAY_LINEAR,
    MTLM_WEIGHT_DECAY_COSINE,
};

struct mtlm_schedule {
    enum mtlm_lr_style style;
    double lr, min_lr;
    double warmup_init;    /* learning rate at the begin of the warm-up */
    double warmup_samples; /* a fraction of the decay: need not be whole */
    double decay_samples;  /* end of the decay, on the clock */
    enum mtlm_wsd_style wsd_style;
    double wsd_samples; /* WSD: of the last part, which decays */

    enum mtlm_weight_decay_style weight_decay_style;
    double weight_decay;     /* at the begin */
    double end_weight_decay; /* and when weight_decay_samples are over */
    double weight_decay_samples;
};

/* What the loss is multiplied with, so that gradients do not vanish in fp16:
 * Megatron-LM's rules.  An iteration whose gradients overflow takes no step.
 * dynamic: `hysteresis` of them halve the scale, and each further one until
 * it doubles, after `window` iterations in a row without; never below min. */
struct mtlm_loss_scale {
    double initial; /* 0 is for 1 */
    double min;
    int64_t window;
    int hysteresis;
    bool dynamic;
};

/* Which kernels compute attention on a GPU: cuDNN's where it can; never, which
 * has three of Megatron-LM's names; or always, else the job ends.  On CPUs
 * there is one. */
enum mtlm_attention_backend {
    MTLM_ATTENTION_AUTO,
    MTLM_ATTENTION_FLASH,
    MTLM_ATTENTION_FUSED,
    MTLM_ATTENTION_UNFUSED,
    MTLM_ATTENTION_LOCAL,
};

/* What an operation is told besides its operands. */
union mtlm_attr {
    struct {
        struct mtlm_samples *source;
        enum mtlm_field field;
        int64_t first;      /* position in the sample of the first row */
        int64_t seq_length; /* loss weights: rows of the whole sample */
    } batch;
    struct {
        int64_t first; /* this rank's first row of the vocabulary */
        int64_t size;  /* rows of the vocabulary without padding */
        int slot;      /* enum mtlm_loss_slot, of what adds to the loss */
    } vocabulary;
    struct {
        double epsilon;
    } layernorm;
    struct {
        bool exact; /* by the error function, else its tanh form */
    } gelu;
    struct mtlm_dropout dropout;
    struct {
        int heads;      /* of this rank */
        int first_head; /* number of the first of them in the model */
        bool causal;    /* a query sees the keys up to its position */
        /* Positions in the sample of the first query and the first key, and
         * of all samples how many there are, padding included. */
        int64_t first_query, first_key, seq_length;
        double coefficient; /* of query-key layer scaling; 1: none */
        enum mtlm_attention_backend backend;
        struct mtlm_dropout dropout;
    } attention;
    struct {
        /* Value N(mean, std); the number of element (row, col) is
         * (first_row + row) * full_cols + first_col + col: the full
         * tensor's, so that a shard gets its part.  x is the shard, or where
         * cols is set a piece of it: its elements from first on, of a shard
         * with cols columns.  std 0: all mean. */
        double mean, std;
        uint64_t seed;
        int64_t param; /* for mtlm_stream_param() */
        int64_t full_cols, first_row, first_col;
        int64_t first, cols;
    } fill;
    struct {
        int64_t slot;    /* element of the status vector to write; publish:
                          * the first one */
        double factor;   /* publish: times this */
        int64_t padding; /* square_sum, count_zeros: elements at the end that
                            do not count */
    } status;
    struct {
        struct mtlm_schedule schedule;
        double clip;    /* largest gradient norm, 0: no clipping */
        int64_t n_sums; /* squared sums at the start of the vector */
        /* After a loss or norm that is not finite no step is applied any
         * more: the weights stay those that led to it. */
        bool nan_is_final;
        struct mtlm_loss_scale scale;
    } control; /* control_init: scale */
    struct {
        double beta1, beta2, epsilon;
        bool decay; /* whether this weight decays, as the control says */
        /* Element of the weight with which g, m, v (and master) begin. */
        int64_t first;
    } adam;
    struct {
        enum mtlm_group group;
        enum mtlm_reduce reduce;
        int size; /* ranks of the group; of what does not change shapes: 0 */
        /* Of a bucket: elements, padding included, of what is reduced, or of
         * one rank's block of what is gathered, in place. */
        int64_t count;
    } collective;
    struct {
        int peer; /* rank */
        int tag;  /* matches one send with one receive of a microbatch */
    } p2p;
};

/* The loss tensor (double): what a rank's microbatches add up to. */
enum mtlm_loss_slot {
    MTLM_LOSS_LM,       /* language model */
    MTLM_LOSS_SOP,      /* order of the sentences (BERT) */
    MTLM_LOSS_SOP_HITS, /* share of the samples where it was found */
    MTLM_LOSS_COUNT
};

/* The status vector (double): the squared sums of every parameter shard,
 * then these, the losses in the order of enum mtlm_loss_slot. */
enum mtlm_status_slot {
    MTLM_STATUS_LOSS,
    MTLM_STATUS_SOP,
    MTLM_STATUS_SOP_HITS,
    MTLM_STATUS_STOP,
    MTLM_STATUS_ZEROS, /* elements of the gradients, where they are counted */
    MTLM_STATUS_EXTRA  /* how many */
};

/* The control tensor and the report (double); the host reads the report. */
enum mtlm_control_slot {
    MTLM_CONTROL_ITERATION,    /* iterations done, skipped ones too */
    MTLM_CONTROL_STEP,         /* optimizer steps done */
    MTLM_CONTROL_SAMPLES,      /* samples consumed */
    MTLM_CONTROL_CLOCK,        /* those of them that led to a step */
    MTLM_CONTROL_BATCH,        /* those of this iteration */
    MTLM_CONTROL_LR,           /* that the optimizer must use now */
    MTLM_CONTROL_WEIGHT_DECAY, /* likewise */
    MTLM_CONTROL_NEXT_LR,      /* of the next iteration */
    MTLM_CONTROL_CLIP,         /* factor on the gradients */
    MTLM_CONTROL_NORM,         /* of the gradients, before clipping */
    MTLM_CONTROL_LOSS,
    MTLM_CONTROL_SOP,
    MTLM_CONTROL_SOP_HITS,
    MTLM_CONTROL_ZEROS,   /* elements of the gradients that are 0 */
    MTLM_CONTROL_SKIPPED, /* iterations without a step, in all */
    MTLM_CONTROL_NAN,     /* iterations with a norm or loss not finite */
    MTLM_CONTROL_APPLY,   /* 1: the optimizer must step, 0: must not */
    MTLM_CONTROL_STOP,    /* sum of mtlm_stop_requested() over the ranks */
    /* What the losses are multiplied with where their gradients begin; the
     * report's: of the next iteration.  CLIP divides by it. */
    MTLM_CONTROL_LOSS_SCALE,
    MTLM_CONTROL_GROWTH,     /* iterations since the scale moved, or overflow */
    MTLM_CONTROL_HYSTERESIS, /* overflows until it is halved */
    MTLM_CONTROL_COUNT
};

/* One call of an operation; shape[i] is that of operand i. */
struct mtlm_call {
    enum mtlm_op_kind kind;
    /* Element type of the operands that the table calls MTLM_VALUE: MTLM_REAL
     * (so in every fp32 job), MTLM_BF16 or MTLM_F16.  It is the call's, not
     * the job's: fill writes 16-bit weights and their fp32 masters.  Kernels
     * compute in mtlm_real whatever it is. */
    enum mtlm_dtype value;
    union mtlm_attr attr;
    struct mtlm_shape shape[MTLM_MAX_OPERANDS];
    /* A further call of the same operation and value type, that the same task
     * makes, or NULL: on tensors that are too small for tasks of their own. */
    struct mtlm_call *next;
};

/* Stream, cuBLAS handles and workspace of one GPU: see
 * runtime/machine/device.h. */
struct mtlm_device;

/* Where and when a kernel runs. */
struct mtlm_context {
    int64_t sample; /* number of the microbatch's first sample, over the run */
    /* What the microbatch counts in the losses of its iteration, or of its
     * validation: 1 / (microbatches * data-parallel ranks). */
    double share;
    int64_t batch;                /* samples of the iteration, over all ranks */
    struct mtlm_scratch *scratch; /* this worker's, on the host */
    struct mtlm_scratch *wide;    /* likewise, for 16-bit operands as floats */
    const struct mtlm_device *device; /* this worker's GPU, or NULL */
};

typedef void mtlm_kernel(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context);

/* How one operand of a gradient operation follows from the forward call. */
enum mtlm_grad_source {
    MTLM_GRAD_END,   /* no more operands */
    MTLM_GRAD_VALUE, /* operand i of the forward call */
    MTLM_GRAD_OF,    /* gradient of operand i of the forward call */
    MTLM_GRAD_OVER,  /* operand i itself, which becomes its own gradient */
};

struct mtlm_grad_arg {
    enum mtlm_grad_source source;
    int operand;
};

/* B makes the gradients of inputs, W those of weights: separate nodes, so
 * that W can wait (zero-bubble pipelines, arXiv 2401.10241). */
enum mtlm_grad_phase { MTLM_GRAD_B, MTLM_GRAD_W };

struct mtlm_grad_call {
    bool used;
    enum mtlm_grad_phase phase;
    enum mtlm_op_kind kind;
    /* Instead of kind where the gradient of an activation exists already
     * and must be added to; 0 (batch): there is none. */
    enum mtlm_op_kind kind_add;
    struct mtlm_grad_arg arg[MTLM_MAX_OPERANDS];
};

/* The gradient rule of a forward operation, as data: graph/build/backward.c
 * walks the forward calls backwards and makes these calls.  They take the
 * forward call's attributes. */
struct mtlm_grad {
    bool root; /* the loss: needs no gradient of its outputs */
    struct mtlm_grad_call call[2];
    /* pass[i].used: the gradient of operand i is that of operand from. */
    struct {
        bool used;
        int from;
    } pass[MTLM_MAX_OPERANDS];
    /* pass only: the gradient is all-reduced over attr.collective.group, as
     * Megatron's operator f does. */
    bool reduce;
};

/* One operation.  Operands are its inputs followed by its outputs; those
 * with access MTLM_R and MTLM_RW are given, those with MTLM_W are made. */
struct mtlm_op {
    const char *name; /* in traces, performance models and error messages */
    enum mtlm_op_class op_class;
    int n_operands;
    enum mtlm_access access[MTLM_MAX_OPERANDS];
    enum mtlm_dtype dtype[MTLM_MAX_OPERANDS]; /* see mtlm_call_dtype() */
    bool shared[MTLM_MAX_OPERANDS]; /* the calls of a task have it in common */
    /* Of operands read: there for the gradient rule alone, no kernel of this
     * operation looks at them. */
    bool untouched[MTLM_MAX_OPERANDS];

    /* Checks the given shapes of call and sets those of MTLM_W operands. */
    int (*infer)(struct mtlm_call *call, struct mtlm_error *err);

    /* Floating-point operations of a call; NULL: none worth counting. */
    double (*flops)(const struct mtlm_call *call);

    struct mtlm_grad grad;

    /* ptr[i] is operand i in host memory (cpu) or in that GPU's (cuda,
     * which enqueues on the device's stream and does not wait).  A cuda kernel
     * finds MTLM_VALUE operands in the type call->value; a cpu kernel, which
     * mtlm_call_run_cpu() runs, as mtlm_real, unless it is cpu_typed. */
    mtlm_kernel *cpu;
    mtlm_kernel *cuda;
    bool
        cpu_typed; /* the cpu kernel, too, finds them in the type call->value */
    /* ptr[0] of the cpu kernel is where that data has its home, which may be a
     * GPU's memory. */
    bool cpu_fetches;
    /* The cuda kernel makes call and all that follow it at once: ptr holds
     * n_operands of each.  It asserts what their attributes must share. */
    bool cuda_together;
};

extern const struct mtlm_op *const mtlm_ops[MTLM_OP_COUNT];

#define OP(UC, lc)                                                             \
    extern const struct mtlm_op mtlm_op_##lc;                                  \
    mtlm_kernel mtlm_##lc##_cuda;
MTLM_OP_LIST(OP)
#undef OP

/* The CUDA kernel of an operation, or NULL in a build without CUDA and in
 * the double-precision library set. */
#if HAVE_CUDA && !MTLM_DOUBLE
#define MTLM_CUDA_KERNEL(lc) mtlm_##lc##_cuda
#else
#define MTLM_CUDA_KERNEL(lc) NULL
#endif

/* The type of a call's operand i: of MTLM_VALUE, call->value. */
enum mtlm_dtype mtlm_call_dtype(const struct mtlm_call *call, int i);

/* The following are about a call and those that follow it. */

/* Operands of the task that makes them: those of the first, then of each other
 * one those that are not shared.  Puts them where kernels find them: ptr
 * [calls * n_operands], MTLM_MAX_POINTERS at most. */
#define MTLM_MAX_POINTERS (MTLM_MAX_CALLS * MTLM_MAX_OPERANDS)
int mtlm_call_n_operands(const struct mtlm_call *call);
void mtlm_call_spread(const struct mtlm_call *call, void *const operand[],
                      void *ptr[]);

/* Runs the CPU kernel on operands in host memory, call after call.  16-bit
 * operands are widened before and rounded after, as a whole. */
void mtlm_call_run_cpu(void *const ptr[], const struct mtlm_call *call,
                       const struct mtlm_context *context);

/* Enqueues the CUDA kernel. */
void mtlm_call_run_cuda(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context);

/* Bytes of context->wide that mtlm_call_run_cpu() takes. */
size_t mtlm_call_wide_bytes(const struct mtlm_call *call);

/* Floating-point operations; bytes that are read and written. */
double mtlm_call_flops(const struct mtlm_call *call);
double mtlm_call_bytes(const struct mtlm_call *call);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_OP_H */
