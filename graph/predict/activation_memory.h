#ifndef MTLM_GRAPH_ACTIVATION_MEMORY_H
#define MTLM_GRAPH_ACTIVATION_MEMORY_H

/* Bytes of the activations that a stage keeps of one microbatch: measured on
 * the graph of such a stage, which is built and thrown away. */

#include "graph/build/program.h"

/* Measures every virtual stage of config's model: its layers, without embedding
 * and head, so that all ranks have the same numbers.  The caller frees the
 * result with mtlm_activation_memory_free(). */
struct mtlm_activation_memory mtlm_activation_memory(
    const struct mtlm_program_config *config);

/* Frees the array of stages. */
void mtlm_activation_memory_free(struct mtlm_activation_memory *memory);

/* With config->act_mem, sets config->activation, which the caller frees.  Call
 * before a program or an outline of config is made. */
void mtlm_activation_memory_measure(struct mtlm_program_config *config);

#endif /* MTLM_GRAPH_ACTIVATION_MEMORY_H */
