/* Cross-entropy over a vocabulary that is split among the ranks of a
 * tensor-parallel group (Megatron-LM, arXiv 1909.08053, section 3), of which
 * each reads its logits once forward:
 *
 *   xent_stats    local = max = maximum over this rank's columns
 *                 sums = sum e^(logit - local), logit[label] or 0
 *                 (max all-reduced by maximum)
 *   xent_rescale  sums[0] *= e^(local - max)
 *                 (sums all-reduced by sum)
 *   xent_loss     loss[slot] += share sum_rows w (log(sums[0]) + max - sums[1])
 *   xent_bwd      dlogit = share scale w (e^(logit - max) / sums[0]
 *                                         - [column = label])
 *
 * One rank alone leaves out xent_rescale.  accuracy, of a vocabulary that is
 * not split: loss[slot] += share sum_rows w [greatest logit = label].
 *
 * logits [s, b, Vl]; labels, local, max, weights w [s, b]; sums [2, s, b];
 * loss [MTLM_LOSS_COUNT], control [MTLM_CONTROL_COUNT], double; share: struct
 * mtlm_context; scale: control's MTLM_CONTROL_LOSS_SCALE.  Column c of
 * the shard is row vocabulary.first + c of the vocabulary; from
 * vocabulary.size on it is padding, which counts nowhere. */

#include "config.h"

#include <string.h>

#include "codelets/infer.h"
#include "codelets/value.h"
#include "codelets/vector_math.h"
#include "codelets/xent.h"

/* Columns of a partial sum in mtlm_real; partial sums are added in double.  Two
 * blocks stay in the first-level cache. */
enum { BLOCK = 2048 };

static struct mtlm_shape shape_of_sums(const struct mtlm_shape *logits)
{
    return MTLM_SHAPE(2, logits->dim[0], logits->dim[1]);
}

static int xent_stats_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;

    if (mtlm_infer_expect_rank(call, XS_LOGITS, "logits", 3, err))
        return -1;
    shape[XS_LOCAL] = shape[XS_MAX] =
        mtlm_infer_shape_of_rows(shape[XS_LOGITS]);
    shape[XS_SUMS] = shape_of_sums(&shape[XS_LOGITS]);
    return mtlm_infer_expect_shape(call, XS_LABELS, "labels",
                                   mtlm_infer_shape_of_rows(shape[XS_LOGITS]),
                                   err);
}

static double xent_stats_flops(const struct mtlm_call *call)
{
    return 9.0 * mtlm_shape_elems(&call->shape[XS_LOGITS]);
}

/* A row of logits [n], of which blocks are read; buffer [2 * BLOCK]: holds
 * widened ones. */
struct logit_row {
    enum mtlm_dtype type;
    void *logits;
    int64_t first, n;
    mtlm_real *buffer;
};

static int64_t count_columns(const struct logit_row *row, int64_t first)
{
    return row->n - first < BLOCK ? row->n - first : BLOCK;
}

/* Returns the block from column `first` on.  A block stays valid until the one
 * after the next is read. */
static mtlm_real *get_block(const struct logit_row *row, int64_t first)
{
    return mtlm_value_get(row->type, row->logits, row->first + first,
                          count_columns(row, first),
                          row->buffer + first / BLOCK % 2 * BLOCK);
}

static mtlm_real max_of(const mtlm_real *logits, int64_t n, mtlm_real max)
{
#pragma omp simd reduction(max : max)
    for (int64_t i = 0; i < n; i++)
        max = logits[i] > max ? logits[i] : max;
    return max;
}

/* Sums and maxima side by side.  A cache line of logits, and the line so far
 * ahead that memory delivers it in time, are read together: more at a time
 * would wait, and the processor itself does not look so far ahead. */
enum { LANES = 16, AHEAD = 6144 };

static mtlm_real add_lanes(mtlm_real *sum)
{
    for (int n = LANES / 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++)
            sum[i] += sum[i + n];
    return sum[0];
}

/* Adds e^(logit - max) of n logits, LANES at most, to the lanes. */
static inline void sum_line(const mtlm_real *logits, int n, mtlm_real max,
                            mtlm_real *sum)
{
#pragma omp simd
    for (int i = 0; i < n; i++)
        sum[i] += mtlm_exp2((logits[i] - max) * MTLM_LOG2_E);
}

static mtlm_real sum_of_exp(const mtlm_real *logits, int64_t n, mtlm_real max,
                            int64_t ahead)
{
    mtlm_real sum[LANES] = {0};

    for (; n >= LANES; n -= LANES, logits += LANES) {
        __builtin_prefetch(logits + ahead, 0, 2);
        sum_line(logits, LANES, max, sum);
    }
    sum_line(logits, n, max, sum);
    return add_lanes(sum);
}

/* Returns sum_of_exp() of a whole block.  Sets *both to the maximum with the
 * whole block behind, which so arrives from memory during the computation. */
static mtlm_real sum_and_next_max(const mtlm_real *logits,
                                  const mtlm_real *next, mtlm_real max,
                                  int64_t ahead, mtlm_real *both)
{
    mtlm_real sum[LANES] = {0}, m[LANES];

    for (int i = 0; i < LANES; i++)
        m[i] = max;
    for (int64_t c = 0; c < BLOCK; c += LANES) {
        __builtin_prefetch(next + c + ahead, 0, 2);
        sum_line(logits + c, LANES, max, sum);
#pragma omp simd
        for (int i = 0; i < LANES; i++)
            m[i] = next[c + i] > m[i] ? next[c + i] : m[i];
    }
    *both = max_of(m, LANES, max);
    return add_lanes(sum);
}

/* Sets the maximum and the sum of exponentials of a row, read from memory once.
 * A greater maximum in a block rescales the earlier sum. */
static void row_stats(const struct logit_row *row, mtlm_real *max,
                      mtlm_real *sum)
{
    /* Widened blocks are in a cache. */
    const int64_t ahead = row->type == MTLM_REAL ? AHEAD : 0;
    const mtlm_real *block = get_block(row, 0), *next = NULL;
    mtlm_real m = max_of(block, count_columns(row, 0), MTLM_LOWEST);
    double total = 0;

    for (int64_t c = 0; c < row->n; c += BLOCK, block = next) {
        const int64_t behind =
            c + BLOCK < row->n ? count_columns(row, c + BLOCK) : 0;
        mtlm_real both = m;

        if (behind > 0)
            next = get_block(row, c + BLOCK);
        if (behind == BLOCK) {
            total += sum_and_next_max(block, next, m, ahead, &both);
        } else {
            total += sum_of_exp(block, count_columns(row, c), m, ahead);
            both = max_of(next, behind, m);
        }
        if (both > m)
            total *= exp((double) m - (double) both);
        m = both;
    }
    *max = m;
    *sum = total;
}

static void xent_stats_cpu(void *const ptr[], const struct mtlm_call *call,
                           const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[XS_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[XS_LOGITS]);
    const int32_t *labels = ptr[XS_LABELS];
    mtlm_real *max = ptr[XS_MAX], *sum = ptr[XS_SUMS], *target = sum + rows;
    mtlm_real buffer[2 * BLOCK];
    struct logit_row row = {call->value, ptr[XS_LOGITS], 0,
                            mtlm_xent_columns(call, cols), buffer};

    (void) context;
    for (int64_t r = 0; r < rows; r++, row.first += cols) {
        const int64_t label = labels[r] - call->attr.vocabulary.first;
        const bool mine = label >= 0 && label < row.n;

        row_stats(&row, &max[r], &sum[r]);
        target[r] = mine ? *mtlm_value_get(row.type, row.logits,
                                           row.first + label, 1, buffer)
                         : 0;
    }
    memcpy(ptr[XS_LOCAL], max, rows * sizeof(*max));
}

const struct mtlm_op mtlm_op_xent_stats = {
    .name = "xent_stats",
    .n_operands = 5,
    .access = {[XS_LOGITS] = MTLM_R,
               [XS_LABELS] = MTLM_R,
               [XS_LOCAL] = MTLM_W,
               [XS_MAX] = MTLM_W,
               [XS_SUMS] = MTLM_W},
    .dtype = {[XS_LOGITS] = MTLM_VALUE, [XS_LABELS] = MTLM_I32},
    .infer = xent_stats_infer,
    .flops = xent_stats_flops,
    .cpu = xent_stats_cpu,
    .cuda = MTLM_CUDA_KERNEL(xent_stats),
    .cpu_typed = true,
};

static int xent_rescale_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape *rows = &call->shape[XR_LOCAL];

    return mtlm_infer_expect_rank(call, XR_LOCAL, "local", 2, err)
                   || mtlm_infer_expect_shape(call, XR_MAX, "max", *rows, err)
                   || mtlm_infer_expect_shape(
                       call, XR_SUMS, "sums",
                       MTLM_SHAPE(2, rows->dim[0], rows->dim[1]), err)
               ? -1
               : 0;
}

static void xent_rescale_cpu(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_elems(&call->shape[XR_LOCAL]);
    const mtlm_real *local = ptr[XR_LOCAL], *max = ptr[XR_MAX];
    mtlm_real *sum = ptr[XR_SUMS];

    (void) context;
    for (int64_t r = 0; r < rows; r++)
        sum[r] *= exp((double) local[r] - (double) max[r]);
}

const struct mtlm_op mtlm_op_xent_rescale = {
    .name = "xent_rescale",
    .n_operands = 3,
    .access = {[XR_LOCAL] = MTLM_R, [XR_MAX] = MTLM_R, [XR_SUMS] = MTLM_RW},
    .infer = xent_rescale_infer,
    .cpu = xent_rescale_cpu,
    .cuda = MTLM_CUDA_KERNEL(xent_rescale),
};

static int check_loss(const struct mtlm_call *call, int loss,
                      struct mtlm_error *err)
{
    const int slot = call->attr.vocabulary.slot;

    if (slot < 0 || slot >= MTLM_LOSS_COUNT)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "loss slot %d does not exist", slot);
    return mtlm_infer_expect_shape(call, loss, "loss",
                                   MTLM_SHAPE(MTLM_LOSS_COUNT), err);
}

static int xent_loss_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;
    const struct mtlm_shape rows = mtlm_infer_shape_of_rows(shape[XL_LOGITS]);

    return mtlm_infer_expect_rank(call, XL_LOGITS, "logits", 3, err)
                   || mtlm_infer_expect_shape(call, XL_LABELS, "labels", rows,
                                              err)
                   || mtlm_infer_expect_shape(call, XL_MAX, "max", rows, err)
                   || mtlm_infer_expect_shape(call, XL_SUMS, "sums",
                                              shape_of_sums(&shape[XL_LOGITS]),
                                              err)
                   || mtlm_infer_expect_shape(call, XL_WEIGHTS, "weights", rows,
                                              err)
                   || mtlm_infer_expect_shape(call, XL_CONTROL, "control",
                                              MTLM_SHAPE(MTLM_CONTROL_COUNT),
                                              err)
                   || check_loss(call, XL_LOSS, err)
               ? -1
               : 0;
}

/* A row of weight 0 has no valid label; it must not make the loss a NaN.
 */
static void xent_loss_cpu(void *const ptr[], const struct mtlm_call *call,
                          const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[XL_LOGITS]);
    const mtlm_real *max = ptr[XL_MAX], *weight = ptr[XL_WEIGHTS];
    const mtlm_real *sum = ptr[XL_SUMS], *target = sum + rows;
    double *loss = ptr[XL_LOSS], total = 0;

    for (int64_t r = 0; r < rows; r++)
        if (weight[r] != 0)
            total += (double) weight[r]
                     * (log((double) sum[r])
                        + ((double) max[r] - (double) target[r]));
    loss[call->attr.vocabulary.slot] += context->share * total;
}

const struct mtlm_op mtlm_op_xent_loss = {
    .name = "xent_loss",
    .n_operands = 7,
    .access = {[XL_LOGITS] = MTLM_R,
               [XL_LABELS] = MTLM_R,
               [XL_MAX] = MTLM_R,
               [XL_SUMS] = MTLM_R,
               [XL_WEIGHTS] = MTLM_R,
               [XL_CONTROL] = MTLM_R,
               [XL_LOSS] = MTLM_RW},
    .dtype = {[XL_LOGITS] = MTLM_VALUE,
              [XL_LABELS] = MTLM_I32,
              [XL_CONTROL] = MTLM_F64,
              [XL_LOSS] = MTLM_F64},
    .infer = xent_loss_infer,
    .grad = {.root = true,
             .call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_XENT_BWD,
                       .arg = {{MTLM_GRAD_VALUE, XL_LABELS},
                               {MTLM_GRAD_VALUE, XL_MAX},
                               {MTLM_GRAD_VALUE, XL_SUMS},
                               {MTLM_GRAD_VALUE, XL_WEIGHTS},
                               {MTLM_GRAD_VALUE, XL_CONTROL},
                               {MTLM_GRAD_OVER, XL_LOGITS}}}}},
    .cpu = xent_loss_cpu,
    .cuda = MTLM_CUDA_KERNEL(xent_loss),
    .cpu_typed = true,
};

static int xent_bwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;
    const struct mtlm_shape rows = mtlm_infer_shape_of_rows(shape[XB_LOGITS]);

    return mtlm_infer_expect_rank(call, XB_LOGITS, "logits", 3, err)
                   || mtlm_infer_expect_shape(call, XB_LABELS, "labels", rows,
                                              err)
                   || mtlm_infer_expect_shape(call, XB_MAX, "max", rows, err)
                   || mtlm_infer_expect_shape(call, XB_SUMS, "sums",
                                              shape_of_sums(&shape[XB_LOGITS]),
                                              err)
                   || mtlm_infer_expect_shape(call, XB_WEIGHTS, "weights", rows,
                                              err)
                   || mtlm_infer_expect_shape(call, XB_CONTROL, "control",
                                              MTLM_SHAPE(MTLM_CONTROL_COUNT),
                                              err)
               ? -1
               : 0;
}

static double xent_bwd_flops(const struct mtlm_call *call)
{
    return 9.0 * mtlm_shape_elems(&call->shape[XB_LOGITS]);
}

/* Replaces a block of n logits by their gradients.  label: its column in the
 * block, which may lie outside.  scale: of the row's loss. */
static void backward_block(mtlm_real *logits, int64_t n, int64_t label,
                           mtlm_real max, mtlm_real sum, mtlm_real scale)
{
    const mtlm_real factor = scale / sum;

    if (scale == 0) {
        memset(logits, 0, n * sizeof(*logits));
        return;
    }
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        logits[i] = factor * mtlm_exp2((logits[i] - max) * MTLM_LOG2_E);
    if (label >= 0 && label < n)
        logits[label] -= scale;
}

/* Replaces a row by its gradients; those of padding, columns from n on, are
 * 0. */
static void backward_row(const struct logit_row *row, int64_t n, int64_t label,
                         mtlm_real max, mtlm_real sum, mtlm_real scale)
{
    for (int64_t c = 0; c < row->n; c += BLOCK) {
        const int64_t columns = count_columns(row, c);
        const int64_t valid = n - c < 0 ? 0 : n - c < columns ? n - c : columns;
        mtlm_real *block = get_block(row, c);

        backward_block(block, valid, label - c, max, sum, scale);
        memset(block + valid, 0, (columns - valid) * sizeof(*block));
        mtlm_value_put(row->type, block, row->first + c, columns, row->logits);
    }
}

static void xent_bwd_cpu(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[XB_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[XB_LOGITS]);
    const int64_t n = mtlm_xent_columns(call, cols);
    const int32_t *labels = ptr[XB_LABELS];
    const mtlm_real *max = ptr[XB_MAX], *sum = ptr[XB_SUMS];
    const mtlm_real *weight = ptr[XB_WEIGHTS];
    const double *control = ptr[XB_CONTROL];
    const double share = context->share * control[MTLM_CONTROL_LOSS_SCALE];
    mtlm_real buffer[2 * BLOCK];
    struct logit_row row = {call->value, ptr[XB_LOGITS], 0, cols, buffer};

    for (int64_t r = 0; r < rows; r++, row.first += cols)
        backward_row(&row, n, labels[r] - call->attr.vocabulary.first, max[r],
                     sum[r], share * weight[r]);
}

const struct mtlm_op mtlm_op_xent_bwd = {
    .name = "xent_bwd",
    .n_operands = 6,
    .access = {[XB_LABELS] = MTLM_R,
               [XB_MAX] = MTLM_R,
               [XB_SUMS] = MTLM_R,
               [XB_WEIGHTS] = MTLM_R,
               [XB_CONTROL] = MTLM_R,
               [XB_LOGITS] = MTLM_RW},
    .dtype = {[XB_LOGITS] = MTLM_VALUE,
              [XB_LABELS] = MTLM_I32,
              [XB_CONTROL] = MTLM_F64},
    .infer = xent_bwd_infer,
    .flops = xent_bwd_flops,
    .cpu = xent_bwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(xent_bwd),
    .cpu_typed = true,
};

static int accuracy_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape rows =
        mtlm_infer_shape_of_rows(call->shape[XA_LOGITS]);

    return mtlm_infer_expect_rank(call, XA_LOGITS, "logits", 3, err)
                   || mtlm_infer_expect_shape(call, XA_LABELS, "labels", rows,
                                              err)
                   || mtlm_infer_expect_shape(call, XA_WEIGHTS, "weights", rows,
                                              err)
                   || check_loss(call, XA_LOSS, err)
               ? -1
               : 0;
}

/* Returns the index of the greatest logit; of equal logits, the first. */
static int64_t find_greatest(const mtlm_real *logits, int64_t n)
{
    int64_t best = 0;

    for (int64_t i = 1; i < n; i++)
        if (logits[i] > logits[best])
            best = i;
    return best;
}

/* Returns memory for n logits of 16 bit as mtlm_real. */
static mtlm_real *scratch_for(const struct mtlm_call *call, int64_t n,
                              const struct mtlm_context *context)
{
    return call->value == MTLM_REAL
               ? NULL
               : mtlm_scratch_get(context->scratch, n * sizeof(mtlm_real));
}

static void accuracy_cpu(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[XA_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[XA_LOGITS]);
    const int64_t n = mtlm_xent_columns(call, cols);
    const mtlm_real *weight = ptr[XA_WEIGHTS];
    mtlm_real *wide = scratch_for(call, n, context);
    const int32_t *labels = ptr[XA_LABELS];
    double *loss = ptr[XA_LOSS], total = 0;

    for (int64_t r = 0; r < rows; r++)
        if (find_greatest(
                mtlm_value_get(call->value, ptr[XA_LOGITS], r * cols, n, wide),
                n)
            == labels[r])
            total += (double) weight[r];
    loss[call->attr.vocabulary.slot] += context->share * total;
}

const struct mtlm_op mtlm_op_accuracy = {
    .name = "accuracy",
    .n_operands = 4,
    .access = {[XA_LOGITS] = MTLM_R,
               [XA_LABELS] = MTLM_R,
               [XA_WEIGHTS] = MTLM_R,
               [XA_LOSS] = MTLM_RW},
    .dtype = {[XA_LOGITS] = MTLM_VALUE,
              [XA_LABELS] = MTLM_I32,
              [XA_LOSS] = MTLM_F64},
    .infer = accuracy_infer,
    .cpu = accuracy_cpu,
    .cuda = MTLM_CUDA_KERNEL(accuracy),
    .cpu_typed = true,
};
