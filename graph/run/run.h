#ifndef MTLM_GRAPH_RUN_H
#define MTLM_GRAPH_RUN_H

/* Turns a program's items into StarPU tasks and messages.  Only graph/run/run.c
 * and item.c submit tasks.  StarPU and the engine must be running. */

#include "graph/run/collective_plan.h"
#include "graph/run/synthetic.h"
#include "runtime/machine/recorder.h"

struct mtlm_engine;
struct mtlm_run;

/* Configuration of a run; all pointers are borrowed. */
struct mtlm_run_config {
    const struct mtlm_program *program;
    struct mtlm_engine *engine;
    struct mtlm_recorder *recorder; /* NULL: no recording */
    int rank;
    int max_tag;                /* largest tag of a message */
    int64_t iteration, samples; /* done and consumed before the run */
    /* Called from any thread when a node of a microbatch ends; NULL: no call.
     * part: the node's share of this rank's FLOPs of the microbatch. */
    void (*done)(double part);
    const struct mtlm_synthetic *synthetic; /* NULL: compute everything */
    /* Borrowed: the order of the collectives (runtime/comm/engine.h), for an
     * engine with MTLM_ORDER_PLANNED; NULL otherwise. */
    const struct mtlm_collective_plan *plan;
};

/* Registers the memory of every tensor and returns a run.  The caller frees the
 * run with mtlm_run_destroy(). */
struct mtlm_run *mtlm_run_create(const struct mtlm_run_config *config);

/* Frees the run and its memory.  Call mtlm_run_wait() before. */
void mtlm_run_destroy(struct mtlm_run *run);

/* Submits the nodes of the initial values.  Returns before the nodes end, as do
 * the next three functions. */
void mtlm_run_init(struct mtlm_run *run);

/* Submits iteration number `iteration`, from 0.  record: the nodes are
 * recorded. Waits for all earlier nodes whenever the range of priorities starts
 * over. */
void mtlm_run_iteration(struct mtlm_run *run, int64_t iteration, bool record);

/* Submits a piece of the validation after that iteration
 * (mtlm_program_pieces()).  record: the nodes are recorded.  Validations always
 * use the first samples.  Waits while too many tasks are queued. */
void mtlm_run_validation(struct mtlm_run *run, int64_t iteration, int64_t piece,
                         bool record);

/* Submits copies of this rank's share of a checkpoint (graph/build/save.h) as
 * the iteration leaves the tensors.  record: the nodes are recorded.  The
 * iteration must be the last one submitted.  Overwrites the previous copies. */
void mtlm_run_save(struct mtlm_run *run, int64_t iteration, bool record);

/* Returns the number of nodes submitted so far. */
int64_t mtlm_run_submitted(const struct mtlm_run *run);

/* Waits for the report of an iteration and copies the report.  One of the last
 * two iterations only. */
void mtlm_run_report(struct mtlm_run *run, int64_t iteration,
                     double report[MTLM_CONTROL_COUNT]);

/* Returns the norm of all weights after an iteration, one of the last two.
 * Waits for the norm; the program must compute it (config.params_norm). */
double mtlm_run_params_norm(struct mtlm_run *run, int64_t iteration);

/* Waits for the report of a validation piece, one of the last two submitted,
 * and copies the report. */
void mtlm_run_eval_report(struct mtlm_run *run, int64_t piece,
                          double report[MTLM_STATUS_EXTRA]);

/* Waits until all submitted nodes are done. */
void mtlm_run_wait(struct mtlm_run *run);

/* Returns a checkpoint copy, one of the parameters' `saved`; the run owns the
 * copy.  Valid until the next mtlm_run_save().  Waits for the copy.  Any thread
 * may call. */
const void *mtlm_run_saved(const struct mtlm_run *run,
                           const struct mtlm_tensor *tensor);

/* Copies a tensor's elements (slot 0) to memory.  Waits for the writers. */
void mtlm_run_read(struct mtlm_run *run, const struct mtlm_tensor *tensor,
                   void *memory);

/* Copies memory to a tensor's elements (slot 0).  Later nodes read these
 * values. */
void mtlm_run_write(struct mtlm_run *run, const struct mtlm_tensor *tensor,
                    const void *memory);

/* Calls seen(arg) in every following iteration when the gradients are complete
 * and not yet used; seen may call mtlm_run_read().  NULL: stop the calls. */
void mtlm_run_on_gradients(struct mtlm_run *run, void (*seen)(void *arg),
                           void *arg);

/* Calls seen(arg, i) in every following validation when microbatch i is
 * submitted and no later one; seen may call mtlm_run_read_microbatch().  NULL:
 * stop the calls. */
void mtlm_run_on_validated(struct mtlm_run *run,
                           void (*seen)(void *arg, int64_t microbatch),
                           void *arg);

/* Copies an activation of that microbatch to memory.  Waits for the writers. */
void mtlm_run_read_microbatch(struct mtlm_run *run,
                              const struct mtlm_tensor *tensor,
                              int64_t microbatch, void *memory);

/* For tests: makes one value of an activation NaN in that iteration, on the
 * rank that holds the first layer.  -1: never. */
void mtlm_run_poison(struct mtlm_run *run, int64_t iteration);

/* The first node that wrote a value that is not finite, in the order of serial
 * execution. */
struct mtlm_bad_node {
    bool found;
    int64_t order;  /* ascending along the model's data flow */
    char text[160]; /* "attention_fwd of layer 3, microbatch 2, stage 1" */
};

/* Runs the iteration again with a check after each node and sets *bad.  The
 * iteration's step must have been skipped, so the weights are unchanged. */
void mtlm_run_find_bad_node(struct mtlm_run *run, int64_t iteration,
                            struct mtlm_bad_node *bad);

#endif /* MTLM_GRAPH_RUN_H */
