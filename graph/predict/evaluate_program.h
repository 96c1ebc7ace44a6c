#ifndef MTLM_GRAPH_EVALUATE_PROGRAM_H
#define MTLM_GRAPH_EVALUATE_PROGRAM_H

/* Evaluation of the programs of a job: list scheduling
 * (graph/predict/simulator.h) of the programs' items.  Edges follow StarPU's
 * rule for each slot of a ring.  A reader of a slot waits for the last writer;
 * a writer waits for all earlier users.  Nothing runs. */

#include "graph/build/program.h"

/* How many collectives a rank takes part in at a time. */
enum mtlm_turns {
    MTLM_TURNS_LANE, /* one of each lane, like the calls of an NCCL
                      * communicator: together they have the rate of one */
    MTLM_TURNS_ALL,  /* one: transport "serial" */
};

/* Some of the ranks are enough: an absent rank counts as equal to a present
 * rank of its group.  If durations do not depend on the rank, one replica and
 * one rank of each tensor-parallel group give the exact result.  Both ends of
 * every pipeline message must be present. */
struct mtlm_evaluate_program {
    const struct mtlm_program *const *program; /* [n] borrowed */
    int n;
    int iterations; /* number; all are submitted at once */
    /* Returns the duration of a node in seconds.  A collective's duration
     * starts when its last rank arrives.  A send's duration starts when the
     * data is ready and the receiver has a slot.  Not called for a receive. */
    double (*seconds)(void *arg, const struct mtlm_program *program,
                      const struct mtlm_item *item, int iteration);
    void *arg;
    /* Returns whether the item is a link of its rank's chain: it starts after
     * the links before it in program order.  NULL: there are no chains. */
    bool (*chained)(void *arg, const struct mtlm_program *program,
                    const struct mtlm_item *item);
    enum mtlm_turns turns;
    /* Consecutive ranks that share a host, and so a disk; 0: all ranks.  A disk
     * serves one load or store at a time.  Of those that wait, the one that its
     * rank posted first goes first, as in runtime/disk/io.h. */
    int64_t devices;
    /* Of ready nodes of equal priority, the one that became ready first starts,
     * as with StarPU's policies.  false: the first one in program order. */
    bool first_come;
    /* The hold rule of mtlm/policy.h: a free worker waits for a task of higher
     * priority, for this share of the ready task's duration at most.  B is left
     * for another task only if leaves_backward.  0: no worker waits. */
    double hold;
    bool leaves_backward;
};

struct mtlm_executed {
    const struct mtlm_node *node;
    const struct mtlm_item *item; /* of the node and its microbatch */
    int program;                  /* index in program[] */
    int iteration, microbatch;
    int64_t use; /* number of this use of its tensors */
    int64_t start_ns, end_ns;
    int collective; /* number in program and iteration, from 0; else -1 */
    int task;       /* number in the simulator; a message is one task on all its
                     * ranks */
    int place;      /* of the task in the order of starts, from 0 */
};

/* Returns the submission of an executed node. */
static inline struct mtlm_submission mtlm_executed_at(
    const struct mtlm_executed *e)
{
    return (struct mtlm_submission){e->use, e->iteration, e->item->lane};
}

struct mtlm_execution {
    struct mtlm_executed *node; /* [n] sorted by place, then program */
    int n;
    int64_t makespan_ns; /* from the first start to the last end */
};

/* Evaluates the programs.  The caller frees the result with
 * mtlm_execution_free().  Programs that deadlock are a bug; an assertion then
 * ends the process. */
struct mtlm_execution mtlm_evaluate_program(
    const struct mtlm_evaluate_program *job);

/* Sorts the nodes by place, then by program. */
void mtlm_execution_sort(struct mtlm_execution *run);

/* Frees the nodes of the execution. */
void mtlm_execution_free(struct mtlm_execution *run);

/* Returns the collectives of program[program] in one iteration, in order of
 * starts.  Sets *n to their number.  Each is a number in program order, 0 .. *n
 * - 1.  The orders of all ranks agree, and respect all dependencies.  The
 * caller frees the result. */
int *mtlm_execution_collectives(const struct mtlm_execution *run, int program,
                                int iteration, int *n);

#endif /* MTLM_GRAPH_EVALUATE_PROGRAM_H */
