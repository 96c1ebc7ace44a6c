#ifndef MTLM_GRAPH_PUBLISHED_MEMORY_H
#define MTLM_GRAPH_PUBLISHED_MEMORY_H

/* Memory of published code, in place of our graph's, for a program with
 * config.profile.
 *
 * Bytes of a parameter are those of Megatron-LM's page on the distributed
 * optimizer.  Weights and their gradients have 2 bytes, with four more for
 * gradients in fp32, and 12 bytes for master and moments: 20 in all.  Code that
 * sums gradients in fp32, always with bf16, has no second copy: 18.  In fp32
 * there are 16.
 *
 * Activations that a microbatch's F leaves of a layer, in bytes (arXiv
 * 2205.05198, table 2), for values of 2 bytes and masks of 1:
 *
 *   tensor parallelism           sbh (10 + 24/t + 5as/(ht))
 *   with sequence parallelism    sbh/t (34 + 5as/h)
 *   selective recomputation      the same without 5as/h
 *   full recomputation           2 sbh, or 2 sbh/t with sequence parallelism,
 *                                of each group of layers; by method block, of
 *                                each recomputed layer
 *
 * What is computed again adds itself once: a layer (arXiv 2104.04473, section
 * 3.5), a group of layers, or the scores of a layer.  First stage: masks of the
 * embedding, sb h p.  Last stage: inputs of layernorm and output layer, 4 sbh,
 * and logits in fp32, 4 sbV / t.  Gradients of activations, and the host's
 * memory, do not count. */

#include "graph/build/program.h"

/* Bytes of a parameter. */
struct mtlm_published_state {
    double weight, gradient;
    double optimizer; /* master, moments, and the gradient's copy in fp32 */
};

/* Returns the bytes of a parameter. */
struct mtlm_published_state mtlm_published_memory_state(
    const struct mtlm_program_config *config);

/* Returns what F of a microbatch leaves, as mtlm_activation_memory() does for
 * our graph.  W waits with its inputs and its outputs' gradients (arXiv
 * 2401.10241, section 2).  The caller frees the array. */
struct mtlm_activation_memory mtlm_published_memory_stages(
    const struct mtlm_program_config *config);

/* Returns the activations of the program's rank in bytes.  Microbatches in
 * flight: those of 1f1b and of interleaved (arXiv 2104.04473, section 2.2;
 * arXiv 2205.05198, section 4.2.3); other schedules have those of their
 * windows, or of the slots of their order. */
double mtlm_published_memory_activations(const struct mtlm_program *program);

/* Returns the formula of a layer as text, such as "2sbh"; a string constant. */
const char *mtlm_published_memory_text(
    const struct mtlm_program_config *config);

#endif /* MTLM_GRAPH_PUBLISHED_MEMORY_H */
