#ifndef MTLM_GRAPH_TENSOR_LAYER_H
#define MTLM_GRAPH_TENSOR_LAYER_H

/* The layer of each tensor. */

#include "graph/build/program.h"

/* Returns the layer of each tensor [n_tensors], as traces show it.  A
 * parameter's tensors have the parameter's layer.  Other tensors have the layer
 * of the first node that uses the tensor or its ring; -1: none.  The caller
 * frees the array. */
int *mtlm_tensor_layers(const struct mtlm_program *program);

#endif /* MTLM_GRAPH_TENSOR_LAYER_H */
