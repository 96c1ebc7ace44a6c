/* Describes submitted nodes to scheduling policies. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/dependencies.h"
#include "graph/build/policy_facts.h"
#include "graph/run/watch.h"
#include "runtime/base/memory.h"

struct mtlm_run_watch {
    struct mtlm_policy_facts facts;
    struct mtlm_dependencies *dependencies;
    struct mtlm_policy_times *times; /* [nodes of the graph] */
    /* [n_places] of the iteration's collectives, by number in program order */
    int *place;
    int n_places, collectives; /* number of collectives so far */
};

struct mtlm_run_watch *mtlm_run_watch_create(const struct mtlm_program *program,
                                             int workers)
{
    struct mtlm_run_watch *w;

    mtlm_policy_facts_tell(program, 0, workers);
    if (!mtlm_policy_nodes_wanted())
        return NULL;
    w = mtlm_calloc(1, sizeof(*w));
    w->facts = mtlm_policy_facts_create(program);
    w->dependencies = mtlm_dependencies_create(program->graph);
    /* Only the start of the run writes a constant control: the record would
     * keep each reader for ever. */
    if (program->pass_control != program->control)
        mtlm_dependencies_fix(w->dependencies, program->pass_control);
    w->times = mtlm_calloc(program->graph->all.n, sizeof(*w->times));
    return w;
}

void mtlm_run_watch_destroy(struct mtlm_run_watch *w)
{
    if (!w)
        return;
    mtlm_policy_facts_free(&w->facts);
    mtlm_dependencies_destroy(w->dependencies);
    free(w->times);
    free(w->place);
    free(w);
}

void mtlm_run_watch_fix(struct mtlm_run_watch *w,
                        const struct mtlm_tensor *tensor)
{
    if (w)
        mtlm_dependencies_fix(w->dependencies, tensor);
}

void mtlm_run_watch_plan(struct mtlm_run_watch *w,
                         const struct mtlm_collective_plan *plan,
                         int64_t microbatches)
{
    int *order;

    if (!w || !plan)
        return;
    order = mtlm_calloc(plan->n, sizeof(*order));
    w->place = mtlm_realloc(w->place, plan->n, sizeof(*w->place));
    w->n_places = mtlm_collective_plan_of(plan, microbatches, order);
    w->collectives = 0;
    for (int i = 0; i < w->n_places; i++)
        w->place[order[i]] = i;
    free(order);
}

struct mtlm_policy_node *mtlm_run_watch_node(
    struct mtlm_run_watch *w, const struct mtlm_item *item, int64_t use,
    const struct mtlm_record *record, int64_t microbatches, int64_t modelled_ns)
{
    const struct mtlm_node *node = item->node;
    struct mtlm_policy_node about;
    struct mtlm_submission at;
    struct mtlm_predecessors on;

    if (!w)
        return NULL;
    about = mtlm_policy_facts_node(&w->facts, node);
    about.job = record->job;
    about.iteration = record->iteration;
    about.microbatch = record->microbatch;
    about.microbatches = (int) microbatches;
    about.priority = record->priority;
    if (about.kind == MTLM_POLICY_COLLECTIVE && w->collectives < w->n_places)
        about.order = w->place[w->collectives++];
    at = (struct mtlm_submission){use, record->iteration, item->lane};
    on = mtlm_dependencies_add(w->dependencies, node, &at, record->job);
    return mtlm_policy_nodes_add(&about, on.task, on.n, &w->times[node->id],
                                 modelled_ns);
}
