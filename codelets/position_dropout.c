/* y = dropout(x + position), the learned position embedding.
 *
 * x, y, dx, dy [s, b, h], of which row 0 is position dropout.first_row of the
 * samples; position, dposition [S, h]: the rows of these positions, the others
 * are not touched.  Decoding adds context->position, and rows beyond the last
 * position take the last one. */

#include "config.h"

#include "codelets/dropout.h"
#include "codelets/fetch.h"
#include "codelets/infer.h"
#include "codelets/position_dropout.h"
#include "runtime/base/least.h"

static int check_position(const struct mtlm_call *call, int x, int pos,
                          struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;
    int64_t end;

    if (mtlm_infer_expect_rank(call, x, "x", 3, err)
        || mtlm_infer_expect_rank(call, pos, "position", 2, err))
        return -1;
    end = call->attr.dropout.first_row + shape[x].dim[0];
    if (shape[pos].dim[0] > end)
        end = shape[pos].dim[0];
    return mtlm_infer_expect_shape(call, pos, "position",
                                   MTLM_SHAPE(end, shape[x].dim[2]), err);
}

static int position_dropout_fwd_infer(struct mtlm_call *call,
                                      struct mtlm_error *err)
{
    call->shape[PD_Y] = call->shape[PD_X];
    return check_position(call, PD_X, PD_POS, err);
}

static double position_dropout_fwd_flops(const struct mtlm_call *call)
{
    return 2.0 * mtlm_shape_elems(&call->shape[PD_X]);
}

static void forward_part(const mtlm_real *x, const mtlm_real *position,
                         const mtlm_real *factor, mtlm_real *y, int64_t n)
{
#pragma omp simd simdlen(MTLM_HALF_LINE)
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] + position[i]) * factor[i];
}

/* Parts of rows are fetched while the factors of the parts before them are
 * drawn. */
static void position_dropout_fwd_cpu(void *const ptr[],
                                     const struct mtlm_call *call,
                                     const struct mtlm_context *context)
{
    const int64_t *dim = call->shape[PD_X].dim, h = dim[2];
    const struct mtlm_dropout *dropout = &call->attr.dropout;
    const int64_t first = dropout->first_row + context->position;
    const int64_t last = call->shape[PD_POS].dim[0] - 1;
    const mtlm_real *x = ptr[PD_X];
    mtlm_real *y = ptr[PD_Y], factor[MTLM_DROPOUT_PART];

    for (int64_t i = 0; i < dim[0]; i++) {
        const int64_t row = first + i < last ? first + i : last;
        const mtlm_real *pos = (const mtlm_real *) ptr[PD_POS] + row * h;

        for (int64_t j = 0; j < dim[1]; j++)
            for (int64_t c = 0, n; c < h; c += n, x += n, y += n) {
                n = mtlm_least(h - c, MTLM_DROPOUT_PART);
                mtlm_fetch(x + n, n);
                mtlm_fetch(pos + c + n, n);
                mtlm_fetch_to_write(y + n, n);
                mtlm_dropout_factors(dropout, context->sample + j,
                                     (first + i) * h + c, n, factor);
                forward_part(x, pos + c, factor, y, n);
            }
    }
}

const struct mtlm_op mtlm_op_position_dropout_fwd = {
    .name = "position_dropout_fwd",
    .n_operands = 3,
    .access = {[PD_X] = MTLM_R, [PD_POS] = MTLM_R, [PD_Y] = MTLM_W},
    .dtype = {[PD_X] = MTLM_VALUE, [PD_POS] = MTLM_VALUE, [PD_Y] = MTLM_VALUE},
    .infer = position_dropout_fwd_infer,
    .flops = position_dropout_fwd_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_POSITION_DROPOUT_BWD,
                       .arg = {{MTLM_GRAD_OF, PD_Y},
                               {MTLM_GRAD_OF, PD_X},
                               {MTLM_GRAD_OF, PD_POS}}}}},
    .cpu = position_dropout_fwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(position_dropout_fwd),
};

static int position_dropout_bwd_infer(struct mtlm_call *call,
                                      struct mtlm_error *err)
{
    call->shape[PDB_DX] = call->shape[PDB_DY];
    return check_position(call, PDB_DY, PDB_DPOS, err);
}

static double position_dropout_bwd_flops(const struct mtlm_call *call)
{
    return 2.0 * mtlm_shape_elems(&call->shape[PDB_DY]);
}

static void backward_part(const mtlm_real *dy, const mtlm_real *factor,
                          mtlm_real *dx, mtlm_real *dposition, int64_t n)
{
#pragma omp simd simdlen(MTLM_HALF_LINE)
    for (int64_t i = 0; i < n; i++) {
        dx[i] = dy[i] * factor[i];
        dposition[i] += dx[i];
    }
}

static void position_dropout_bwd_cpu(void *const ptr[],
                                     const struct mtlm_call *call,
                                     const struct mtlm_context *context)
{
    const int64_t *dim = call->shape[PDB_DY].dim, h = dim[2];
    const struct mtlm_dropout *dropout = &call->attr.dropout;
    const mtlm_real *dy = ptr[PDB_DY];
    const int64_t first = dropout->first_row;
    mtlm_real *dx = ptr[PDB_DX], factor[MTLM_DROPOUT_PART];
    mtlm_real *dpos = (mtlm_real *) ptr[PDB_DPOS] + first * h;

    for (int64_t i = 0; i < dim[0]; i++, dpos += h)
        for (int64_t j = 0; j < dim[1]; j++)
            for (int64_t c = 0, n; c < h; c += n, dy += n, dx += n) {
                n = mtlm_least(h - c, MTLM_DROPOUT_PART);
                mtlm_fetch(dy + n, n);
                mtlm_fetch_to_write(dx + n, n);
                mtlm_fetch_to_write(dpos + c + n, n);
                mtlm_dropout_factors(dropout, context->sample + j,
                                     (first + i) * h + c, n, factor);
                backward_part(dy, factor, dx, dpos + c, n);
            }
}

const struct mtlm_op mtlm_op_position_dropout_bwd = {
    .name = "position_dropout_bwd",
    .n_operands = 3,
    .access = {[PDB_DY] = MTLM_R, [PDB_DX] = MTLM_W, [PDB_DPOS] = MTLM_RW},
    .dtype = {[PDB_DY] = MTLM_VALUE, [PDB_DX] = MTLM_VALUE},
    .infer = position_dropout_bwd_infer,
    .flops = position_dropout_bwd_flops,
    .cpu = position_dropout_bwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(position_dropout_bwd),
};
