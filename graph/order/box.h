#ifndef MTLM_GRAPH_BOX_H
#define MTLM_GRAPH_BOX_H

/* The boxes of a pipeline: on each virtual stage, a microbatch has one F, one B
 * and several pieces of W.  Orders (graph/order/order.h) are made of boxes. */

#include <stdbool.h>
#include <stdint.h>

#include "graph/layout.h"
#include "runtime/machine/recorder.h"

/* A box.  Boxes have numbers from 0, by stage, microbatch, phase and piece.
 * Numbers are int: only a pipeline of at most INT_MAX boxes has them. */
struct mtlm_box {
    enum mtlm_phase phase; /* F, B or W */
    int stage, microbatch;
    int piece; /* of W, from 0; else 0 */
};

/* A pipeline.  layout and arrays are borrowed. */
struct mtlm_boxes {
    const struct mtlm_layout *layout; /* pp, virtual_stages and placement count;
                                       * one worker per rank */
    int microbatches;                 /* m per iteration */
    int pieces;                       /* of a W; >= 1 */
    /* [stages] times of a microbatch, in any unit. */
    const double *forward, *backward, *weight;
    double hop; /* time of a message between two ranks, in the same unit */
    /* B and W are one, as in 1F1B: the message of a B leaves its rank after the
     * W of its stage and microbatch. */
    bool fused;
    /* [stages] memory of the activations of a microbatch, in any unit, from the
     * start of F to the end of the last piece of W.  NULL: nobody asks for
     * memory. */
    const double *memory;
};

/* Returns the number of boxes: stages * m * (2 + pieces), which may be more
 * than INT_MAX. */
int64_t mtlm_boxes_count(const struct mtlm_boxes *boxes);

/* Returns the number of the box. */
int mtlm_box_number(const struct mtlm_boxes *boxes, struct mtlm_box box);

/* Returns the box with this number. */
struct mtlm_box mtlm_box_at(const struct mtlm_boxes *boxes, int number);

/* Returns the pp_rank that runs the box. */
int mtlm_box_rank(const struct mtlm_boxes *boxes, int number);

/* Returns the virtual stage of the rank's chunk, 0 <= chunk < virtual_stages.
 */
int mtlm_box_stage(const struct mtlm_boxes *boxes, int rank, int chunk);

/* Returns the time that the box takes. */
double mtlm_box_time(const struct mtlm_boxes *boxes, int number);

/* Returns the box whose result this box waits for, or -1 for the first stage's
 * F.  F waits for the previous stage's F; B for the next stage's B (fused, on
 * another rank: the last piece of its W), the last stage's B for F; W for B,
 * further pieces for the piece before.  Sets *hop to the time of the message
 * between the boxes. */
int mtlm_box_before(const struct mtlm_boxes *boxes, int number, double *hop);

/* Returns what the memory of the box's rank grows by: F takes memory[stage],
 * the last piece of W returns it. */
double mtlm_box_growth(const struct mtlm_boxes *boxes, int number);

#endif /* MTLM_GRAPH_BOX_H */
