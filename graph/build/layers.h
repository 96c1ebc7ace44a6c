#ifndef MTLM_GRAPH_LAYERS_H
#define MTLM_GRAPH_LAYERS_H

#include "graph/build/builder.h"

/* One transformer layer of the whole model's number, on x [s, b, h]:
 *
 *   x = r1 + dropout(projection(attention(n1)) + bias)   n1 = layernorm1(x)
 *   x = r2 + dropout(fc2(gelu(fc1(n2))) + bias)          n2 = layernorm2(x)
 *
 * The residuals r1, r2 are what goes into the layernorms (pre-LN, arXiv
 * 1909.08053, figure 7b) or, with model.post_layernorm, what comes out of
 * them.  The latter, with the model's final layernorm, is the original BERT:
 * its layernorm after the embeddings is the first layer's n1, and so on.
 *
 * Weights are split over tensor-parallel ranks by columns, then by rows, so
 * that each half meets its peers once forward and once backward (there,
 * section 3). */
void mtlm_build_layer(const struct mtlm_builder *b, int64_t layer,
                      struct mtlm_rows *x);

#endif /* MTLM_GRAPH_LAYERS_H */
