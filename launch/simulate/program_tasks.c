/* Gathers the dependencies and operands of the tasks of an evaluated run. */

#include "config.h"

#include <stdlib.h>

#include "graph/run/record.h"
#include "launch/simulate/program_tasks.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

/* Returns the task of each item of a program; the caller frees the array. */
static int64_t *find_tasks(const struct mtlm_execution *run, int program,
                           const struct mtlm_items *items)
{
    int64_t *task = mtlm_calloc(items->n, sizeof(*task));

    for (int i = 0; i < run->n; i++)
        if (run->node[i].program == program)
            task[run->node[i].item - items->item] = run->node[i].place + 1;
    return task;
}

/* Adds an edge of the newest job, unless the job has the edge. */
static void add_edge(struct mtlm_recorder *recorder,
                     const struct mtlm_record_edge *added)
{
    size_t n;
    const struct mtlm_record_edge *edge = mtlm_recorder_edges(recorder, &n);

    for (; n > 0 && edge[n - 1].job == added->job; n--)
        if (edge[n - 1].on == added->on)
            return;
    mtlm_recorder_add_edge(recorder, added);
}

void mtlm_program_tasks_chain(const struct mtlm_folded_run *run,
                              const struct mtlm_program *program,
                              const struct mtlm_item *item,
                              struct mtlm_recorder *recorder, int64_t *link)
{
    const struct mtlm_record_edge edge = {.job = item - program->train.item,
                                          .on = *link};

    if (!mtlm_folded_run_chains(run)
        || !mtlm_pipeline_programs_chained((void *) &run->programs, program,
                                           item))
        return;
    if (edge.on >= 0)
        add_edge(recorder, &edge);
    *link = edge.job;
}

/* Records the items of a program. */
static void record_items(const struct mtlm_folded_run *run,
                         const struct mtlm_program *program,
                         struct mtlm_recorder *recorder)
{
    struct mtlm_run_record *records = mtlm_run_record_create(program, recorder);
    int64_t link = -1;

    mtlm_run_record_list(records, true);
    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_item *item = &program->train.item[i];
        struct mtlm_record record = {.job = i};

        mtlm_run_record_node(records, item,
                             item->microbatch < 0 ? 0 : item->microbatch,
                             &record);
        mtlm_program_tasks_chain(run, program, item, recorder, &link);
    }
    mtlm_run_record_destroy(records);
}

void mtlm_program_tasks_add(struct mtlm_gathered *all,
                            const struct mtlm_folded_run *run, int number)
{
    const struct mtlm_program *program = run->programs.program[number];
    int64_t *task = find_tasks(&run->execution, number, &program->train);
    struct mtlm_recorder *recorder = mtlm_recorder_create();
    const size_t edges = all->n_edges, uses = all->n_uses, data = all->n_data;

    record_items(run, program, recorder);
    mtlm_gathered_add(all, MTLM_TRACE_MERGED, recorder);
    for (size_t i = edges; i < all->n_edges; i++) {
        all->edge[i].job = task[all->edge[i].job];
        all->edge[i].on_job = task[all->edge[i].on_job];
    }
    for (size_t i = uses; i < all->n_uses; i++) {
        all->use[i].job = task[all->use[i].job];
        all->use[i].data += (int32_t) data;
    }
    for (size_t i = data; i < all->n_data; i++)
        all->data[i].data = (int32_t) i;
    mtlm_recorder_destroy(recorder);
    free(task);
}

static int by_task(const void *pa, const void *pb)
{
    const struct mtlm_trace_edge *a = pa, *b = pb;
    const int jobs = mtlm_compare(a->job, b->job);

    return jobs ? jobs : mtlm_compare(a->on_job, b->on_job);
}

void mtlm_program_tasks_sort_edges(struct mtlm_gathered *all)
{
    size_t n = 0;

    if (all->n_edges > 0)
        qsort(all->edge, all->n_edges, sizeof(*all->edge), by_task);
    for (size_t i = 0; i < all->n_edges; i++) {
        const struct mtlm_trace_edge e = all->edge[i];

        if (e.job != e.on_job
            && (n == 0 || by_task(&all->edge[n - 1], &e) != 0))
            all->edge[n++] = e;
    }
    all->n_edges = n;
}
