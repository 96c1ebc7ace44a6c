#ifndef MTLM_GRAPH_RUN_H
#define MTLM_GRAPH_RUN_H

/* Turns a program's items into StarPU tasks and messages.  Only
 * graph/run/item.c submits tasks of nodes.  StarPU and the engine must be
 * running. */

#include "codelets/control_slots.h"
#include "graph/run/collective_plan.h"
#include "graph/run/synthetic.h"
#include "runtime/disk/pieces.h"
#include "runtime/machine/recorder.h"

struct mtlm_engine;
struct mtlm_io;
struct mtlm_run;

/* Configuration of a run; all pointers are borrowed. */
struct mtlm_run_config {
    const struct mtlm_program *program;
    struct mtlm_engine *engine;
    /* Offloaded state and its threads; empty without such state. */
    struct mtlm_pieces pieces;
    struct mtlm_io *io;
    struct mtlm_recorder *recorder; /* NULL: no recording */
    int rank;
    int workers;                /* of this rank that compute */
    int max_tag;                /* largest tag of a message */
    int64_t iteration, samples; /* done and consumed before the run */
    /* mtlm_run_submitted() of the run before, in this process: numbers of nodes
     * go on. */
    int64_t submitted;
    /* Called from any thread when a task of a microbatch with FLOPs ends; NULL:
     * no call.  part: the task's share of this rank's FLOPs of the
     * microbatch. */
    void (*done)(double part);
    const struct mtlm_synthetic *synthetic; /* NULL: compute everything */
    /* The order of the collectives (runtime/comm/engine.h), for an engine with
     * MTLM_ORDER_PLANNED; NULL otherwise. */
    const struct mtlm_collective_plan *plan;
};

/* Registers the memory of every tensor and returns a run.  The caller frees the
 * run with mtlm_run_destroy(). */
struct mtlm_run *mtlm_run_create(const struct mtlm_run_config *config);

/* Frees the run and its memory.  Call mtlm_run_wait() before. */
void mtlm_run_destroy(struct mtlm_run *run);

/* Submits the nodes that set the initial values.  Does not wait for these
 * nodes. */
void mtlm_run_init(struct mtlm_run *run);

/* What the recorder keeps of the nodes of an iteration. */
enum mtlm_recording {
    MTLM_RECORDING_NOTHING,
    MTLM_RECORDING_TIMES, /* records; no dependencies and no uses of data */
    MTLM_RECORDING_ALL,
};

/* Submits iteration number `iteration`, from 0.  Does not wait for its nodes.
 * Waits for all earlier nodes when priorities start over
 * (mtlm_priority_cycle()). */
void mtlm_run_iteration(struct mtlm_run *run, int64_t iteration,
                        enum mtlm_recording recording);

/* Records no later node: nodes then cost what they cost without a recorder. */
void mtlm_run_end_records(struct mtlm_run *run);

/* Submits piece number `piece`, from 0, of the validation after that iteration
 * (mtlm_program_pieces()).  record: the nodes are recorded.  Every validation
 * uses the same samples: the first ones.  Waits while more tasks are queued
 * than two iterations have. */
void mtlm_run_validation(struct mtlm_run *run, int64_t iteration, int64_t piece,
                         bool record);

/* Submits the nodes that copy this rank's share of a checkpoint
 * (graph/build/save.h).  The copies hold the values after `iteration`, which
 * must be the last one submitted.  record: the nodes are recorded.  Does not
 * wait for these nodes.  Overwrites the previous copies. */
void mtlm_run_save(struct mtlm_run *run, int64_t iteration, bool record);

/* Returns the number of tasks and messages submitted so far, config.submitted
 * included. */
int64_t mtlm_run_submitted(const struct mtlm_run *run);

/* Waits for the report of an iteration and copies the report.  The iteration
 * must be one of the last two submitted. */
void mtlm_run_report(struct mtlm_run *run, int64_t iteration,
                     double report[MTLM_CONTROL_COUNT]);

/* Returns the norm of all weights after an iteration, one of the last two
 * submitted.  Waits for the norm.  Needs config.params_norm. */
double mtlm_run_params_norm(struct mtlm_run *run, int64_t iteration);

/* Waits for the report of a validation piece, one of the last two submitted,
 * and copies the report. */
void mtlm_run_eval_report(struct mtlm_run *run, int64_t piece,
                          double report[MTLM_STATUS_EXTRA]);

/* Waits until all submitted nodes are done. */
void mtlm_run_wait(struct mtlm_run *run);

/* Returns the values of a checkpoint copy; tensor is one of a parameter's
 * `saved`.  The run owns the values, which are valid until the next
 * mtlm_run_save().  NULL: the copy lies on the disk, for
 * mtlm_run_saved_read().  Waits for the copy.  Any thread may call. */
const void *mtlm_run_saved(const struct mtlm_run *run,
                           const struct mtlm_tensor *tensor);

/* Reads a copy that lies on the disk; memory has room for the tensor.  Call
 * after mtlm_run_saved(), from any thread.  A disk that fails ends the job. */
void mtlm_run_saved_read(const struct mtlm_run *run,
                         const struct mtlm_tensor *tensor, void *memory);

/* Copies a tensor's elements to memory: slot 0, or the version that the
 * iteration submitted last makes.  Waits for the writers. */
void mtlm_run_read(struct mtlm_run *run, const struct mtlm_tensor *tensor,
                   void *memory);

/* Copies memory to a tensor's elements: slot 0; all versions of a weight; or
 * its version before.  Waits for the tensor's users.  Nodes submitted later
 * read these values. */
void mtlm_run_write(struct mtlm_run *run, const struct mtlm_tensor *tensor,
                    const void *memory);

/* Calls seen(arg) in every following iteration, before the optimizer is
 * submitted.  seen may call mtlm_run_read(), which waits for the complete
 * gradients.  NULL: stop the calls. */
void mtlm_run_on_gradients(struct mtlm_run *run, void (*seen)(void *arg),
                           void *arg);

/* Calls seen(arg, i) in every following validation after the submission of
 * microbatch i, before any later one.  seen may call
 * mtlm_run_read_microbatch().  NULL: stop the calls. */
void mtlm_run_on_validated(struct mtlm_run *run,
                           void (*seen)(void *arg, int64_t microbatch),
                           void *arg);

/* Copies the activation `tensor` of that microbatch to memory.  Waits for the
 * writers. */
void mtlm_run_read_microbatch(struct mtlm_run *run,
                              const struct mtlm_tensor *tensor,
                              int64_t microbatch, void *memory);

/* For tests: makes one element of an activation NaN in that iteration, on the
 * first rank that holds layer 0.  -1: never. */
void mtlm_run_poison(struct mtlm_run *run, int64_t iteration);

/* The first node, in the order of serial execution, that wrote a value that is
 * not finite. */
struct mtlm_bad_node {
    bool found;
    int64_t order;  /* ascending along the model's data flow */
    char text[160]; /* "attention_fwd of layer 3, microbatch 2, stage 1" */
};

/* Runs the microbatches of the iteration again, with a check after each task,
 * and sets *bad.  The optimizer must have skipped the iteration and all later
 * ones, so the newest weights are unchanged.  With two versions
 * (graph/build/version.h), those are the weights of the step after: the
 * iteration's own are overwritten.  Waits for all nodes. */
void mtlm_run_find_bad_node(struct mtlm_run *run, int64_t iteration,
                            struct mtlm_bad_node *bad);

#endif /* MTLM_GRAPH_RUN_H */
