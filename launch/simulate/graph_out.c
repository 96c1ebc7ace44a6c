/* The graph of a simulated iteration: the programs of the evaluated ranks as
 * one graph, whose messages are tasks. */

#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/run/record.h"
#include "launch/report/evaluated_records.h"
#include "launch/report/trace_gather.h"
#include "launch/simulate/graph_out.h"
#include "launch/trace/export/export.h"
#include "runtime/base/memory.h"

enum { LANES = MTLM_LANE_DP + 1 };

/* Edges, uses and data have rank MTLM_TRACE_MERGED. */
struct graph_out {
    const struct mtlm_folded_run *run;
    struct mtlm_gathered all;
    struct mtlm_record *record; /* [tasks] in order of starts */
    int *rank;                  /* [tasks] */
    int tasks;
};

/* ---- dependencies and operands ---- */

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

/* Records the items of a program.  A link of the chain of published code waits
 * for the link before. */
static void record_items(const struct graph_out *g,
                         const struct mtlm_program *program,
                         struct mtlm_recorder *recorder)
{
    struct mtlm_run_record *records = mtlm_run_record_create(program, recorder);
    const bool chains = g->run->cluster->profile != NULL;
    void *programs = (void *) &g->run->programs;
    int64_t link = -1;

    mtlm_run_record_pass(records, true);
    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_item *item = &program->train.item[i];
        struct mtlm_record record = {.job = i};

        mtlm_run_record_node(records, item,
                             item->microbatch < 0 ? 0 : item->microbatch,
                             &record);
        if (!chains || !mtlm_pipeline_programs_chained(programs, program, item))
            continue;
        if (link >= 0)
            mtlm_recorder_add_edge(
                recorder, &(struct mtlm_record_edge){.job = i, .on = link});
        link = i;
    }
    mtlm_run_record_destroy(records);
}

/* Adds a program: items become tasks, and data numbers go on. */
static void add_program(struct graph_out *g, int number)
{
    const struct mtlm_program *program = g->run->programs.program[number];
    int64_t *task = find_tasks(&g->run->execution, number, &program->train);
    struct mtlm_recorder *recorder = mtlm_recorder_create();
    struct mtlm_gathered *all = &g->all;
    const size_t edges = all->n_edges, uses = all->n_uses, data = all->n_data;

    record_items(g, program, recorder);
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

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_task(const void *pa, const void *pb)
{
    const struct mtlm_trace_edge *a = pa, *b = pb;
    const int jobs = order(a->job, b->job);

    return jobs ? jobs : order(a->on_job, b->on_job);
}

static int by_task_and_data(const void *pa, const void *pb)
{
    const struct mtlm_trace_use *a = pa, *b = pb;
    const int jobs = order(a->job, b->job);

    return jobs ? jobs : order(a->data, b->data);
}

/* Sorts the edges, each once; both ends of a message are one task. */
static void sort_edges(struct mtlm_gathered *all)
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

/* Sorts the operands; two uses of a data by one task become one. */
static void sort_uses(struct mtlm_gathered *all)
{
    size_t n = 0;

    if (all->n_uses > 0)
        qsort(all->use, all->n_uses, sizeof(*all->use), by_task_and_data);
    for (size_t i = 0; i < all->n_uses; i++) {
        const struct mtlm_trace_use u = all->use[i];

        if (n == 0 || by_task_and_data(&all->use[n - 1], &u) != 0)
            all->use[n++] = u;
        else if (all->use[n - 1].access != u.access)
            all->use[n - 1].access = MTLM_RW;
    }
    all->n_uses = n;
}

/* ---- tasks ---- */

/* A rank has its workers, then one for each lane of messages.  -1: the task
 * takes no time, and StarPU's replay runs no kernel. */
static int worker_of(const struct mtlm_executed *x, int worker, int workers)
{
    const int first = x->program * (workers + LANES - 1);

    if (x->start_ns == x->end_ns)
        return -1;
    return first + (worker >= 0 ? worker : workers + (int) x->node->lane - 1);
}

/* Makes the tasks.  A message is the task of its sender. */
static void add_tasks(struct graph_out *g)
{
    const struct mtlm_execution *run = &g->run->execution;
    const struct mtlm_layout *l = &g->run->programs.program[0]->config.layout;
    int *worker =
        mtlm_evaluated_records_workers(run, g->run->programs.n, l->workers);

    g->record = mtlm_calloc(run->n, sizeof(*g->record));
    g->rank = mtlm_calloc(run->n, sizeof(*g->rank));
    for (int i = 0; i < run->n; i++) {
        const struct mtlm_executed *x = &run->node[i];
        struct mtlm_record *r = &g->record[x->place];

        if (x->place < g->tasks && x->node->call.kind != MTLM_OP_SEND)
            continue;
        *r =
            mtlm_evaluated_records_make(x, worker_of(x, worker[i], l->workers));
        r->rank = MTLM_TRACE_MERGED;
        r->job = x->place + 1;
        r->priority = x->item->priority;
        r->submit_ns = 0;
        if (r->peer >= 0)
            r->peer /= l->tp * l->dp;
        g->rank[x->place] = x->program;
        g->tasks = x->place + 1;
    }
    free(worker);
}

/* ---- the file ---- */

int mtlm_graph_out_check(const char *path, struct mtlm_error *err)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? mtlm_sprintf("%.*s", (int) (slash - path + 1), path)
                      : mtlm_sprintf(".");
    const int error = access(dir, W_OK | X_OK) < 0 ? errno : 0;

    free(dir);
    return error ? mtlm_error_set(err, MTLM_EXIT_IO,
                                  "cannot write --graph-out %s: %s", path,
                                  strerror(error))
                 : 0;
}

int mtlm_graph_out(const struct mtlm_folded_run *run, const char *path,
                   int *tasks, struct mtlm_error *err)
{
    struct graph_out g = {.run = run};
    struct mtlm_trace_info info;
    int rc;

    for (int i = 0; i < run->programs.n; i++)
        add_program(&g, i);
    sort_edges(&g.all);
    sort_uses(&g.all);
    add_tasks(&g);
    info = (struct mtlm_trace_info){.edge = g.all.edge,
                                    .n_edges = g.all.n_edges,
                                    .use = g.all.use,
                                    .n_uses = g.all.n_uses,
                                    .data = g.all.data,
                                    .n_data = g.all.n_data};
    rc = mtlm_trace_export_graph(
        path,
        &(struct mtlm_trace_graph){&info, g.record, g.rank, (size_t) g.tasks},
        err);
    *tasks = g.tasks;
    mtlm_gathered_free(&g.all);
    free(g.record);
    free(g.rank);
    return rc;
}
