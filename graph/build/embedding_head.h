#ifndef MTLM_GRAPH_EMBEDDING_HEAD_H
#define MTLM_GRAPH_EMBEDDING_HEAD_H

#include "graph/build/builder.h"

/* What stands before the layers and behind them. */

/* x = dropout(word + position (+ token type) embedding) [s, b, h].  The word
 * embedding is split by rows of the vocabulary: rows of other ranks give zero,
 * then comes the sum. */
void mtlm_build_embedding(const struct mtlm_builder *b, struct mtlm_rows *x);

/* Final layernorm and the losses.  GPT: cross-entropy of the tied output
 * layer over the split vocabulary.  BERT: the same behind dense, GELU and
 * layernorm and with a bias (the masked-LM head), and where the model has a
 * binary head, cross-entropy of two classes - whether the sentences are
 * swapped - from the first token through a dense layer with tanh. */
void mtlm_build_head(const struct mtlm_builder *b, const struct mtlm_rows *x);

#endif /* MTLM_GRAPH_EMBEDDING_HEAD_H */
