#ifndef MTLM_GRAPH_LAYERS_H
#define MTLM_GRAPH_LAYERS_H

/* One transformer layer. */

#include "graph/build/builder.h"

/* Appends transformer layer number `layer` of the whole model, on x [s, b, h]:
 *
 *   x = r1 + dropout(projection(attention(n1)) + bias)   n1 = layernorm1(x)
 *   x = r2 + dropout(fc2(gelu(fc1(n2))) + bias)          n2 = layernorm2(x)
 *
 * Pre-LN: the residuals r1, r2 are the inputs of the layernorms (arXiv
 * 1909.08053, figure 7b).  model.post_layernorm: the residuals are the outputs
 * of the layernorms.  The latter with the model's final layernorm is the
 * original BERT: its layernorm after the embeddings is the first layer's n1,
 * and so on.
 *
 * Tensor parallelism splits weights by columns, then by rows: each half
 * communicates once forward and once backward (arXiv 1909.08053, section 3). */
void mtlm_build_layer(const struct mtlm_builder *b, int64_t layer,
                      struct mtlm_rows *x);

#endif /* MTLM_GRAPH_LAYERS_H */
