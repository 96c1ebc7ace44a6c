#ifndef MTLM_INFER_H
#define MTLM_INFER_H

/* Shape checks for infer() of struct mtlm_op. */

#include "codelets/op.h"

/* Returns 0 if operand i of call has the shape `want`.  Else returns -1 with
 * MTLM_EXIT_USAGE in err, and a message such as "weight is [7, 3], needs [5,
 * 3]".  name: the operand in the message. */
int mtlm_infer_expect_shape(const struct mtlm_call *call, int i,
                            const char *name, struct mtlm_shape want,
                            struct mtlm_error *err);

/* Returns 0 if operand i of call has `rank` dimensions.  Else returns -1 with
 * MTLM_EXIT_USAGE and a message in err.  name: the operand in the message. */
int mtlm_infer_expect_rank(const struct mtlm_call *call, int i,
                           const char *name, int rank, struct mtlm_error *err);

/* Returns shape with its last dimension set to cols. */
struct mtlm_shape mtlm_infer_shape_with_cols(struct mtlm_shape shape,
                                             int64_t cols);

/* Returns shape without its last dimension. */
struct mtlm_shape mtlm_infer_shape_of_rows(struct mtlm_shape shape);

#endif /* MTLM_INFER_H */
