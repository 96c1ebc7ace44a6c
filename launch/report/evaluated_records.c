/* Makes records of the nodes of evaluated programs. */

#include "config.h"

#include <stdlib.h>

#include "launch/report/evaluated_records.h"
#include "runtime/base/memory.h"

/* Returns the worker that is free first, for the next node. */
static int take_worker(int64_t *free_ns, int workers,
                       const struct mtlm_executed *node)
{
    int first = 0;

    for (int w = 1; w < workers; w++)
        if (free_ns[w] < free_ns[first])
            first = w;
    free_ns[first] = node->end_ns;
    return first;
}

int *mtlm_evaluated_records_workers(const struct mtlm_execution *run,
                                    int programs, int workers)
{
    int64_t *free_ns =
        mtlm_calloc((size_t) programs * workers, sizeof(*free_ns));
    int *worker = mtlm_calloc(run->n, sizeof(*worker));

    for (int i = 0; i < run->n; i++) {
        const struct mtlm_executed *x = &run->node[i];

        worker[i] =
            x->node->lane == MTLM_LANE_COMPUTE
                ? take_worker(free_ns + x->program * workers, workers, x)
                : -1;
    }
    free(free_ns);
    return worker;
}

struct mtlm_record mtlm_evaluated_records_make(const struct mtlm_executed *x,
                                               int worker)
{
    const struct mtlm_call *call = &x->node->call;
    const bool p2p = mtlm_ops[call->kind]->op_class == MTLM_CLASS_P2P;

    return (struct mtlm_record){.rank = x->program,
                                .worker = worker,
                                .lane = x->node->lane,
                                .phase = mtlm_node_pass(x->node),
                                .op = call->kind,
                                .iteration = x->iteration,
                                .microbatch = x->microbatch,
                                .stage = x->node->stage,
                                .layer = x->node->layer,
                                .peer = p2p ? call->attr.p2p.peer : -1,
                                .group = -1,
                                .group_root = -1,
                                .job = x->place,
                                .match = -1,
                                .submit_ns = x->start_ns,
                                .ready_ns = x->start_ns,
                                .start_ns = x->start_ns,
                                .end_ns = x->end_ns,
                                .flops = x->node->flops,
                                .bytes = mtlm_node_bytes(x->node)};
}

struct mtlm_record *mtlm_evaluated_records_list(
    const struct mtlm_execution *run, int programs, int workers, int first,
    int last, size_t *n)
{
    int *worker = mtlm_evaluated_records_workers(run, programs, workers);
    struct mtlm_record *list = mtlm_calloc(run->n, sizeof(*list));

    *n = 0;
    for (int i = 0; i < run->n; i++) {
        const struct mtlm_executed *x = &run->node[i];

        if (x->iteration >= first && x->iteration <= last)
            list[(*n)++] = mtlm_evaluated_records_make(x, worker[i]);
    }
    free(worker);
    return list;
}
