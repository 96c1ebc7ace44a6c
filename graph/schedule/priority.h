#ifndef MTLM_GRAPH_PRIORITY_H
#define MTLM_GRAPH_PRIORITY_H

/* Priorities of tasks: a pure function of iteration, class, microbatch and
 * virtual stage.  The task with the larger number runs first. */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/machine/recorder.h"

struct mtlm_priority;

/* The order of microbatches and chunks within a class. */
struct mtlm_priority_order {
    /* Returns how many places a class has. */
    int64_t (*width)(const struct mtlm_priority *p);
    /* Returns the place of a task, 0 .. width - 1; place 0 runs first.  phase
     * is F, B, W or a validation's F. */
    int (*place)(const struct mtlm_priority *p, enum mtlm_phase phase,
                 int microbatch, int chunk);
};

/* F: the deepest chunk, then the oldest microbatch.  B: the oldest microbatch,
 * then the first chunk.  W: the oldest microbatch, then the deepest chunk. */
extern const struct mtlm_priority_order mtlm_priority_by_depth;

/* F and B take groups of p microbatches through the chunks: F from the first
 * chunk on, B from the last one (Megatron-LM's interleaved order, arXiv
 * 2104.04473, 2.2.2). */
extern const struct mtlm_priority_order mtlm_priority_by_groups;

/* A lexicographic order: the older iteration; then the class, which is the
 * optimizer, norm and reductions, then F, then B, then W; then the place in the
 * class.  F goes before B because windows hold F back.  A fused schedule, which
 * computes B and W as one, puts W before F and B. */
struct mtlm_priority {
    int chunks;       /* v: virtual stages per rank */
    int microbatches; /* m per iteration */
    int stages;       /* p: pipeline ranks */
    bool fused;
    const struct mtlm_priority_order *order;
};

/* Returns the priority within an iteration: 0 .. mtlm_priority_span() - 1.
 * microbatch: -1 for a node of the whole iteration.  chunk: of the rank. */
int mtlm_priority(const struct mtlm_priority *p, enum mtlm_phase phase,
                  int microbatch, int chunk);

/* Returns the number of priorities of an iteration. */
int64_t mtlm_priority_span(const struct mtlm_priority *p);

/* Returns how many iterations fit between INT_MAX and INT_MIN: a cycle.  Before
 * a new cycle begins, the caller waits for the iterations of the old one. */
int64_t mtlm_priority_cycle(const struct mtlm_priority *p);

/* Returns the summand of iteration e: INT_MAX - span * (e mod cycle + 1) + 1.
 * A task has this number plus mtlm_priority(). */
int mtlm_priority_base(const struct mtlm_priority *p, int64_t iteration);

#endif /* MTLM_GRAPH_PRIORITY_H */
