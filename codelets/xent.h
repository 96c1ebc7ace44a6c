#ifndef MTLM_XENT_H
#define MTLM_XENT_H

#include "codelets/op.h"

/* Operands of the operations of xent.c, for their C and CUDA kernels: of
 * xent_stats, xent_rescale, xent_loss, xent_bwd and accuracy. */
enum { XS_LOGITS, XS_LABELS, XS_LOCAL, XS_MAX, XS_SUMS };
enum { XR_LOCAL, XR_MAX, XR_SUMS };
/* Logits, labels and max are there for the gradient's sake, too; control for
 * that alone. */
enum { XL_LOGITS, XL_LABELS, XL_MAX, XL_SUMS, XL_WEIGHTS, XL_CONTROL, XL_LOSS };
enum { XB_LABELS, XB_MAX, XB_SUMS, XB_WEIGHTS, XB_CONTROL, XB_LOGITS };
enum { XA_LOGITS, XA_LABELS, XA_WEIGHTS, XA_LOSS };

/* Columns of the shard, which has cols, that are not padding. */
static inline int64_t mtlm_xent_columns(const struct mtlm_call *call,
                                        int64_t cols)
{
    const int64_t n = call->attr.vocabulary.size - call->attr.vocabulary.first;

    return n < 0 ? 0 : n < cols ? n : cols;
}

#endif /* MTLM_XENT_H */
