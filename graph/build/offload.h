#ifndef MTLM_GRAPH_OFFLOAD_H
#define MTLM_GRAPH_OFFLOAD_H

/* State of a rank on a disk: --offload.
 *
 * A unit is state of a bucket that is loaded and stored together: its weights,
 * its gradients, or moments and masters of a few neighbours.  Units of a kind
 * share MTLM_OFFLOAD_SLOTS slots of memory, in turn.  The tensors of a unit are
 * views of its slot, so the nodes that use them are those of a program without
 * offloading, with the same bits.
 *
 * mtlm_offload_items_apply() (graph/build/offload_items.h) puts a load before
 * the first node that needs a unit, and a store behind the last node that
 * changes a unit, before another unit takes the slot.  A load waits for nothing
 * but its slot: with three slots, one unit is loaded, one is in use, one is
 * stored.
 *
 * A load and a store write the slot; all nodes in between read the slot as a
 * control use.  A load of pieces that nobody has written yields zeros without a
 * read: the first gradients, the first moments, and gradients behind their
 * step.
 *
 * Moments: the largest offloaded parameter decides the size of a slot.
 * Smaller parameters share units, so that a disk sees long requests.  A
 * parameter that is far larger than the others, such as a word embedding, stays
 * in memory where that takes less than three slots of its size.
 *
 * Inputs of layers are offloaded by microbatches
 * (graph/build/offload_inputs.h).
 *
 * Gradients and weights are offloaded by buckets.  Offloaded buckets are spread
 * evenly over the layers, so that the disk has time between two loads.  A word
 * embedding stays: the first and the last stage use the embedding. */

#include "graph/build/program.h"

enum { MTLM_OFFLOAD_SLOTS = 3 };

/* Deals the state of all buckets out to units, places units in the rank's file
 * and in slots.  Call when all moments exist. */
void mtlm_offload_create(struct mtlm_program *program);

/* Returns whether gradients, weights or inputs are offloaded.  Then
 * microbatches go through one virtual stage after another, so that each unit is
 * loaded once per pass. */
bool mtlm_offload_streams(const struct mtlm_program_config *config);

/* Returns the microbatches that go through a virtual stage together, at
 * most. */
int mtlm_offload_group(const struct mtlm_program_config *config);

/* Returns whether the bucket's gradients live on the disk. */
bool mtlm_offload_has_gradients(const struct mtlm_program *program,
                                const struct mtlm_bucket *bucket);

/* Returns the parameter at a place of the unit's bucket. */
struct mtlm_parameter *mtlm_offload_param(const struct mtlm_program *program,
                                          const struct mtlm_unit *unit,
                                          int place);

/* Appends the node that copies a unit to further pieces of the file, for a
 * checkpoint, and creates these pieces. */
void mtlm_offload_build_copy(struct mtlm_program *program,
                             struct mtlm_unit *unit);

/* Returns the bytes of the rank's file; 0: no offloaded state. */
double mtlm_offload_bytes(const struct mtlm_program *program);

#endif /* MTLM_GRAPH_OFFLOAD_H */
