#ifndef MTLM_GRAPH_PRIORITY_H
#define MTLM_GRAPH_PRIORITY_H

/* Priorities of tasks: a pure function of iteration, class, microbatch and
 * virtual stage.  Of two ready tasks, the task with the larger number runs
 * first. */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/machine/recorder.h"

struct mtlm_priority;

/* The order of microbatches and chunks within a class. */
struct mtlm_priority_order {
    /* Returns the number of places of a class. */
    int64_t (*width)(const struct mtlm_priority *p);
    /* Returns the place of a task in its class, 0 .. width - 1; place 0 runs
     * first.  phase: F, B, W or a validation's F. */
    int (*place)(const struct mtlm_priority *p, enum mtlm_phase phase,
                 int microbatch, int chunk);
};

/* F: the deepest chunk, then the oldest microbatch.  B: the oldest microbatch,
 * then the first chunk.  W: the oldest microbatch, then the deepest chunk. */
extern const struct mtlm_priority_order mtlm_priority_by_depth;

/* F and B take groups of p microbatches through the chunks: F from the first
 * chunk on, B from the last one.  W: as by depth.  Source: Megatron-LM's
 * interleaved order (arXiv 2104.04473, 2.2.2). */
extern const struct mtlm_priority_order mtlm_priority_by_groups;

/* Tasks are ordered by iteration, older first; then by class; then by place in
 * the class.  The order of the classes: optimizer, norm and reductions; F; B;
 * W.  F precedes B because windows hold F back.  A fused schedule computes B
 * and W as one, and puts W before F and B.
 *
 * Rolling priorities put the class before the iteration: the iterations are one
 * long one. */
struct mtlm_priority {
    int chunks;       /* v: virtual stages per rank */
    int microbatches; /* m per iteration */
    int stages;       /* p: pipeline ranks */
    bool fused;
    bool rolling; /* not with place */
    const struct mtlm_priority_order *order;
    /* Places in a plan, borrowed; they decide instead of class and order, but
     * not for validations.  A place for each F, then for each B and each W; by
     * chunk, then microbatch: 0 .. 3 v m - 1, 0 runs first.  NULL: none. */
    const int *place;
};

/* Returns the priority within an iteration: 0 .. mtlm_priority_span() - 1.
 * microbatch: in the iteration, from 0; -1: a node of the whole iteration.
 * chunk: of the rank, from 0. */
int mtlm_priority(const struct mtlm_priority *p, enum mtlm_phase phase,
                  int microbatch, int chunk);

/* Returns the index of a pass in p->place.  phase: F, B or W. */
int mtlm_priority_index(const struct mtlm_priority *p, enum mtlm_phase phase,
                        int microbatch, int chunk);

/* Returns the number of priorities of an iteration. */
int64_t mtlm_priority_span(const struct mtlm_priority *p);

/* Returns the number of iterations in a cycle: their priorities fill the range
 * of an int, or half of it if rolling.  Each cycle starts again at the top.
 * Before a cycle begins, the caller waits until all tasks of the previous cycle
 * end. */
int64_t mtlm_priority_cycle(const struct mtlm_priority *p);

/* Returns what iteration e adds to mtlm_priority(); the sum is the priority of
 * the task.  INT_MAX - span * (e mod cycle + 1) + 1; if rolling, minus the
 * places that a class has in the iterations of the cycle before. */
int mtlm_priority_base(const struct mtlm_priority *p, int64_t iteration);

#endif /* MTLM_GRAPH_PRIORITY_H */
