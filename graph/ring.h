#ifndef MTLM_GRAPH_RING_H
#define MTLM_GRAPH_RING_H

#include "graph/program.h"

/* Activation windows of a program (graph/window.h), and from them the lengths
 * of its rings.  Times are counted in layers, with tF = tB = tW: the windows
 * then do not depend on a machine, and are the same on every rank. */

/* The windows of all virtual stages of the model; the caller frees them. */
struct mtlm_window *mtlm_ring_windows(const struct mtlm_program_config *config);

/* Bytes that a virtual stage of so many layers keeps of one microbatch between
 * its forward and its backward pass: of the layers, not of embedding and
 * head.  The same on every rank. */
double mtlm_ring_bytes(const struct mtlm_program_config *config,
                       int64_t layers);

/* Refuses a config.act_mem that is less than the least windows take
 * (MTLM_EXIT_RESOURCE, need and have). */
int mtlm_ring_check(const struct mtlm_program_config *config,
                    struct mtlm_error *err);

/* Sets the ring length of every activation of the program, whose windows are
 * there. */
void mtlm_ring_apply(struct mtlm_program *program);

#endif /* MTLM_GRAPH_RING_H */
