/* Shapes of the operands of attention. */

#include "config.h"

#include "codelets/attention/attention.h"
#include "codelets/attention/attention_shape.h"
#include "codelets/infer.h"

int mtlm_attention_shape_check_qkv(const struct mtlm_call *call, int qkv,
                                   const char *name, struct mtlm_error *err)
{
    const int heads = call->attr.attention.heads;
    char text[96];

    if (mtlm_infer_expect_rank(call, qkv, name, 3, err))
        return -1;
    if (heads < 1 || call->shape[qkv].dim[2] % (3 * (int64_t) heads))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s is %s, needs a multiple of 3 x %d", name,
                              mtlm_shape_str(&call->shape[qkv], text), heads);
    return 0;
}

int mtlm_attention_shape_check_lengths(const struct mtlm_call *call, int qkv,
                                       int lengths, struct mtlm_error *err)
{
    return mtlm_infer_expect_shape(call, lengths, "lengths",
                                   MTLM_SHAPE(1, call->shape[qkv].dim[1]), err);
}

int mtlm_attention_shape_check_other(const struct mtlm_call *call, int qkv,
                                     int other, struct mtlm_error *err)
{
    const int64_t *dim = call->shape[qkv].dim;

    return mtlm_infer_expect_rank(call, other, "qkv_k", 3, err)
                   || mtlm_infer_expect_shape(
                       call, other, "qkv_k",
                       MTLM_SHAPE(call->shape[other].dim[0], dim[1], dim[2]),
                       err)
               ? -1
               : 0;
}

struct mtlm_shape mtlm_attention_shape_of_y(const struct mtlm_call *call)
{
    const int64_t *dim = call->shape[ATT_QKV].dim;

    return MTLM_SHAPE(dim[0], dim[1], dim[2] / 3);
}

struct mtlm_shape mtlm_attention_shape_of_lse(const struct mtlm_call *call)
{
    const int64_t *dim = call->shape[ATT_QKV].dim;

    return MTLM_SHAPE(dim[1], call->attr.attention.heads, dim[0]);
}

int mtlm_attention_shape_check_outputs(const struct mtlm_call *call, int y,
                                       int lse, int dy, struct mtlm_error *err)
{
    return mtlm_infer_expect_shape(call, y, "y",
                                   mtlm_attention_shape_of_y(call), err)
                   || mtlm_infer_expect_shape(
                       call, lse, "lse", mtlm_attention_shape_of_lse(call), err)
                   || (dy
                       && mtlm_infer_expect_shape(
                           call, dy, "dy", mtlm_attention_shape_of_y(call),
                           err))
               ? -1
               : 0;
}
