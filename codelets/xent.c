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
 * One rank alone leaves out xent_rescale.
 *
 * logits [s, b, Vl]; labels, local, max, weights w [s, b]; sums [2, s, b];
 * loss [MTLM_LOSS_COUNT], control [MTLM_CONTROL_COUNT], double; share: struct
 * mtlm_context; scale: control's MTLM_CONTROL_LOSS_SCALE.  Column c of
 * the shard is row vocabulary.first + c of the vocabulary; from
 * vocabulary.size on it is padding, which counts nowhere. */

#include "config.h"

#include <string.h>

#include "codelets/control_slots.h"
#include "codelets/infer.h"
#include "codelets/value.h"
#include "codelets/vector_math.h"
#include "codelets/xent.h"
#include "runtime/base/least.h"

/* Columns of a partial sum in mtlm_real; partial sums are added in double.  The
 * blocks that are read at a time stay in the first-level cache. */
enum { BLOCK = 2048, BLOCKS_READ = 2 };

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

/* Logits [rows, cols], of which columns 0 .. n - 1 count. */
struct logits {
    enum mtlm_dtype type;
    void *values;
    int64_t rows, cols, n;
};

/* Logits of a row from a column on, and their maximum; `number` blocks came
 * before. */
struct logit_block {
    int64_t row, column, n, number;
    mtlm_real *logits, max;
};

/* Reads a block at its row and column, which lie behind the last row where
 * there is none.  buffer [BLOCKS_READ * BLOCK] holds widened logits: the last
 * BLOCKS_READ blocks that were read are valid. */
static void read_block(const struct logits *logits, struct logit_block *block,
                       mtlm_real *buffer)
{
    block->n = block->row < logits->rows
                   ? mtlm_least(logits->n - block->column, BLOCK)
                   : 0;
    block->logits = mtlm_value_get(
        logits->type, logits->values, block->row * logits->cols + block->column,
        block->n, buffer + block->number % BLOCKS_READ * BLOCK);
}

static struct logit_block first_block(const struct logits *logits,
                                      mtlm_real *buffer)
{
    struct logit_block block = {0};

    read_block(logits, &block, buffer);
    return block;
}

static struct logit_block next_block(const struct logits *logits,
                                     struct logit_block block,
                                     mtlm_real *buffer)
{
    block.number++;
    block.column += BLOCK;
    if (block.column >= logits->n)
        block.row++, block.column = 0;
    read_block(logits, &block, buffer);
    return block;
}

static mtlm_real max_of(const mtlm_real *logits, int64_t n, mtlm_real max)
{
#pragma omp simd reduction(max : max)
    for (int64_t i = 0; i < n; i++)
        max = logits[i] > max ? logits[i] : max;
    return max;
}

/* e^(logit - max) = factor 2^(logit log2(e) - by), by = max log2(e) rounded.
 * A fused multiply-add rounds the exponent once; a difference and a product are
 * two operations.  factor undoes the rounding of by. */
struct shift {
    mtlm_real by;
    double factor;
};

/* Without logits the maximum is MTLM_LOWEST, and both numbers stay finite. */
static struct shift shift_of(mtlm_real max)
{
    const mtlm_real by = max * MTLM_LOG2_E;
    const double rounding = (double) by - (double) max * (double) MTLM_LOG2_E;

    if (max < MTLM_LOWEST / 2)
        return (struct shift){MTLM_LOWEST, 1};
    return (struct shift){by, 1 + MTLM_LN_2 * rounding};
}

static inline mtlm_real shifted_exp(mtlm_real logit, mtlm_real by)
{
    return mtlm_exp2(logit * MTLM_LOG2_E - by);
}

/* Sums and maxima side by side.  A cache line of logits, and the line so far
 * ahead that memory delivers it in time, are read together: more at a time
 * would wait, and the processor itself does not look so far ahead. */
enum { LANES = 16, AHEAD = 4 * BLOCK };

static mtlm_real add_lanes(mtlm_real *sum)
{
    for (int n = LANES / 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++)
            sum[i] += sum[i + n];
    return sum[0];
}

/* Adds e^(logit - max) of n logits, LANES at most, to the lanes, but for the
 * factor of the shift. */
static inline void sum_line(const mtlm_real *logits, int n, mtlm_real by,
                            mtlm_real *sum)
{
#pragma omp simd
    for (int i = 0; i < n; i++)
        sum[i] += shifted_exp(logits[i], by);
}

/* Returns the sum of e^(logit - max) over a block.  Sets the maximum of a later
 * block, which so arrives from memory during the computation. */
static double sum_and_find_max(const struct logit_block *block, mtlm_real max,
                               int64_t ahead, struct logit_block *later)
{
    const struct shift shift = shift_of(max);
    const int64_t both = mtlm_least(block->n, later->n) / LANES * LANES;
    const mtlm_real *logits = block->logits, *other = later->logits;
    mtlm_real sum[LANES] = {0}, m[LANES];
    int64_t c = 0;

    for (int i = 0; i < LANES; i++)
        m[i] = MTLM_LOWEST;
    for (; c < both; c += LANES) {
        __builtin_prefetch(logits + c + ahead, 0, 2);
        sum_line(logits + c, LANES, shift.by, sum);
#pragma omp simd
        for (int i = 0; i < LANES; i++)
            m[i] = other[c + i] > m[i] ? other[c + i] : m[i];
    }
    later->max = max_of(other + c, later->n - c, max_of(m, LANES, MTLM_LOWEST));
    for (; c + LANES <= block->n; c += LANES) {
        __builtin_prefetch(logits + c + ahead, 0, 2);
        sum_line(logits + c, LANES, shift.by, sum);
    }
    sum_line(logits + c, block->n - c, shift.by, sum);
    return shift.factor * add_lanes(sum);
}

/* Sets the maximum max [rows] and the sum of exponentials sum [rows] of each
 * row.  A greater maximum in a block rescales the row's earlier sum.  Memory is
 * read once, and without a pause between rows. */
static void stats_of_rows(const struct logits *logits, mtlm_real *max,
                          mtlm_real *sum)
{
    /* Widened blocks are in a cache. */
    const int64_t ahead = logits->type == MTLM_REAL ? AHEAD : 0;
    mtlm_real buffer[BLOCKS_READ * BLOCK], m = MTLM_LOWEST;
    struct logit_block block = first_block(logits, buffer), next;
    double total = 0;

    block.max = max_of(block.logits, block.n, MTLM_LOWEST);
    for (; block.row < logits->rows; block = next) {
        next = next_block(logits, block, buffer);
        if (block.column == 0) {
            m = block.max, total = 0;
        } else if (block.max > m) {
            total *= exp((double) m - (double) block.max);
            m = block.max;
        }
        total += sum_and_find_max(&block, m, ahead, &next);
        max[block.row] = m, sum[block.row] = total;
    }
}

static void xent_stats_cpu(void *const ptr[], const struct mtlm_call *call,
                           const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[XS_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[XS_LOGITS]);
    const struct logits logits = {call->value, ptr[XS_LOGITS], rows, cols,
                                  mtlm_xent_columns(call, cols)};
    const int32_t *labels = ptr[XS_LABELS];
    mtlm_real *max = ptr[XS_MAX], *sum = ptr[XS_SUMS], *target = sum + rows;
    mtlm_real widened;

    (void) context;
    stats_of_rows(&logits, max, sum);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t label = labels[r] - call->attr.vocabulary.first;
        const bool mine = label >= 0 && label < logits.n;

        target[r] = mine ? *mtlm_value_get(logits.type, logits.values,
                                           r * cols + label, 1, &widened)
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

int mtlm_xent_expect_loss(const struct mtlm_call *call, int loss,
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
                   || mtlm_xent_expect_loss(call, XL_LOSS, err)
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

/* Replaces a block of n logits by their gradients; those of padding, columns
 * from `valid` on, are 0.  label: its column in the block, which may lie
 * outside.  scale: of the row's loss. */
static void backward_block(mtlm_real *logits, int64_t n, int64_t valid,
                           int64_t label, mtlm_real max, mtlm_real sum,
                           mtlm_real scale)
{
    const struct shift shift = shift_of(max);
    const mtlm_real factor = shift.factor * scale / sum;

    if (scale == 0)
        valid = 0;
#pragma omp simd
    for (int64_t i = 0; i < valid; i++)
        logits[i] = factor * shifted_exp(logits[i], shift.by);
    if (label >= 0 && label < valid)
        logits[label] -= scale;
    memset(logits + valid, 0, (n - valid) * sizeof(*logits));
}

static void xent_bwd_cpu(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[XB_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[XB_LOGITS]);
    const int64_t n = mtlm_xent_columns(call, cols);
    const struct logits logits = {call->value, ptr[XB_LOGITS], rows, cols,
                                  cols};
    const int32_t *labels = ptr[XB_LABELS];
    const mtlm_real *max = ptr[XB_MAX], *sum = ptr[XB_SUMS];
    const mtlm_real *weight = ptr[XB_WEIGHTS];
    const double *control = ptr[XB_CONTROL];
    const double share = context->share * control[MTLM_CONTROL_LOSS_SCALE];
    mtlm_real buffer[BLOCKS_READ * BLOCK];

    for (struct logit_block b = first_block(&logits, buffer); b.row < rows;
         b = next_block(&logits, b, buffer)) {
        const int64_t valid = mtlm_least(n - b.column, b.n);
        const int64_t label = labels[b.row] - call->attr.vocabulary.first;

        backward_block(b.logits, b.n, valid < 0 ? 0 : valid, label - b.column,
                       max[b.row], sum[b.row], share * weight[b.row]);
        mtlm_value_put(logits.type, b.logits, b.row * cols + b.column, b.n,
                       logits.values);
    }
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
