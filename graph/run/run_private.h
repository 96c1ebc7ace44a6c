#ifndef MTLM_GRAPH_RUN_PRIVATE_H
#define MTLM_GRAPH_RUN_PRIVATE_H

/* A run's state, and the submission of one item: for run.c, item.c and
 * decoder.c only. */

#include "graph/run/held.h"
#include "graph/run/run.h"
#include "graph/schedule/priority.h"

struct mtlm_run {
    struct mtlm_run_config config;
    const struct mtlm_program *program;
    struct mtlm_priority priority;
    struct mtlm_ramp ramp;
    struct mtlm_ramp_place begin; /* position of the first iteration */
    /* position of the last submitted iteration */
    struct mtlm_ramp_place place;
    struct mtlm_run_data data;
    struct mtlm_held *held; /* NULL: no units, or no GPU */
    /* The iteration submitted last, whose versions the host reads; before the
     * first one, a number with the same versions as the iteration before. */
    int64_t version;
    int64_t job;                      /* number of the next node */
    struct mtlm_run_record *recorded; /* NULL without a recorder */
    struct mtlm_run_watch *watch;     /* NULL: no policy watches nodes */
    int64_t tag_microbatches;         /* consecutive microbatches with different
                                       * tags */
    int64_t poison;                   /* iteration, -1: none */
    double train_flops, eval_flops;   /* FLOPs of a microbatch on this rank */
    void (*gradients_seen)(void *arg);
    void *gradients_arg;
    void (*validated)(void *arg, int64_t microbatch);
    void *validated_arg;
    struct mtlm_checker *checker; /* set during mtlm_run_find_bad_node() */
};

/* A submission of a list of items: for an iteration, a piece of a validation, a
 * save, or generation. */
struct mtlm_list_submission {
    int64_t iteration;
    int64_t first_microbatch; /* number of microbatch 0 in the run: for tags of
                               * messages */
    int64_t first_use;        /* use number of microbatch 0: for slots */
    int64_t first_sample;     /* of the iteration */
    int64_t microbatches;     /* in the iteration; 0: all */
    int64_t first;            /* number of microbatch 0 in a validation */
    int64_t last_use;         /* use number of nodes without a microbatch */
    int64_t batch;            /* samples of the iteration on all ranks */
    double share;             /* weight of a microbatch in the losses */
    double flops;             /* FLOPs of a microbatch on this rank */
    int64_t position, rows;   /* see struct mtlm_context */
    bool record;
    bool times_only; /* with record: as MTLM_RECORDING_TIMES */
};

/* Returns the number of the item's microbatch in the iteration or validation;
 * -1: none. */
static inline int64_t mtlm_list_submission_microbatch(
    const struct mtlm_list_submission *submission, const struct mtlm_item *item)
{
    return item->microbatch < 0 ? -1 : submission->first + item->microbatch;
}

/* Submits one item: a StarPU task, a message to the engine, or a request to the
 * disk. */
void mtlm_run_submit_item(struct mtlm_run *run, const struct mtlm_item *item,
                          const struct mtlm_list_submission *submission);

/* Waits for all nodes where priorities start over at that iteration, or at that
 * token of generation: no older node may remain (graph/schedule/priority.h). */
void mtlm_run_wait_for_cycle(struct mtlm_run *run, int64_t iteration);

#endif /* MTLM_GRAPH_RUN_PRIVATE_H */
