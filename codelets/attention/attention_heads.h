#ifndef MTLM_ATTENTION_HEADS_H
#define MTLM_ATTENTION_HEADS_H

/* The CPU kernels of attention: walk over samples and heads.  A way computes
 * one head. */

#include "codelets/attention/attention_block.h"
#include "codelets/op.h"

/* How to compute a head.  Values are q, k, v, y and their gradients, of type
 * head->type. */
struct mtlm_attention_way {
    /* Return the elements of scratch that fwd and bwd need for `keys` keys of
     * d elements. */
    int64_t (*fwd_scratch)(int64_t keys, int64_t d);
    int64_t (*bwd_scratch)(int64_t keys, int64_t d);

    /* Writes y [queries, d] = dropout(softmax(scores)) v, rows ld_y elements
     * apart, and lse [queries] = log of each query's sum of exponentials.
     * merge: y and lse already hold the result over other keys and become the
     * result over both. */
    void (*fwd)(const struct mtlm_head *head, bool merge, void *y,
                mtlm_real *lse, mtlm_real *scratch);

    /* Writes the gradients dq [queries, d], dk and dv [keys, d].  add: adds to
     * the gradients instead.  Rows of gradients are head->ld elements apart.
     *
     * y, dy [queries, d], rows head->ld_y elements apart; lse [queries].  y and
     * lse are final: the results over all keys that the queries see, also keys
     * of other calls. */
    void (*bwd)(const struct mtlm_head *head, bool add, const void *y,
                const mtlm_real *lse, const void *dy, void *dq, void *dk,
                void *dv, mtlm_real *scratch);
};

/* Compute attention_fwd, attention_more_fwd, attention_bwd, attention_bwd_add
 * and attention_more_bwd; operands: codelets/attention/attention.h. */
void mtlm_attention_heads_fwd(const struct mtlm_attention_way *way,
                              void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context);
void mtlm_attention_heads_more_fwd(const struct mtlm_attention_way *way,
                                   void *const ptr[],
                                   const struct mtlm_call *call,
                                   const struct mtlm_context *context);
void mtlm_attention_heads_bwd(const struct mtlm_attention_way *way,
                              void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context);
void mtlm_attention_heads_bwd_add(const struct mtlm_attention_way *way,
                                  void *const ptr[],
                                  const struct mtlm_call *call,
                                  const struct mtlm_context *context);
void mtlm_attention_heads_more_bwd(const struct mtlm_attention_way *way,
                                   void *const ptr[],
                                   const struct mtlm_call *call,
                                   const struct mtlm_context *context);

#endif /* MTLM_ATTENTION_HEADS_H */
