#ifndef MTLM_GRAPH_LOSS_H
#define MTLM_GRAPH_LOSS_H

/* Losses, and what several heads need before a loss. */

#include "graph/build/builder.h"

/* Returns the tensor to which losses are added: of training, or of a
 * validation. */
struct mtlm_tensor *mtlm_build_loss(const struct mtlm_builder *b);

/* Returns x [s, b, h] normalized. */
struct mtlm_tensor *mtlm_build_layernorm(const struct mtlm_builder *b,
                                         enum mtlm_param gamma,
                                         enum mtlm_param beta,
                                         struct mtlm_tensor *x);

/* Appends the weighted cross-entropy of labels [s, b] over the columns of
 * logits [s, b, columns].  split: tensor-parallel ranks share the columns.
 * Returns the sums of xent_stats. */
struct mtlm_tensor *mtlm_build_cross_entropy(const struct mtlm_builder *b,
                                             const union mtlm_attr *columns,
                                             bool split,
                                             struct mtlm_tensor *logits,
                                             struct mtlm_tensor *labels,
                                             struct mtlm_tensor *weights);

/* Returns new weights [1, n], each `weight`.  For losses of the first token:
 * with sequence parallelism, the weights are 0 on the tensor-parallel ranks
 * that lack it. */
struct mtlm_tensor *mtlm_build_weights(const struct mtlm_builder *b,
                                       const char *name, int64_t n,
                                       double weight);

/* Returns BERT's pooled first token [1, b, h] of x [s_0, b, h], the part with
 * the first token: a dense layer with tanh, then dropout with probability p. */
struct mtlm_tensor *mtlm_build_pooled(const struct mtlm_builder *b, double p,
                                      struct mtlm_tensor *x);

/* Appends the share of rows of logits [1, n, classes] whose greatest logit is
 * the label's, and their cross-entropy, to loss `slot`. */
void mtlm_build_answers(const struct mtlm_builder *b, int64_t classes, int slot,
                        struct mtlm_tensor *logits, struct mtlm_tensor *labels,
                        struct mtlm_tensor *weights);

#endif /* MTLM_GRAPH_LOSS_H */
