#ifndef MTLM_GRAPH_RING_H
#define MTLM_GRAPH_RING_H

/* Activation windows of a program (graph/schedule/window.h), and the lengths of
 * its rings.  Times count layers, with tF = tB = tW: windows depend on no
 * machine, and are the same on every rank.  Recomputed layers count F and W as
 * part of B. */

#include "graph/build/program.h"

/* Returns the input of the windows of config; borrows times and memory.
 * times[3 stages]: F of all virtual stages of the model, then B, then W, in
 * layers.  memory[stages]: in layers; with config.act_mem, in bytes. */
struct mtlm_window_model mtlm_ring_model(
    const struct mtlm_program_config *config, double *times, double *memory);

/* Returns the windows of all virtual stages of the model; the caller frees
 * them. */
struct mtlm_window *mtlm_ring_windows(const struct mtlm_program_config *config);

/* Refuses (MTLM_EXIT_RESOURCE, need and have) a config.act_mem below the least
 * windows, or below the windows of config.window. */
int mtlm_ring_check(const struct mtlm_program_config *config,
                    struct mtlm_error *err);

/* Sets the ring length of every activation of the program from its windows. */
void mtlm_ring_apply(struct mtlm_program *program);

#endif /* MTLM_GRAPH_RING_H */
