/* Decides without cuDNN which calls cuDNN's attention may compute. */

#include "config.h"

#include "codelets/attention/attention.h"
#include "codelets/attention/attention_fused.h"
#if HAVE_CUDNN && !MTLM_DOUBLE
#include "codelets/cudnn/cudnn_graph.h"
#endif
#include "runtime/base/round_up.h"

enum { TILE = 128, COUNTER_BYTES = 256 };

bool mtlm_attention_fused_allowed(const struct mtlm_call *call)
{
    const int64_t *dim = call->shape[ATT_QKV].dim;
    const int64_t d = dim[2] / 3 / call->attr.attention.heads;
    const enum mtlm_attention_backend backend = call->attr.attention.backend;

    return call->value != MTLM_REAL
           && (backend == MTLM_ATTENTION_AUTO
               || backend == MTLM_ATTENTION_FUSED)
           && call->attr.attention.first_query == 0
           && dim[0] == call->attr.attention.seq_length && dim[0] > 1
           && call->attr.attention.alibi_heads == 0 && d % 8 == 0
           && call->attr.attention.dropout.p < 1;
}

double mtlm_attention_fused_bytes(const struct mtlm_call *call)
{
    const int64_t *dim = call->shape[ATT_QKV].dim;
    const double rows = mtlm_round_up(dim[0], TILE);
    const double bytes =
        2 * dim[1] * call->attr.attention.heads * rows * rows + COUNTER_BYTES;

    return mtlm_attention_fused_allowed(call)
                   && bytes <= MTLM_ATTENTION_FUSED_BYTES
               ? bytes
               : 0;
}

bool mtlm_attention_fused_there(void)
{
#if HAVE_CUDNN && !MTLM_DOUBLE
    return mtlm_cudnn() != NULL;
#else
    return false;
#endif
}
