#ifndef MTLM_TESTS_ATTENTION_PARTS_H
#define MTLM_TESTS_ATTENTION_PARTS_H

#include "codelets/op.h"

/* Attention whose rows are cut into parts, as a graph would call it. */

enum { PARTS_AT_MOST = 8 };

/* Runs attention forward and backward.  whole is the attention_fwd call of
 * all rows; part i is its rows cut[i] .. cut[i + 1] - 1, with n parts.  Writes
 * y and dqkv.  Elements are of type whole->value. */
void run_attention_parts(const struct mtlm_call *whole, const int64_t *cut,
                         int n, const void *qkv, const int32_t *lengths,
                         const void *dy, void *y, void *dqkv, int64_t sample);

#endif /* MTLM_TESTS_ATTENTION_PARTS_H */
