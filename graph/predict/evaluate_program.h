#ifndef MTLM_GRAPH_EVALUATE_PROGRAM_H
#define MTLM_GRAPH_EVALUATE_PROGRAM_H

#include "graph/build/program.h"

/* How the programs of a job would run: list scheduling
 * (graph/predict/simulator.h) of their items, with StarPU's rule for the edges
 * (a node waits for the last writer of what it reads and for all users of what
 * it writes, slots of rings being told apart) and the programs' priorities.
 * Nothing runs.
 *
 * Not every rank has to be there: those that are take the others to do what
 * their peers do.  One data-parallel replica and one rank of each
 * tensor-parallel group say as much as all, where their nodes last equally
 * long; both ends of every pipeline message must be there. */
struct mtlm_evaluate_program {
    const struct mtlm_program *const *program; /* [n] borrowed */
    int n;
    int iterations; /* all of them submitted at once */
    /* How long a node lasts.  A computation: on its worker.  A collective: from
     * when all its ranks have come to it.  A send: from when the data is there
     * and a slot for it on the other side; not asked of its receive. */
    double (*seconds)(void *arg, const struct mtlm_program *program,
                      const struct mtlm_item *item, int iteration);
    void *arg;
    /* A rank takes part in one collective at a time, as with the transport
     * "serial"; otherwise in any number. */
    bool serial;
};

struct mtlm_executed {
    const struct mtlm_node *node;
    int program; /* index in program[] */
    int iteration, microbatch;
    int64_t use; /* number of the use of its tensors */
    int64_t start_ns, end_ns;
    int collective; /* its number in program and iteration, from 0; or -1 */
    int task;       /* a message is one task on all its ranks */
    int place;      /* the task's, in order of starts */
};

struct mtlm_execution {
    struct mtlm_executed *node; /* [n] by place, then program */
    int n;
    int64_t makespan_ns; /* from the first start to the last end */
};

/* The caller frees it with mtlm_execution_free().  Programs that would wait
 * for each other for ever are a bug and end the process. */
struct mtlm_execution mtlm_evaluate_program(
    const struct mtlm_evaluate_program *job);
void mtlm_execution_free(struct mtlm_execution *run);

/* The collectives of program[program] in one iteration, by their numbers in
 * program order (0 .. *n - 1), in the order in which they start: all ranks
 * together follow one order of all their collectives, which respects all
 * dependencies.  The caller frees it. */
int *mtlm_execution_collectives(const struct mtlm_execution *run, int program,
                                int iteration, int *n);

#endif /* MTLM_GRAPH_EVALUATE_PROGRAM_H */
