/* Maximum and sum of exponentials of each row of logits: xent_stats and
 * xent_rescale.  xent.c has formulas and shapes. */

#include "config.h"

#include <math.h>
#include <string.h>

#include "codelets/infer.h"
#include "codelets/value.h"
#include "codelets/xent_block.h"
#include "runtime/base/least.h"

static int xent_stats_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;

    if (mtlm_infer_expect_rank(call, XS_LOGITS, "logits", 3, err))
        return -1;
    shape[XS_LOCAL] = shape[XS_MAX] =
        mtlm_infer_shape_of_rows(shape[XS_LOGITS]);
    shape[XS_SUMS] = mtlm_xent_shape_of_sums(&shape[XS_LOGITS]);
    return mtlm_infer_expect_shape(call, XS_LABELS, "labels",
                                   mtlm_infer_shape_of_rows(shape[XS_LOGITS]),
                                   err);
}

static double xent_stats_flops(const struct mtlm_call *call)
{
    return 9.0 * mtlm_shape_elems(&call->shape[XS_LOGITS]);
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
enum { LANES = 16, AHEAD = 4 * MTLM_XENT_BLOCK };

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
        sum[i] += mtlm_xent_shifted_exp(logits[i], by);
}

/* Returns the sum of e^(logit - max) over a block.  Sets the maximum of a later
 * block, which so arrives from memory during the computation. */
static double sum_and_find_max(const struct mtlm_xent_block *block,
                               mtlm_real max, int64_t ahead,
                               struct mtlm_xent_block *later)
{
    const struct mtlm_xent_shift shift = mtlm_xent_shift_of(max);
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
static void stats_of_rows(const struct mtlm_xent_logits *logits, mtlm_real *max,
                          mtlm_real *sum)
{
    /* Widened blocks are in a cache. */
    const int64_t ahead = logits->type == MTLM_REAL ? AHEAD : 0;
    mtlm_real buffer[MTLM_XENT_BUFFER], m = MTLM_LOWEST;
    struct mtlm_xent_block block = mtlm_xent_block_first(logits, buffer), next;
    double total = 0;

    block.max = max_of(block.logits, block.n, MTLM_LOWEST);
    for (; block.row < logits->rows; block = next) {
        next = mtlm_xent_block_next(logits, block, buffer);
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
    const struct mtlm_xent_logits logits = {
        call->value, ptr[XS_LOGITS], rows, cols, mtlm_xent_columns(call, cols)};
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
