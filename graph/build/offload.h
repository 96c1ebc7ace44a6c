#ifndef MTLM_GRAPH_OFFLOAD_H
#define MTLM_GRAPH_OFFLOAD_H

/* Moments and masters on a disk: --offload optimizer.
 *
 * A unit is a few neighbours of a bucket: their moments, and masters.  All
 * units share MTLM_OFFLOAD_SLOTS slots of memory, in turn.  An iteration loads
 * each unit into its slot, steps the parameters, and stores the unit:
 *
 *   load 0, Adam 0, store 0, load 1, Adam 1, store 1, ...
 *
 * A load waits for nothing but its slot.  So the loads of the first units run
 * while the passes compute, and a later load runs beside the steps and stores
 * of the units before.  With three slots, one unit is loaded, one is stepped,
 * one is stored.
 *
 * The tensors of a unit are views of its slot: the nodes that step parameters
 * are those of a program without offloading, with the same bits.  A load writes
 * the slot, these nodes read it as a control use, and a store writes it again,
 * without a change: so they lie between load and store.
 *
 * The largest parameter that travels decides the size of a slot.  Smaller ones
 * share units, so that a disk sees long requests.  A parameter that is far
 * larger than the others, such as a word embedding, stays in memory where that
 * takes less than three slots of its size. */

#include "graph/build/program.h"

enum { MTLM_OFFLOAD_SLOTS = 3 };

/* Deals the moments and masters of all buckets out to units, places the units
 * in the rank's file and in slots.  Call when all moments exist. */
void mtlm_offload_create(struct mtlm_program *program);

/* Returns whether the parameter's moments live on the disk. */
bool mtlm_offload_has(const struct mtlm_parameter *p);

/* Returns the parameter at a place of the unit's bucket. */
struct mtlm_parameter *mtlm_offload_param(const struct mtlm_program *program,
                                          const struct mtlm_unit *unit,
                                          int place);

/* Appends the node that reads a unit from the disk. */
void mtlm_offload_build_load(struct mtlm_program *program,
                             const struct mtlm_unit *unit);

/* Appends the node that writes a unit to the disk. */
void mtlm_offload_build_store(struct mtlm_program *program,
                              const struct mtlm_unit *unit);

/* Appends the nodes that copy a unit to further pieces of the file, for a
 * checkpoint, and creates these pieces. */
void mtlm_offload_build_copy(struct mtlm_program *program,
                             struct mtlm_unit *unit);

/* Returns the bytes of the rank's file; 0: no offloaded state. */
double mtlm_offload_bytes(const struct mtlm_program *program);

#endif /* MTLM_GRAPH_OFFLOAD_H */
