/* Cross-entropy over a vocabulary that is split among the ranks of a
 * tensor-parallel group (Megatron-LM, arXiv 1909.08053, section 3):
 *
 *   max    = max over columns               all-reduced by maximum
 *   sums   = sum e^(logit - max), logit[label] - max     all-reduced by sum
 *   loss  += scale mean(log(sums[0]) - sums[1])
 *   dlogit = scale / (s b) (e^(logit - max) / sums[0] - [column = label])
 *
 * logits [s, b, Vl]; labels, max [s, b]; sums [2, s, b]; loss [1], double.
 * Column c of the shard is row vocabulary.first + c of the vocabulary; from
 * vocabulary.size on it is padding, which counts nowhere. */

#include "config.h"

#include <float.h>
#include <string.h>

#include "codelets/infer.h"
#include "codelets/vector_math.h"

/* What the maximum over no column is: finite, for it meets others. */
#if MTLM_DOUBLE
#define LOWEST (-DBL_MAX)
#else
#define LOWEST (-FLT_MAX)
#endif

/* Columns whose sum is formed apart in mtlm_real, then added in double. */
enum { BLOCK = 1024 };

/* Columns of the shard that are not padding. */
static int64_t real_columns(const struct mtlm_call *call, int64_t cols)
{
    const int64_t n = call->attr.vocabulary.size - call->attr.vocabulary.first;

    return n < 0 ? 0 : n < cols ? n : cols;
}

static struct mtlm_shape shape_of_sums(const struct mtlm_shape *logits)
{
    return MTLM_SHAPE(2, logits->dim[0], logits->dim[1]);
}

enum { M_LOGITS, M_MAX };

static int xent_max_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    call->shape[M_MAX] = mtlm_shape_of_rows(call->shape[M_LOGITS]);
    return mtlm_expect_rank(call, M_LOGITS, "logits", 3, err);
}

static double xent_max_flops(const struct mtlm_call *call)
{
    return mtlm_shape_elems(&call->shape[M_LOGITS]);
}

static void xent_max_cpu(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[M_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[M_LOGITS]);
    const int64_t n = real_columns(call, cols);
    const mtlm_real *logits = ptr[M_LOGITS];
    mtlm_real *max = ptr[M_MAX];

    (void) context;
    for (int64_t r = 0; r < rows; r++, logits += cols) {
        mtlm_real m = LOWEST;

#pragma omp simd reduction(max : m)
        for (int64_t i = 0; i < n; i++)
            m = logits[i] > m ? logits[i] : m;
        max[r] = m;
    }
}

const struct mtlm_op mtlm_op_xent_max = {
    .name = "xent_max",
    .n_operands = 2,
    .access = {[M_LOGITS] = MTLM_R, [M_MAX] = MTLM_W},
    .infer = xent_max_infer,
    .flops = xent_max_flops,
    .cpu = xent_max_cpu,
};

enum { S_LOGITS, S_LABELS, S_MAX, S_SUMS };

static int xent_sum_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;

    if (mtlm_expect_rank(call, S_LOGITS, "logits", 3, err))
        return -1;
    shape[S_SUMS] = shape_of_sums(&shape[S_LOGITS]);
    return mtlm_expect_shape(call, S_LABELS, "labels",
                             mtlm_shape_of_rows(shape[S_LOGITS]), err)
                   || mtlm_expect_shape(call, S_MAX, "max",
                                        mtlm_shape_of_rows(shape[S_LOGITS]),
                                        err)
               ? -1
               : 0;
}

static double xent_sum_flops(const struct mtlm_call *call)
{
    return 8.0 * mtlm_shape_elems(&call->shape[S_LOGITS]);
}

static double sum_of_exp(const mtlm_real *logits, int64_t n, mtlm_real max)
{
    double sum = 0;

    for (int64_t start = 0; start < n; start += BLOCK) {
        const int64_t end = start + BLOCK < n ? start + BLOCK : n;
        mtlm_real part = 0;

#pragma omp simd reduction(+ : part)
        for (int64_t i = start; i < end; i++)
            part += mtlm_exp(logits[i] - max);
        sum += part;
    }
    return sum;
}

static void xent_sum_cpu(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[S_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[S_LOGITS]);
    const int64_t n = real_columns(call, cols);
    const mtlm_real *logits = ptr[S_LOGITS], *max = ptr[S_MAX];
    const int32_t *labels = ptr[S_LABELS];
    mtlm_real *sum = ptr[S_SUMS], *target = sum + rows;

    (void) context;
    for (int64_t r = 0; r < rows; r++, logits += cols) {
        const int64_t label = labels[r] - call->attr.vocabulary.first;

        sum[r] = sum_of_exp(logits, n, max[r]);
        target[r] = label >= 0 && label < n ? logits[label] - max[r] : 0;
    }
}

const struct mtlm_op mtlm_op_xent_sum = {
    .name = "xent_sum",
    .n_operands = 4,
    .access = {[S_LOGITS] = MTLM_R,
               [S_LABELS] = MTLM_R,
               [S_MAX] = MTLM_R,
               [S_SUMS] = MTLM_W},
    .dtype = {[S_LABELS] = MTLM_I32},
    .infer = xent_sum_infer,
    .flops = xent_sum_flops,
    .cpu = xent_sum_cpu,
};

/* Logits, labels and max are there for the gradient's sake. */
enum { L_LOGITS, L_LABELS, L_MAX, L_SUMS, L_LOSS };

static int xent_loss_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;

    if (mtlm_expect_rank(call, L_LOGITS, "logits", 3, err))
        return -1;
    return mtlm_expect_shape(call, L_LABELS, "labels",
                             mtlm_shape_of_rows(shape[L_LOGITS]), err)
                   || mtlm_expect_shape(call, L_MAX, "max",
                                        mtlm_shape_of_rows(shape[L_LOGITS]),
                                        err)
                   || mtlm_expect_shape(call, L_SUMS, "sums",
                                        shape_of_sums(&shape[L_LOGITS]), err)
                   || mtlm_expect_shape(call, L_LOSS, "loss", MTLM_SHAPE(1),
                                        err)
               ? -1
               : 0;
}

static void xent_loss_cpu(void *const ptr[], const struct mtlm_call *call,
                          const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[L_LOGITS]);
    const mtlm_real *sum = ptr[L_SUMS], *target = sum + rows;
    double *loss = ptr[L_LOSS], total = 0;

    (void) context;
    for (int64_t r = 0; r < rows; r++)
        total += log((double) sum[r]) - (double) target[r];
    *loss += call->attr.vocabulary.scale * total / rows;
}

const struct mtlm_op mtlm_op_xent_loss = {
    .name = "xent_loss",
    .n_operands = 5,
    .access = {[L_LOGITS] = MTLM_R,
               [L_LABELS] = MTLM_R,
               [L_MAX] = MTLM_R,
               [L_SUMS] = MTLM_R,
               [L_LOSS] = MTLM_RW},
    .dtype = {[L_LABELS] = MTLM_I32, [L_LOSS] = MTLM_F64},
    .infer = xent_loss_infer,
    .grad = {.root = true,
             .call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_XENT_BWD,
                       .arg = {{MTLM_GRAD_VALUE, L_LABELS},
                               {MTLM_GRAD_VALUE, L_MAX},
                               {MTLM_GRAD_VALUE, L_SUMS},
                               {MTLM_GRAD_OVER, L_LOGITS}}}}},
    .cpu = xent_loss_cpu,
};

enum { B_LABELS, B_MAX, B_SUMS, B_LOGITS };

static int xent_bwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;

    if (mtlm_expect_rank(call, B_LOGITS, "logits", 3, err))
        return -1;
    return mtlm_expect_shape(call, B_LABELS, "labels",
                             mtlm_shape_of_rows(shape[B_LOGITS]), err)
                   || mtlm_expect_shape(call, B_MAX, "max",
                                        mtlm_shape_of_rows(shape[B_LOGITS]),
                                        err)
                   || mtlm_expect_shape(call, B_SUMS, "sums",
                                        shape_of_sums(&shape[B_LOGITS]), err)
               ? -1
               : 0;
}

static double xent_bwd_flops(const struct mtlm_call *call)
{
    return 9.0 * mtlm_shape_elems(&call->shape[B_LOGITS]);
}

static void xent_bwd_cpu(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[B_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[B_LOGITS]);
    const int64_t n = real_columns(call, cols);
    const double scale = call->attr.vocabulary.scale / rows;
    const int32_t *labels = ptr[B_LABELS];
    const mtlm_real *max = ptr[B_MAX], *sum = ptr[B_SUMS];
    mtlm_real *logits = ptr[B_LOGITS];

    (void) context;
    for (int64_t r = 0; r < rows; r++, logits += cols) {
        const int64_t label = labels[r] - call->attr.vocabulary.first;
        const mtlm_real m = max[r], factor = scale / sum[r];

#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            logits[i] = factor * mtlm_exp(logits[i] - m);
        if (label >= 0 && label < n)
            logits[label] -= (mtlm_real) scale;
        memset(logits + n, 0, (cols - n) * sizeof(*logits));
    }
}

const struct mtlm_op mtlm_op_xent_bwd = {
    .name = "xent_bwd",
    .n_operands = 4,
    .access = {[B_LABELS] = MTLM_R,
               [B_MAX] = MTLM_R,
               [B_SUMS] = MTLM_R,
               [B_LOGITS] = MTLM_RW},
    .dtype = {[B_LABELS] = MTLM_I32},
    .infer = xent_bwd_infer,
    .flops = xent_bwd_flops,
    .cpu = xent_bwd_cpu,
};
