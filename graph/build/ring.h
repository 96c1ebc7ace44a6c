#ifndef MTLM_GRAPH_RING_H
#define MTLM_GRAPH_RING_H

/* Activation windows of a program (graph/schedule/window.h), and the lengths of
 * the program's rings.  Durations count layers: F, B and W of a layer take 1
 * each.  Windows are therefore the same on every machine and rank.  Layers that
 * are recomputed as a whole count F and W as part of B. */

#include "graph/build/program.h"

/* Returns the model from which windows are computed; fills and borrows times
 * and memory.  times [3 stages]: durations of F of all virtual stages of the
 * model, then of B, then of W, in layers.  memory [stages]: activations of a
 * microbatch, in layers; in bytes if config.act_mem is set. */
struct mtlm_window_model mtlm_ring_model(
    const struct mtlm_program_config *config, double *times, double *memory);

/* Returns the windows of all virtual stages of the model; the caller frees
 * them. */
struct mtlm_window *mtlm_ring_windows(const struct mtlm_program_config *config);

/* Returns 0 if the windows fit into config.act_mem bytes (0: no limit).  Else
 * returns -1 with MTLM_EXIT_RESOURCE in err, and both sizes in the message.
 * Checks the least windows, and the windows of config.window if given. */
int mtlm_ring_check(const struct mtlm_program_config *config,
                    struct mtlm_error *err);

/* Sets the ring length of every activation of the program from its windows. */
void mtlm_ring_apply(struct mtlm_program *program);

#endif /* MTLM_GRAPH_RING_H */
