#ifndef MTLM_GRAPH_RUN_HELD_H
#define MTLM_GRAPH_RUN_HELD_H

/* The tensors of each unit, which share the memory of the unit's slot.
 *
 * On a rank with a GPU StarPU may hold the valid copy of a tensor elsewhere: a
 * message through the host leaves the tensor there.  A store of the slot must
 * fetch such copies first, and a load must drop them (runtime/disk/io.h). */

#include "graph/run/data.h"

struct mtlm_held {
    const struct mtlm_tensor **tensor; /* [n] that own handles */
    int n;
};

/* Returns the tensors of all units, [n_units]; NULL without a GPU or without
 * units.  The caller frees the lists with mtlm_held_destroy(). */
struct mtlm_held *mtlm_held_create(const struct mtlm_run_data *data);

/* Frees the lists; NULL is allowed. */
void mtlm_held_destroy(struct mtlm_held *held,
                       const struct mtlm_program *program);

/* Returns the tensors of the unit with that piece, or of the unit whose copy
 * for a checkpoint has that piece.  Empty where held is NULL. */
struct mtlm_held mtlm_held_of(const struct mtlm_held *held,
                              const struct mtlm_program *program, int piece);

/* Returns the handles of these tensors at a submission, [held->n]; the caller
 * frees the list. */
starpu_data_handle_t *mtlm_held_handles(const struct mtlm_held *held,
                                        const struct mtlm_run_data *data,
                                        const struct mtlm_submission *at);

#endif /* MTLM_GRAPH_RUN_HELD_H */
