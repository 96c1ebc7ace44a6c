#ifndef MTLM_GRAPH_RUN_H
#define MTLM_GRAPH_RUN_H

#include "graph/run/collective_plan.h"
#include "graph/run/synthetic.h"
#include "runtime/machine/recorder.h"

/* Turns a program's items into StarPU tasks and messages.  Only submit*.c
 * submit anything; StarPU and the engine are running. */
struct mtlm_engine;
struct mtlm_run;

/* All pointers are borrowed. */
struct mtlm_run_config {
    const struct mtlm_program *program;
    struct mtlm_engine *engine;
    struct mtlm_recorder *recorder; /* NULL: nothing is recorded */
    int rank;
    int max_tag;                /* the largest that a message may have */
    int64_t iteration, samples; /* done and consumed before the run */
    /* Called from any thread whenever a node of a microbatch has ended, with
     * the part that it is of what this rank does for the microbatch, by FLOPs
     * (NULL: not). */
    void (*done)(double part);
    const struct mtlm_synthetic *synthetic; /* NULL: everything is computed */
    /* What the engine's order needs to be told (runtime/comm/engine.h): with a
     * plan, that; by slot, how many there are; else NULL and 0. */
    const struct mtlm_collective_plan *plan;
    int slots;
};

/* Registers the memory of every tensor. */
struct mtlm_run *mtlm_run_create(const struct mtlm_run_config *config);

/* Frees the memory; all that was submitted is done (mtlm_run_wait()). */
void mtlm_run_destroy(struct mtlm_run *run);

/* Submits initial values; iteration e (0-based); a piece of a validation after
 * iteration e (mtlm_program_pieces()), whose samples are always the first ones;
 * copies of what this rank writes of a checkpoint (graph/build/save.h) as
 * iteration e leaves it, which is the last one submitted, over those of before.
 * They return at once.  record: whether the nodes are recorded. */
void mtlm_run_init(struct mtlm_run *run);
void mtlm_run_iteration(struct mtlm_run *run, int64_t iteration, bool record);
void mtlm_run_validation(struct mtlm_run *run, int64_t iteration, int64_t piece,
                         bool record);
void mtlm_run_save(struct mtlm_run *run, int64_t iteration, bool record);

/* Nodes submitted so far. */
int64_t mtlm_run_submitted(const struct mtlm_run *run);

/* Waits for the report of iteration e, or of one of the last two pieces that
 * were submitted of a validation, and copies it. */
void mtlm_run_report(struct mtlm_run *run, int64_t iteration,
                     double report[MTLM_CONTROL_COUNT]);
/* The norm of all weights after iteration e; the program computes it. */
double mtlm_run_params_norm(struct mtlm_run *run, int64_t iteration);
void mtlm_run_eval_report(struct mtlm_run *run, int64_t piece,
                          double report[MTLM_STATUS_EXTRA]);

/* Waits until everything submitted is done. */
void mtlm_run_wait(struct mtlm_run *run);

/* Such a copy, one of the parameters' `saved`, which stays as it is until the
 * next mtlm_run_save(); waits for it.  From any thread. */
const void *mtlm_run_saved(const struct mtlm_run *run,
                           const struct mtlm_tensor *tensor);

/* Copies a tensor's elements (slot 0) to memory; waits for its writers. */
void mtlm_run_read(struct mtlm_run *run, const struct mtlm_tensor *tensor,
                   void *memory);

/* The other way round: what follows reads these. */
void mtlm_run_write(struct mtlm_run *run, const struct mtlm_tensor *tensor,
                    const void *memory);

/* Calls seen(arg) in every following iteration when the gradients are
 * complete and not yet used, for mtlm_run_read(); NULL: no more. */
void mtlm_run_on_gradients(struct mtlm_run *run, void (*seen)(void *arg),
                           void *arg);

/* Calls seen(arg, i) in every following validation when its microbatch i has
 * been submitted and no later one; NULL: no more.  Then
 * mtlm_run_read_microbatch() copies what it wrote to an activation, once it
 * has. */
void mtlm_run_on_validated(struct mtlm_run *run,
                           void (*seen)(void *arg, int64_t microbatch),
                           void *arg);
void mtlm_run_read_microbatch(struct mtlm_run *run,
                              const struct mtlm_tensor *tensor,
                              int64_t microbatch, void *memory);

/* Makes one value of an activation NaN in iteration, on the rank that holds
 * the first layer: for tests of what happens then.  -1: never. */
void mtlm_run_poison(struct mtlm_run *run, int64_t iteration);

/* The first node, in the order of execution on one rank alone, that made a
 * value that is not finite. */
struct mtlm_bad_node {
    bool found;
    int64_t order;  /* smaller: earlier in the model's data flow */
    char text[160]; /* "attention_fwd of layer 3, microbatch 2, stage 1" */
};

/* Runs iteration again with a check after each node.  For an iteration whose
 * step was skipped: the weights are still those it started with. */
void mtlm_run_find_bad_node(struct mtlm_run *run, int64_t iteration,
                            struct mtlm_bad_node *bad);

#endif /* MTLM_GRAPH_RUN_H */
