#ifndef MTLM_ATTENTION_SHAPE_H
#define MTLM_ATTENTION_SHAPE_H

/* Shapes of the operands of attention (codelets/attention/attention.c), which
 * the numbers of operands name.  Checks return 0, or -1 with
 * MTLM_EXIT_USAGE. */

#include "codelets/op.h"

/* Checks qkv [sq, b, 3 hl].  name: of the operand, for the error. */
int mtlm_attention_shape_check_qkv(const struct mtlm_call *call, int qkv,
                                   const char *name, struct mtlm_error *err);

/* Checks lengths [1, b] of the samples of qkv. */
int mtlm_attention_shape_check_lengths(const struct mtlm_call *call, int qkv,
                                       int lengths, struct mtlm_error *err);

/* Checks the keys of another part: qkv's shape, but for the number of rows. */
int mtlm_attention_shape_check_other(const struct mtlm_call *call, int qkv,
                                     int other, struct mtlm_error *err);

/* Checks y, lse and dy; dy 0: no such operand. */
int mtlm_attention_shape_check_outputs(const struct mtlm_call *call, int y,
                                       int lse, int dy, struct mtlm_error *err);

/* Return the shapes of y [sq, b, hl] and of lse [b, heads, sq]. */
struct mtlm_shape mtlm_attention_shape_of_y(const struct mtlm_call *call);
struct mtlm_shape mtlm_attention_shape_of_lse(const struct mtlm_call *call);

#endif /* MTLM_ATTENTION_SHAPE_H */
