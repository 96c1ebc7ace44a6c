#ifndef MTLM_XENT_H
#define MTLM_XENT_H

/* Operands of the cross-entropy operations and of accuracy; shared helpers. */

#include "codelets/op.h"

/* Operands, for C and CUDA kernels: xent_stats, xent_rescale, xent_loss,
 * xent_bwd of xent.c and xent_stats.c; accuracy of accuracy.c. */
enum { XS_LOGITS, XS_LABELS, XS_LOCAL, XS_MAX, XS_SUMS };
enum { XR_LOCAL, XR_MAX, XR_SUMS };
/* The kernel reads max, sums and weights; the gradient rule also needs logits,
 * labels and control. */
enum { XL_LOGITS, XL_LABELS, XL_MAX, XL_SUMS, XL_WEIGHTS, XL_CONTROL, XL_LOSS };
enum { XB_LABELS, XB_MAX, XB_SUMS, XB_WEIGHTS, XB_CONTROL, XB_LOGITS };
enum { XA_LOGITS, XA_LABELS, XA_WEIGHTS, XA_LOSS };

/* Returns how many of a vocabulary shard's cols columns are not padding. */
static inline int64_t mtlm_xent_columns(const struct mtlm_call *call,
                                        int64_t cols)
{
    const int64_t n = call->attr.vocabulary.size - call->attr.vocabulary.first;

    return n < 0 ? 0 : n < cols ? n : cols;
}

/* Returns the shape of sums for logits [s, b, Vl]. */
struct mtlm_shape mtlm_xent_shape_of_sums(const struct mtlm_shape *logits);

/* Checks attr.vocabulary's slot and the shape of operand `loss`: -1 with a
 * sentence in err. */
int mtlm_xent_expect_loss(const struct mtlm_call *call, int loss,
                          struct mtlm_error *err);

#endif /* MTLM_XENT_H */
