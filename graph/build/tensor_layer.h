#ifndef MTLM_GRAPH_TENSOR_LAYER_H
#define MTLM_GRAPH_TENSOR_LAYER_H

#include "graph/build/program.h"

/* The layer of each tensor [n_tensors], as traces tell it: of the parameter
 * that it belongs to, else of the first node of a layer that uses it or what
 * shares its ring, else -1.  The caller frees it. */
int *mtlm_tensor_layers(const struct mtlm_program *program);

#endif /* MTLM_GRAPH_TENSOR_LAYER_H */
