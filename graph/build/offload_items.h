#ifndef MTLM_GRAPH_OFFLOAD_ITEMS_H
#define MTLM_GRAPH_OFFLOAD_ITEMS_H

/* Loads and stores among the items of a program. */

#include "graph/build/program.h"

/* Makes the nodes that use state of a unit read the unit's slot as a control
 * use: they lie between a load and the next one.  Call when all lists are
 * complete. */
void mtlm_offload_items_hold(struct mtlm_program *program);

/* Inserts loads and stores into a list of items, and returns their number and
 * the bytes that they read and write.
 *
 * No unit is in memory where the list begins, and all changes are on the disk
 * where the list ends.  So lists may follow each other in any order.  Before
 * the control node, which decides on the step, all gradients are on the disk,
 * too: the host may read them there.  Behind that node gradients become zeros,
 * or the next iteration sets them; they are not stored.
 *
 * Every transfer stands in program order, directly before the item that needs
 * the slot.  StarPU then orders transfers and nodes by their uses of the
 * slot. */
struct mtlm_offload_bytes {
    double loaded, stored;
    int64_t moves;
};
struct mtlm_offload_bytes mtlm_offload_items_apply(struct mtlm_program *program,
                                                   struct mtlm_items *items);

/* Returns what mtlm_offload_items_apply() would return, and inserts nothing. */
struct mtlm_offload_bytes mtlm_offload_items_count(
    struct mtlm_program *program, const struct mtlm_items *items);

#endif /* MTLM_GRAPH_OFFLOAD_ITEMS_H */
