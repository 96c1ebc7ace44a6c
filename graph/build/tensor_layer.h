#ifndef MTLM_GRAPH_TENSOR_LAYER_H
#define MTLM_GRAPH_TENSOR_LAYER_H

/* Finds the layer of each tensor, for traces. */

#include "graph/build/program.h"

/* Returns the layer of each tensor, by id [graph->n_tensors]; -1: no layer.
 * Tensors of a parameter have the parameter's layer.  Other tensors have the
 * layer of the first node that uses the tensor's ring.  The caller frees the
 * array. */
int *mtlm_tensor_layers(const struct mtlm_program *program);

#endif /* MTLM_GRAPH_TENSOR_LAYER_H */
