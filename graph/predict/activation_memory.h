#ifndef MTLM_GRAPH_ACTIVATION_MEMORY_H
#define MTLM_GRAPH_ACTIVATION_MEMORY_H

/* Bytes of the activations that a stage keeps of one microbatch.  Each number
 * is measured on a graph of the stage, built for this purpose and then freed.
 * Inputs of layers count, whether a disk takes them or not. */

#include "graph/build/program.h"

/* Measures every virtual stage of config's model.  Counts the layers without
 * embedding and head.  With config->profile, formulas decide
 * (graph/predict/published_memory.h).  All ranks get the same numbers.  The
 * caller frees the result with mtlm_activation_memory_free(). */
struct mtlm_activation_memory mtlm_activation_memory(
    const struct mtlm_program_config *config);

/* Frees the array of stages. */
void mtlm_activation_memory_free(struct mtlm_activation_memory *memory);

/* If config->act_mem > 0, sets config->activation, which the caller frees.
 * Call before you build a program or an outline from config. */
void mtlm_activation_memory_measure(struct mtlm_program_config *config);

#endif /* MTLM_GRAPH_ACTIVATION_MEMORY_H */
