/* Word embedding, split by rows of the vocabulary: a row that lies in another
 * shard gives zeros, so that the sum over the shards is the embedding.
 *
 * tokens [s, b]; word, dword [Vl, h]; y, dy [s, b, h]. */

#include "config.h"

#include <string.h>

#include "codelets/embedding.h"
#include "codelets/infer.h"
#include "codelets/rows.h"

static int embedding_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;

    if (mtlm_infer_expect_rank(call, EMB_TOKENS, "tokens", 2, err)
        || mtlm_infer_expect_rank(call, EMB_WORD, "word", 2, err))
        return -1;
    shape[EMB_Y] = MTLM_SHAPE(shape[EMB_TOKENS].dim[0],
                              shape[EMB_TOKENS].dim[1], shape[EMB_WORD].dim[1]);
    return 0;
}

static void embedding_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[EMB_TOKENS]);
    const int64_t rows = call->shape[EMB_WORD].dim[0];
    const int64_t h = call->shape[EMB_WORD].dim[1];
    const int32_t *tokens = ptr[EMB_TOKENS];
    const size_t bytes = h * mtlm_dtype_bytes(call->value);
    const char *word = ptr[EMB_WORD];
    char *y = ptr[EMB_Y];

    (void) context;
    for (int64_t i = 0; i < n; i++, y += bytes) {
        const int64_t row = tokens[i] - call->attr.vocabulary.first;

        if (row >= 0 && row < rows)
            memcpy(y, word + row * bytes, bytes);
        else
            memset(y, 0, bytes);
    }
}

const struct mtlm_op mtlm_op_embedding_fwd = {
    .name = "embedding_fwd",
    .n_operands = 3,
    .access = {[EMB_TOKENS] = MTLM_R, [EMB_WORD] = MTLM_R, [EMB_Y] = MTLM_W},
    .dtype = {[EMB_WORD] = MTLM_VALUE,
              [EMB_Y] = MTLM_VALUE,
              [EMB_TOKENS] = MTLM_I32},
    .infer = embedding_fwd_infer,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_W,
                       .kind = MTLM_OP_EMBEDDING_WGRAD,
                       .arg = {{MTLM_GRAD_VALUE, EMB_TOKENS},
                               {MTLM_GRAD_OF, EMB_Y},
                               {MTLM_GRAD_OF, EMB_WORD}}}}},
    .cpu = embedding_fwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(embedding_fwd),
    .cpu_typed = true,
};

static int embedding_wgrad_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;

    if (mtlm_infer_expect_rank(call, EMBW_TOKENS, "tokens", 2, err)
        || mtlm_infer_expect_rank(call, EMBW_DWORD, "dword", 2, err))
        return -1;
    return mtlm_infer_expect_shape(call, EMBW_DY, "dy",
                                   MTLM_SHAPE(shape[EMBW_TOKENS].dim[0],
                                              shape[EMBW_TOKENS].dim[1],
                                              shape[EMBW_DWORD].dim[1]),
                                   err);
}

static double embedding_wgrad_flops(const struct mtlm_call *call)
{
    return mtlm_shape_elems(&call->shape[EMBW_DY]);
}

/* Adds each of the n rows of dy to the row of dword that its token selects. */
static void scatter_rows(const int32_t *tokens, const mtlm_real *dy, int64_t n,
                         int64_t first, int64_t rows, int64_t h,
                         mtlm_real *dword)
{
    for (int64_t i = 0; i < n; i++, dy += h) {
        const int64_t row = tokens[i] - first;

        if (row >= 0 && row < rows) {
            mtlm_real *to = dword + row * h;

#pragma omp simd
            for (int64_t c = 0; c < h; c++)
                to[c] += dy[c];
        }
    }
}

/* Tables of at most FEW_ROWS rows (token types) get many addends per row, which
 * are first added up in blocks. */
enum { FEW_ROWS = 4 };

static void embedding_wgrad_cpu(void *const ptr[], const struct mtlm_call *call,
                                const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[EMBW_TOKENS]);
    const int64_t rows = call->shape[EMBW_DWORD].dim[0];
    const int64_t h = call->shape[EMBW_DWORD].dim[1];
    const int64_t first = call->attr.vocabulary.first;
    const int32_t *tokens = ptr[EMBW_TOKENS];
    const mtlm_real *dy = ptr[EMBW_DY];
    mtlm_real *dword = ptr[EMBW_DWORD], *part;

    if (rows > FEW_ROWS) {
        scatter_rows(tokens, dy, n, first, rows, h, dword);
        return;
    }
    part = mtlm_scratch_get(context->scratch, rows * h * sizeof(*part));
    for (int64_t i = 0; i < n; i += MTLM_ROW_BLOCK) {
        memset(part, 0, rows * h * sizeof(*part));
        scatter_rows(tokens + i, dy + i * h,
                     n - i < MTLM_ROW_BLOCK ? n - i : MTLM_ROW_BLOCK, first,
                     rows, h, part);
#pragma omp simd
        for (int64_t c = 0; c < rows * h; c++)
            dword[c] += part[c];
    }
}

const struct mtlm_op mtlm_op_embedding_wgrad = {
    .name = "embedding_wgrad",
    .n_operands = 3,
    .access =
        {[EMBW_TOKENS] = MTLM_R, [EMBW_DY] = MTLM_R, [EMBW_DWORD] = MTLM_RW},
    .dtype = {[EMBW_DY] = MTLM_VALUE, [EMBW_TOKENS] = MTLM_I32},
    .infer = embedding_wgrad_infer,
    .flops = embedding_wgrad_flops,
    .cpu = embedding_wgrad_cpu,
    .cuda = MTLM_CUDA_KERNEL(embedding_wgrad),
};
