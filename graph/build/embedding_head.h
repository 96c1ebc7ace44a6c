#ifndef MTLM_GRAPH_EMBEDDING_HEAD_H
#define MTLM_GRAPH_EMBEDDING_HEAD_H

/* Nodes of the model before its first layer (embedding) and after its last
 * layer (head). */

#include "graph/build/builder.h"

/* Appends x = dropout(word + position (+ token type) embedding) [s, b, h]. Each
 * tensor-parallel rank holds some rows of the word embedding.  A rank gives
 * zero for tokens whose rows other ranks hold.  A sum over the ranks follows.
 */
void mtlm_build_embedding(const struct mtlm_builder *b, struct mtlm_rows *x);

/* Appends the final layernorm and the losses.
 *
 * GPT: cross-entropy of the tied output layer; the tensor-parallel ranks split
 * the vocabulary.
 *
 * BERT: the masked-LM head puts a dense layer, GELU and layernorm before the
 * output layer, which has a bias.  The binary head, if any, classifies whether
 * the two sentences are swapped.  The binary head reads the first token through
 * a dense layer with tanh. */
void mtlm_build_head(const struct mtlm_builder *b, const struct mtlm_rows *x);

#endif /* MTLM_GRAPH_EMBEDDING_HEAD_H */
