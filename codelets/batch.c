/* The tokens (first = 0) or labels (first = 1) of a microbatch.
 *
 * tokens [s, b]: column j is sample context->sample + j. */

#include "config.h"

#include "codelets/infer.h"

enum { TOKENS };

/* The caller sets the shape: it follows from nothing else. */
static int batch_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return mtlm_expect_rank(call, TOKENS, "tokens", 2, err);
}

static void batch_cpu(void *const ptr[], const struct mtlm_call *call,
                      const struct mtlm_context *context)
{
    const struct mtlm_sample_source *source = call->attr.batch.source;
    const int64_t s = call->shape[TOKENS].dim[0];
    const int64_t b = call->shape[TOKENS].dim[1];
    int32_t *tokens = ptr[TOKENS];
    int32_t *column = mtlm_scratch_get(context->scratch, s * sizeof(*column));

    for (int64_t j = 0; j < b; j++) {
        source->read(source, context->sample + j, call->attr.batch.first, s,
                     column);
        for (int64_t i = 0; i < s; i++)
            tokens[i * b + j] = column[i];
    }
}

const struct mtlm_op mtlm_op_batch = {
    .name = "batch",
    .op_class = MTLM_CLASS_HOST,
    .n_operands = 1,
    .access = {[TOKENS] = MTLM_W},
    .dtype = {[TOKENS] = MTLM_I32},
    .infer = batch_infer,
    .cpu = batch_cpu,
};
