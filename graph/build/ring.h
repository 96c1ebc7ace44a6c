#ifndef MTLM_GRAPH_RING_H
#define MTLM_GRAPH_RING_H

/* Activation windows of a program (graph/schedule/window.h), and the lengths of
 * the program's rings.
 *
 * Durations are config->times, or count layers: F, B and W of a layer take 1
 * each.  Windows are therefore the same on every rank.  With full
 * recomputation, F and W of a recomputed layer count as part of B.  Schedules
 * with windows of their own and models of one virtual stage ignore
 * recomputation.  Schedules whose windows follow from the stages alone ignore
 * times, too.  With config->order, both count. */

#include "graph/build/program.h"

/* Returns config->times if there are times of each virtual stage of the layout,
 * else NULL. */
const struct mtlm_stage_times *mtlm_ring_times(
    const struct mtlm_program_config *config);

/* Returns the input of mtlm_schedule_windows(), which borrows times and memory.
 * Fills times and memory; stages is the number of virtual stages of the model.
 *
 *   times [3 stages]  durations of F of all stages, of B, of W; in seconds of
 *                     config->times, or in layers
 *   memory [stages]   activations of a microbatch; in layers, or in bytes if
 *                     config->act_mem is set */
struct mtlm_window_model mtlm_ring_model(
    const struct mtlm_program_config *config, double *times, double *memory);

/* Returns the windows of all virtual stages of the model.  The caller frees the
 * array. */
struct mtlm_window *mtlm_ring_windows(const struct mtlm_program_config *config);

/* Returns the memory of the windows, or of the slots that stages share, on the
 * fullest rank, in the unit of mtlm_ring_model(). */
double mtlm_ring_memory(const struct mtlm_program_config *config);

/* Checks that windows fit into config->act_mem bytes (0: no limit): those of
 * config->order; else the smallest windows, and those of config->window.
 * Returns 0, or -1 with MTLM_EXIT_RESOURCE and a message with both sizes in
 * err. */
int mtlm_ring_check(const struct mtlm_program_config *config,
                    struct mtlm_error *err);

/* Sets the ring length of every activation from program->window.  Ordering
 * tensors (MTLM_STORE_CONTROL) get ring lengths, too. */
void mtlm_ring_apply(struct mtlm_program *program);

#endif /* MTLM_GRAPH_RING_H */
