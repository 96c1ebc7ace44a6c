#ifndef MTLM_GRAPH_EVALUATE_PROGRAM_H
#define MTLM_GRAPH_EVALUATE_PROGRAM_H

/* Evaluation of the programs of a job: list scheduling
 * (graph/predict/simulator.h) of their items.  Edges follow StarPU's rule, slot
 * by slot of a ring: a node waits for the last writer of what it reads, and for
 * all users of what it writes.  Nothing runs. */

#include "graph/build/program.h"

/* A part of the ranks is enough; absent ranks do what their peers do.  Where
 * nodes last equally long, one data-parallel replica and one rank of each
 * tensor-parallel group give the result of all.  Both ends of every pipeline
 * message must be present. */
struct mtlm_evaluate_program {
    const struct mtlm_program *const *program; /* [n] borrowed */
    int n;
    int iterations; /* all submitted at once */
    /* Returns the seconds of a node: a computation, on its worker; a
     * collective, from the arrival of its last rank; a send, from the moment
     * when its data is ready and the receiver has a slot.  Not called for a
     * receive. */
    double (*seconds)(void *arg, const struct mtlm_program *program,
                      const struct mtlm_item *item, int iteration);
    void *arg;
    /* A rank takes part in one collective at a time (transport "serial");
     * otherwise in any number. */
    bool serial;
};

struct mtlm_executed {
    const struct mtlm_node *node;
    int program; /* index in program[] */
    int iteration, microbatch;
    int64_t use; /* number of this use of its tensors */
    int64_t start_ns, end_ns;
    int collective; /* number in program and iteration, from 0; else -1 */
    int task;       /* of the simulator; a message is one task on all ranks */
    int place;      /* of the task, in order of starts */
};

struct mtlm_execution {
    struct mtlm_executed *node; /* [n] by place, then program */
    int n;
    int64_t makespan_ns; /* from the first start to the last end */
};

/* The caller frees the result with mtlm_execution_free().  A deadlock of the
 * programs is a bug, and ends the process. */
struct mtlm_execution mtlm_evaluate_program(
    const struct mtlm_evaluate_program *job);
void mtlm_execution_free(struct mtlm_execution *run);

/* Returns the collectives of program[program] in one iteration in order of
 * starts, each by its number in program order: 0 .. *n - 1.  The orders of all
 * ranks agree, and respect all dependencies.  The caller frees the result. */
int *mtlm_execution_collectives(const struct mtlm_execution *run, int program,
                                int iteration, int *n);

#endif /* MTLM_GRAPH_EVALUATE_PROGRAM_H */
