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
#include "codelets/rows.h"

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

static void position_dropout_fwd_cpu(void *const ptr[],
                                     const struct mtlm_call *call,
                                     const struct mtlm_context *context)
{
    const int64_t *dim = call->shape[PD_X].dim, h = dim[2];
    const struct mtlm_dropout *dropout = &call->attr.dropout;
    const int64_t first = dropout->first_row + context->position;
    const int64_t last = call->shape[PD_POS].dim[0] - 1;
    const mtlm_real *x = ptr[PD_X];
    mtlm_real *y = ptr[PD_Y];
    mtlm_real *factor = mtlm_rows_scratch(context->scratch, h);

    for (int64_t i = 0; i < dim[0]; i++) {
        const int64_t row = first + i < last ? first + i : last;
        const mtlm_real *pos = (const mtlm_real *) ptr[PD_POS] + row * h;

        for (int64_t j = 0; j < dim[1]; j++, x += h, y += h) {
            if (dropout->p > 0) {
                mtlm_fetch(x, h);
                mtlm_dropout_factors(dropout, context->sample + j,
                                     (first + i) * h, h, factor);
#pragma omp simd
                for (int64_t c = 0; c < h; c++)
                    y[c] = (x[c] + pos[c]) * factor[c];
            } else {
#pragma omp simd
                for (int64_t c = 0; c < h; c++)
                    y[c] = x[c] + pos[c];
            }
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

static void position_dropout_bwd_cpu(void *const ptr[],
                                     const struct mtlm_call *call,
                                     const struct mtlm_context *context)
{
    const int64_t *dim = call->shape[PDB_DY].dim, h = dim[2];
    const struct mtlm_dropout *dropout = &call->attr.dropout;
    const mtlm_real *dy = ptr[PDB_DY];
    const int64_t first = dropout->first_row;
    mtlm_real *dx = ptr[PDB_DX];
    mtlm_real *dpos = (mtlm_real *) ptr[PDB_DPOS] + first * h;
    mtlm_real *factor = mtlm_rows_scratch(context->scratch, h);

    for (int64_t c = 0; c < h; c++)
        factor[c] = 1;
    for (int64_t i = 0; i < dim[0]; i++, dpos += h)
        for (int64_t j = 0; j < dim[1]; j++, dy += h, dx += h) {
            if (dropout->p > 0) {
                mtlm_fetch(dy, h);
                mtlm_dropout_factors(dropout, context->sample + j,
                                     (first + i) * h, h, factor);
            }
#pragma omp simd
            for (int64_t c = 0; c < h; c++) {
                dx[c] = dy[c] * factor[c];
                dpos[c] += dx[c];
            }
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
