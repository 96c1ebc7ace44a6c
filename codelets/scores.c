/* The logits over which a fine-tuning task takes a softmax, from a column of
 * its head's output: of all positions of a sample, or of the n samples of a
 * question with n choices:
 *
 *   y[0, j / n, first + i n + j mod n] += x[i, j, column]
 *   dx[i, j, column] += dy[0, j / n, first + i n + j mod n]
 *
 * Row i is position first + i of its sample.  For padding, y += -10000 and dx
 * += 0: attention leaves out padded rows, so their logits mean nothing.
 *
 * x, dx [s, b, k]; lengths [1, b], tokens before the padding; y, dy [1, b / n,
 * c]; first + s n <= c. */

#include "config.h"

#include "codelets/infer.h"
#include "codelets/scores.h"

static int check_scores(const struct mtlm_call *call, int x, int lengths, int y,
                        const char *name, struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;
    const int64_t n = call->attr.scores.choices;
    char text[96];
    int64_t end;

    if (mtlm_infer_expect_rank(call, x, "x", 3, err)
        || mtlm_infer_expect_rank(call, y, name, 3, err))
        return -1;
    if (n < 1 || shape[x].dim[1] % n || call->attr.scores.column < 0
        || call->attr.scores.column >= shape[x].dim[2])
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "x is %s, needs column %lld and a multiple of %lld samples",
            mtlm_shape_str(&shape[x], text),
            (long long) call->attr.scores.column, (long long) n);
    if (mtlm_infer_expect_shape(call, lengths, "lengths",
                                MTLM_SHAPE(1, shape[x].dim[1]), err)
        < 0)
        return -1;
    end = call->attr.scores.first + shape[x].dim[0] * n;
    return mtlm_infer_expect_shape(
        call, y, name,
        MTLM_SHAPE(1, shape[x].dim[1] / n,
                   shape[y].dim[2] > end ? shape[y].dim[2] : end),
        err);
}

/* Adds x [s, b, k] to y [1, b / n, cols], or y to x. */
static void add_scores(const struct mtlm_call *call,
                       const struct mtlm_shape *x_shape, int64_t cols,
                       const int32_t *length, mtlm_real *x, mtlm_real *y,
                       bool forward)
{
    const int64_t s = x_shape->dim[0], b = x_shape->dim[1];
    const int64_t k = x_shape->dim[2], n = call->attr.scores.choices;
    const int64_t first = call->attr.scores.first;

    x += call->attr.scores.column;
    for (int64_t i = 0; i < s; i++)
        for (int64_t j = 0; j < b; j++, x += k) {
            mtlm_real *at = y + j / n * cols + first + i * n + j % n;
            const bool padding = first + i >= length[j];

            if (forward)
                *at += padding ? MTLM_SCORE_OF_PADDING : *x;
            else if (!padding)
                *x += *at;
        }
}

static int scores_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return check_scores(call, SC_X, SC_LENGTHS, SC_Y, "y", err);
}

static void scores_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                           const struct mtlm_context *context)
{
    (void) context;
    add_scores(call, &call->shape[SC_X], call->shape[SC_Y].dim[2],
               ptr[SC_LENGTHS], ptr[SC_X], ptr[SC_Y], true);
}

const struct mtlm_op mtlm_op_scores_fwd = {
    .name = "scores_fwd",
    .n_operands = 3,
    .access = {[SC_X] = MTLM_R, [SC_LENGTHS] = MTLM_R, [SC_Y] = MTLM_RW},
    .dtype =
        {[SC_X] = MTLM_VALUE, [SC_LENGTHS] = MTLM_I32, [SC_Y] = MTLM_VALUE},
    .infer = scores_fwd_infer,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_SCORES_BWD,
                       .arg = {{MTLM_GRAD_VALUE, SC_LENGTHS},
                               {MTLM_GRAD_OF, SC_Y},
                               {MTLM_GRAD_OF, SC_X}}}}},
    .cpu = scores_fwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(scores_fwd),
};

static int scores_bwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return check_scores(call, SCB_DX, SCB_LENGTHS, SCB_DY, "dy", err);
}

static void scores_bwd_cpu(void *const ptr[], const struct mtlm_call *call,
                           const struct mtlm_context *context)
{
    (void) context;
    add_scores(call, &call->shape[SCB_DX], call->shape[SCB_DY].dim[2],
               ptr[SCB_LENGTHS], ptr[SCB_DX], ptr[SCB_DY], false);
}

const struct mtlm_op mtlm_op_scores_bwd = {
    .name = "scores_bwd",
    .n_operands = 3,
    .access = {[SCB_LENGTHS] = MTLM_R, [SCB_DY] = MTLM_R, [SCB_DX] = MTLM_RW},
    .dtype = {[SCB_LENGTHS] = MTLM_I32,
              [SCB_DY] = MTLM_VALUE,
              [SCB_DX] = MTLM_VALUE},
    .infer = scores_bwd_infer,
    .cpu = scores_bwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(scores_bwd),
};
