#ifndef MTLM_TESTS_ATTENTION_REFERENCE_H
#define MTLM_TESTS_ATTENTION_REFERENCE_H

#include "codelets/op.h"

/* Attention by the formula, in double.  qkv [s, b, heads, 3, d] holds queries,
 * keys and values, y and dy are [s, b, heads, d], lse [b, heads, s], dqkv as
 * qkv.  Memory that is returned is the caller's to free. */

/* The number of the microbatch's first sample, which dropout depends on. */
enum { ATTENTION_SAMPLE = 4 };

enum { ATTENTION_BATCH_AT_MOST = 3 };

/* One call. */
struct attention_problem {
    int s, b, heads, d;
    int first_head;
    double p;
    bool full;                            /* not causal */
    int padding[ATTENTION_BATCH_AT_MOST]; /* of each sample */
    double coefficient;                   /* 0: 1 */
    int alibi_heads;                      /* 0: no ALiBi */
};

/* The slope of ALiBi of one head of a layer, as transformers computes it. */
double attention_slope(int head, int heads);

/* The call of attention_fwd that it describes, on a whole sequence. */
struct mtlm_call attention_call(const struct attention_problem *of);

/* [b]: the length of each sample without its padding. */
int32_t *attention_lengths(const struct attention_problem *of);

/* Elements of y. */
int64_t attention_elems(const struct attention_problem *of);

/* Writes y and lse. */
void attention_reference(const struct attention_problem *of,
                         const mtlm_real *qkv, double *y, double *lse);

/* Adds the gradient to dqkv. */
void attention_reference_backward(const struct attention_problem *of,
                                  const mtlm_real *qkv, const mtlm_real *dy,
                                  double *dqkv);

#endif /* MTLM_TESTS_ATTENTION_REFERENCE_H */
