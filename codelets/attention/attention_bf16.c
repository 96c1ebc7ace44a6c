/* The kernels of attention on bf16, and what forward and backward share. */

#include "config.h"

#include <string.h>

#include "codelets/attention/attention_bf16.h"
#include "codelets/attention/attention_heads.h"
#include "runtime/base/value16.h"

struct mtlm_head mtlm_attention_bf16_unscaled(const struct mtlm_head *head)
{
    struct mtlm_head unscaled = *head;

    unscaled.scale = 1;
    unscaled.slope /= head->scale;
    unscaled.coefficient *= head->scale;
    return unscaled;
}

void mtlm_attention_bf16_round_row(const struct mtlm_block *b, const float *row,
                                   int64_t n, uint16_t *to)
{
    mtlm_value16_round(MTLM_BF16, row, n, to);
    memset(to + n, 0, (b->nk - n) * sizeof(*to));
}

static const struct mtlm_attention_way in_bf16 = {
    .bytes = sizeof(uint16_t),
    .fwd_scratch = mtlm_attention_fwd_bf16_scratch,
    .bwd_scratch = mtlm_attention_bwd_bf16_scratch,
    .fwd = mtlm_attention_fwd_bf16_head,
    .bwd = mtlm_attention_bwd_bf16_head,
};

void mtlm_attention_fwd_bf16(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    mtlm_attention_heads_fwd(&in_bf16, ptr, call, context);
}

void mtlm_attention_more_fwd_bf16(void *const ptr[],
                                  const struct mtlm_call *call,
                                  const struct mtlm_context *context)
{
    mtlm_attention_heads_more_fwd(&in_bf16, ptr, call, context);
}

void mtlm_attention_bwd_bf16(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    mtlm_attention_heads_bwd(&in_bf16, ptr, call, context);
}

void mtlm_attention_bwd_add_bf16(void *const ptr[],
                                 const struct mtlm_call *call,
                                 const struct mtlm_context *context)
{
    mtlm_attention_heads_bwd_add(&in_bf16, ptr, call, context);
}

void mtlm_attention_more_bwd_bf16(void *const ptr[],
                                  const struct mtlm_call *call,
                                  const struct mtlm_context *context)
{
    mtlm_attention_heads_more_bwd(&in_bf16, ptr, call, context);
}
