#ifndef MTLM_TESTS_EXECUTION_H
#define MTLM_TESTS_EXECUTION_H

#include "tests/graph/small.h"

/* In which order one worker per rank would run the nodes of all programs:
 * StarPU's rule for the edges (a node waits for the last writer of what it
 * reads and for all users of what it writes, slots being told apart), the
 * programs' priorities, messages that take no time and wait for both ends. */

struct executed {
    const struct mtlm_node *node;
    int rank, microbatch;
    int64_t use; /* number of the use of its tensors */
    int64_t start;
    int task;  /* of the simulation; one message is one task on all ranks */
    int place; /* the task's, in order of starts */
};

struct execution {
    struct executed *node; /* in order of starts */
    int n, capacity;
    int iterations;
    double makespan; /* in times of a stage's forward pass */
};

/* Iterations 0 .. iterations - 1 of training, all submitted at once.  The
 * nodes of F, of B and of W of a stage last one unit of time together. */
struct execution execution_run(const struct small_ranks *ranks, int iterations);
void execution_free(struct execution *run);

#endif /* MTLM_TESTS_EXECUTION_H */
