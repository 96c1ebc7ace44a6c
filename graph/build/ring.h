#ifndef MTLM_GRAPH_RING_H
#define MTLM_GRAPH_RING_H

#include "graph/build/program.h"

/* Activation windows of a program (graph/schedule/window.h), and from them the
 * lengths of its rings.  Times are counted in layers, with tF = tB = tW: the
 * windows then do not depend on a machine, and are the same on every rank.  B
 * of layers that are called again takes F and W with it. */

/* What the windows of config follow from: times, in layers, are in
 * times[3 stages] - F of all virtual stages of the model, B, W - and memory, in
 * layers as well or with config.act_mem in bytes, in memory[stages]; borrows
 * all. */
struct mtlm_window_model mtlm_ring_model(
    const struct mtlm_program_config *config, double *times, double *memory);

/* The windows of all virtual stages of the model; the caller frees them. */
struct mtlm_window *mtlm_ring_windows(const struct mtlm_program_config *config);

/* Sets memory[virtual stages]: bytes that a stage keeps of one microbatch
 * between its forward and its backward pass, of its layers, not of embedding
 * and head: the same numbers on every rank.  Returns which share of them, with
 * the gradients that weight gradients read, one that only waits for W takes. */
double mtlm_ring_memory(const struct mtlm_program_config *config,
                        double *memory);

/* Refuses a config.act_mem that is less than the least windows take, or than
 * those of config.window
 * (MTLM_EXIT_RESOURCE, need and have). */
int mtlm_ring_check(const struct mtlm_program_config *config,
                    struct mtlm_error *err);

/* Sets the ring length of every activation of the program, whose windows are
 * there. */
void mtlm_ring_apply(struct mtlm_program *program);

#endif /* MTLM_GRAPH_RING_H */
