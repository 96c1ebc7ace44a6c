#ifndef MTLM_GRAPH_PRIORITY_H
#define MTLM_GRAPH_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/schedule/window.h"
#include "runtime/machine/recorder.h"

/* Priorities: a pure function of iteration, class, microbatch and virtual
 * stage; the larger one runs first.  Lexicographic: the older iteration;
 * then optimizer, norm and reductions, then F, then B, then W ("fb": with
 * activation windows F may go first, because the window holds it back); then
 * the order inside a class: F deepest chunk first, then oldest microbatch; B
 * and W oldest microbatch first.
 *
 * Schedules that compute B and W as one: W before F and B.  Interleaved: F and
 * B take the microbatches in groups of p through the chunks, F from the first
 * chunk, B from the last one. */

struct mtlm_priority {
    int chunks;       /* v: virtual stages per rank */
    int microbatches; /* m */
    enum mtlm_pipeline pipeline;
    int stages;          /* p: pipeline ranks; of interest to INTERLEAVED */
    bool backward_first; /* B before F: for a bound on memory without windows
                          * (graph/predict/evaluate.h) */
};

/* Within an iteration: 0 .. mtlm_priority_span() - 1.  microbatch -1 for
 * nodes of the whole iteration; chunk is the rank's. */
int mtlm_priority(const struct mtlm_priority *p, enum mtlm_phase phase,
                  int microbatch, int chunk);

int64_t mtlm_priority_span(const struct mtlm_priority *p);

/* How many iterations fit between the largest and the smallest int.
 * Iteration e gets base(e) = INT_MAX - span * (e mod this + 1) + 1; when e
 * starts over, the caller lets the older ones finish first, so that none of
 * them is overtaken. */
int64_t mtlm_priority_cycle(const struct mtlm_priority *p);

/* What is added to mtlm_priority() in iteration e. */
int mtlm_priority_base(const struct mtlm_priority *p, int64_t iteration);

#endif /* MTLM_GRAPH_PRIORITY_H */
