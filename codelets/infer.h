#ifndef MTLM_INFER_H
#define MTLM_INFER_H

#include "codelets/op.h"

/* What the operations' infer functions have in common. */

/* Whether operand i of call, called name in the message, has the shape that
 * it needs: 0, or -1 with "linear_fwd: weight is [7, 3], needs [5, 3]". */
int mtlm_infer_expect_shape(const struct mtlm_call *call, int i,
                            const char *name, struct mtlm_shape want,
                            struct mtlm_error *err);

/* Whether operand i of call has that many dimensions. */
int mtlm_infer_expect_rank(const struct mtlm_call *call, int i,
                           const char *name, int rank, struct mtlm_error *err);

/* shape with another extent in its last dimension, and without it. */
struct mtlm_shape mtlm_infer_shape_with_cols(struct mtlm_shape shape,
                                             int64_t cols);
struct mtlm_shape mtlm_infer_shape_of_rows(struct mtlm_shape shape);

#endif /* MTLM_INFER_H */
