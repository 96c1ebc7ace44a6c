/* A field of the samples of a microbatch, and what their labels weigh in the
 * loss.  Column j is sample context->sample + j, row i its position
 * attr.batch.first + context->position + i.
 *
 * batch:         y I32 [s, b], or [1, b] for a field of one value; with
 *                attr.batch.step n, of every n-th sample of the microbatch
 * loss_weights:  w [s, b] = mask / sum of the mask over the whole microbatch,
 *                which is b samples of attr.batch.seq_length rows; 0 where
 *                the sum is 0.  With attr.batch.whole, w = mask */

#include "config.h"

#include "codelets/infer.h"

enum { Y };

/* The caller sets the shape, which follows from no operand. */
static int batch_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return mtlm_infer_expect_rank(call, Y, "values", 2, err);
}

/* Reads n values of the field, from `first` on, of the microbatch's sample
 * number column. */
static void read_column(const struct mtlm_call *call,
                        const struct mtlm_context *context,
                        enum mtlm_field field, int64_t column, int64_t first,
                        int64_t n, int32_t *values)
{
    struct mtlm_samples *source = call->attr.batch.source;

    mtlm_samples_read(source, context->sample + column, field, first, n,
                      values);
}

static void batch_cpu(void *const ptr[], const struct mtlm_call *call,
                      const struct mtlm_context *context)
{
    const int64_t s = call->shape[Y].dim[0], b = call->shape[Y].dim[1];
    const int64_t step = call->attr.batch.step > 0 ? call->attr.batch.step : 1;
    int32_t *y = ptr[Y];
    int32_t *column = mtlm_scratch_get(context->scratch, s * sizeof(*column));

    for (int64_t j = 0; j < b; j++) {
        read_column(call, context, call->attr.batch.field, j * step,
                    call->attr.batch.first + context->position, s, column);
        for (int64_t i = 0; i < s; i++)
            y[i * b + j] = column[i];
    }
}

static void loss_weights_cpu(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const int64_t s = call->shape[Y].dim[0], b = call->shape[Y].dim[1];
    const int64_t first = call->attr.batch.first;
    const int64_t whole = call->attr.batch.seq_length;
    mtlm_real *w = ptr[Y];
    int32_t *mask = mtlm_scratch_get(context->scratch, whole * sizeof(*mask));
    int64_t count = 0;

    for (int64_t j = 0; j < b; j++) {
        read_column(call, context, MTLM_FIELD_LOSS_MASK, j, 0, whole, mask);
        for (int64_t i = 0; i < whole; i++)
            count += mask[i];
        for (int64_t i = 0; i < s; i++)
            w[i * b + j] = mask[first + i];
    }
    for (int64_t i = 0; i < s * b && count > 0 && !call->attr.batch.whole; i++)
        w[i] = (mtlm_real) (w[i] / (double) count);
}

const struct mtlm_op mtlm_op_batch = {
    .name = "batch",
    .op_class = MTLM_CLASS_HOST,
    .n_operands = 1,
    .access = {[Y] = MTLM_W},
    .dtype = {[Y] = MTLM_I32},
    .infer = batch_infer,
    .cpu = batch_cpu,
};

const struct mtlm_op mtlm_op_loss_weights = {
    .name = "loss_weights",
    .op_class = MTLM_CLASS_HOST,
    .n_operands = 1,
    .access = {[Y] = MTLM_W},
    .infer = batch_infer,
    .cpu = loss_weights_cpu,
};
