#ifndef MTLM_GRAPH_OFFLOAD_INPUTS_H
#define MTLM_GRAPH_OFFLOAD_INPUTS_H

/* Inputs of recomputed layers on a disk.
 *
 * Full recomputation keeps the input of each layer, or group of layers, from
 * the forward to the backward pass, for each microbatch.  A part of such an
 * input (graph/build/row_parts.h) is a unit, and has a piece of the rank's file
 * for each microbatch.  Tensors of all layers take the slots of a ring in turn,
 * like other tensors that share a ring, so nodes read and write the slots
 * themselves.  A slot's value goes to the disk when another one takes the slot,
 * and comes back before the backward pass reads it.
 *
 * The input of a stage waits for the stage while the stage before works on
 * other microbatches of the group.  These inputs stay in memory until then
 * (graph/build/offload_frontier.h), so each is written once and read once.  The
 * inputs of further layers of a stage have a ring of a few slots.
 *
 * A microbatch's piece is written again in the next iteration only: the new
 * value depends on weights whose gradients needed the old one. */

#include "graph/build/program.h"

/* Returns whether inputs of layers may be offloaded.  A program that follows an
 * order keeps them in memory. */
bool mtlm_offload_inputs_allowed(const struct mtlm_program_config *config);

/* Makes config.offload_amount.inputs layers' inputs units, spread evenly over
 * the layers; none where slots take as much memory as the inputs.  Call if
 * inputs may be offloaded, when all rings have their lengths. */
void mtlm_offload_inputs_create(struct mtlm_program *program);

#endif /* MTLM_GRAPH_OFFLOAD_INPUTS_H */
