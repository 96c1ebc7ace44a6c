#ifndef MTLM_GRAPH_EMBEDDING_HEAD_H
#define MTLM_GRAPH_EMBEDDING_HEAD_H

/* Nodes of the model before its first layer (embedding) and after its last
 * layer (head). */

#include "graph/build/builder.h"

/* Appends the embedding and sets the parts of x [s, b, h]:
 *
 *   GPT   x = dropout(word + position)
 *   BERT  x = dropout(word + token type + position)
 *
 * Each tensor-parallel rank holds some rows of the word embedding, and gives
 * zero for tokens of other ranks.  A sum over these ranks follows. */
void mtlm_build_embedding(const struct mtlm_builder *b, struct mtlm_rows *x);

/* Appends the final layernorm and the losses; reads x [s, b, h].
 *
 * GPT: the output layer, whose weight is the word embedding, and cross-entropy.
 * The tensor-parallel ranks split the vocabulary.
 *
 * BERT: a dense layer, GELU and layernorm precede the output layer, which has a
 * bias.  The model may have a binary head: a dense layer with tanh on the first
 * token, then a classifier.  The classes: the two sentences are swapped, or
 * not. */
void mtlm_build_head(const struct mtlm_builder *b, const struct mtlm_rows *x);

/* Generation: returns the logits [tp, 1, Vl] that follow x [1, 1, h], the whole
 * vocabulary on each tensor-parallel rank.  For a GPT. */
struct mtlm_tensor *mtlm_build_logits(const struct mtlm_builder *b,
                                      struct mtlm_tensor *x);

#endif /* MTLM_GRAPH_EMBEDDING_HEAD_H */
