#ifndef MTLM_GRAPH_RUN_PRIVATE_H
#define MTLM_GRAPH_RUN_PRIVATE_H

#include "graph/run/data.h"
#include "graph/run/run.h"
#include "graph/schedule/priority.h"

/* What run.c and item.c share. */

struct mtlm_run {
    struct mtlm_run_config config;
    const struct mtlm_program *program;
    struct mtlm_priority priority;
    struct mtlm_ramp ramp;
    struct mtlm_ramp_place begin; /* of the first iteration */
    struct mtlm_ramp_place place; /* of the iteration submitted last */
    struct mtlm_run_data data;
    int64_t job;
    struct mtlm_run_record *recorded; /* NULL without a recorder */
    struct mtlm_run_watch *watch;     /* NULL: no policy wants to know */
    int64_t tag_microbatches;         /* that tags tell apart */
    int64_t poison;                   /* iteration, -1: none */
    double train_flops, eval_flops;   /* of this rank's microbatch */
    void (*gradients_seen)(void *arg);
    void *gradients_arg;
    void (*validated)(void *arg, int64_t microbatch);
    void *validated_arg;
    struct mtlm_checker *checker; /* while looking for a bad node */
};

/* Which iteration of what an item is submitted for. */
struct mtlm_pass {
    int64_t iteration;
    int64_t first_microbatch; /* number, over the run, of microbatch 0 */
    int64_t first_sample;     /* of the iteration */
    int64_t microbatches;     /* of the iteration; 0: all that there are */
    int64_t first;    /* of a validation: number in it of microbatch 0 */
    int64_t last_use; /* number that nodes of no microbatch have */
    int64_t batch;    /* samples of the iteration, over all ranks */
    double share;     /* of a microbatch in the losses */
    double flops;     /* of a microbatch on this rank */
    bool record;
};

/* Number of an item's microbatch in the iteration or the validation; -1: of
 * none. */
static inline int64_t mtlm_pass_microbatch(const struct mtlm_pass *pass,
                                           const struct mtlm_item *item)
{
    return item->microbatch < 0 ? -1 : pass->first + item->microbatch;
}

/* Submits one item: a StarPU task, or a message that the engine is told of. */
void mtlm_run_submit_item(struct mtlm_run *run, const struct mtlm_item *item,
                          const struct mtlm_pass *pass);

#endif /* MTLM_GRAPH_RUN_PRIVATE_H */
