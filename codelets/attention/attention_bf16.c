/* The kernels of attention on bf16. */

#include "config.h"

#include "codelets/attention/attention_bf16.h"
#include "codelets/attention/attention_heads.h"

static const struct mtlm_attention_way in_bf16 = {
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
