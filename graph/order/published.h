#ifndef MTLM_GRAPH_PUBLISHED_H
#define MTLM_GRAPH_PUBLISHED_H

/* Published pipeline schedules as orders of boxes.  An entry of the table has
 * name, formulas and a function that builds the order.  The schedule of that
 * name (graph/schedule/schedule_list.h) has help and source. */

#include "graph/order/walk.h"

/* Equal stages: the input of the formulas. */
struct mtlm_published_size {
    int p, v, m; /* ranks, virtual stages per rank, microbatches */
    double forward, backward, weight; /* times of a microbatch on a rank */
};

struct mtlm_published {
    const char *name;
    int least_chunks, most_chunks; /* v; most_chunks 0: any number */
    enum mtlm_placement placement; /* where v > 1 */
    bool fused; /* B and W are one: the formulas hold for boxes.fused */
    /* Microbatches: at least this number per rank, and a multiple of p. */
    int least_per_rank;
    bool multiple;
    /* Returns the makespan of equal stages without latency, for m >= 2p.
     * by_span: the longest time from the first start to the last end on one
     * rank.  NULL: the source has no formula. */
    double (*time)(const struct mtlm_published_size *size);
    bool by_span;
    /* Returns the peak memory of the fullest rank.  The unit: the activations
     * of a microbatch on a rank. */
    double (*memory)(const struct mtlm_published_size *size);
    /* Appends every box to an order without boxes.  NULL: the order comes from
     * rounds (graph/order/rounds.h), which respect times and memory. */
    void (*build)(const struct mtlm_boxes *boxes, struct mtlm_box_order *order);
};

enum { MTLM_PUBLISHED_COUNT = 12 };

extern const struct mtlm_published mtlm_published[MTLM_PUBLISHED_COUNT];

/* Returns the entry of that name, or NULL if there is none. */
const struct mtlm_published *mtlm_published_find(const char *name);

/* Returns what the schedule requires and these boxes lack, as in "a number of
 * microbatches that is a multiple of the ranks"; NULL: they lack nothing. */
const char *mtlm_published_lacks(const struct mtlm_published *published,
                                 const struct mtlm_boxes *boxes);

/* Builds the order in `order`, which is emptied before.  The boxes lack nothing
 * and have memory.  most_memory: limit of each rank, in the unit of
 * boxes->memory; 0: the schedule's own limit.
 *
 * Returns the makespan; INFINITY if the memory is too small.  Changes the times
 * in `walk`. */
double mtlm_published_build(const struct mtlm_published *published,
                            struct mtlm_walk *walk, double most_memory,
                            struct mtlm_box_order *order);

#endif /* MTLM_GRAPH_PUBLISHED_H */
