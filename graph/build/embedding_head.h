#ifndef MTLM_GRAPH_EMBEDDING_HEAD_H
#define MTLM_GRAPH_EMBEDDING_HEAD_H

/* The model before its first layer and after its last layer. */

#include "graph/build/builder.h"

/* Appends x = dropout(word + position (+ token type) embedding) [s, b, h].  The
 * rows of the vocabulary split the word embedding: rows of other ranks give
 * zero, then a sum over the ranks follows. */
void mtlm_build_embedding(const struct mtlm_builder *b, struct mtlm_rows *x);

/* Appends the final layernorm and the losses.  GPT: cross-entropy of the tied
 * output layer over the split vocabulary.  BERT: the same after dense, GELU,
 * layernorm and a bias (the masked-LM head).  With a binary head BERT adds
 * cross-entropy of two classes (sentences swapped or not), from the first token
 * through a dense layer with tanh. */
void mtlm_build_head(const struct mtlm_builder *b, const struct mtlm_rows *x);

#endif /* MTLM_GRAPH_EMBEDDING_HEAD_H */
