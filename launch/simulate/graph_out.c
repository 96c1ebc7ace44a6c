/* The graph of a simulated iteration in the format of another tool: a file for
 * each rank, or one graph of the evaluated ranks whose messages are tasks. */

#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/plan/step.h"
#include "launch/report/evaluated_records.h"
#include "launch/simulate/graph_out.h"
#include "launch/simulate/graph_ranks.h"
#include "launch/simulate/program_tasks.h"
#include "launch/trace/export/export.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"

enum { LANES = MTLM_LANE_DP + 1 };

/* Edges, uses and data have rank MTLM_TRACE_MERGED. */
struct graph_out {
    const struct mtlm_folded_run *run;
    struct mtlm_gathered all;
    struct mtlm_record *record; /* [tasks] in order of starts */
    int *rank;                  /* [tasks] */
    int tasks;
};

/* ---- operands ---- */

static int by_task_and_data(const void *pa, const void *pb)
{
    const struct mtlm_trace_use *a = pa, *b = pb;
    const int jobs = mtlm_compare(a->job, b->job);

    return jobs ? jobs : mtlm_compare(a->data, b->data);
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
    int error = access(dir, W_OK | X_OK) < 0 ? errno : 0;
    struct stat there;

    free(dir);
    if (!error && stat(path, &there) == 0 && S_ISDIR(there.st_mode))
        error = EISDIR;
    return error ? mtlm_error_set(err, MTLM_EXIT_IO,
                                  "cannot write --graph-out %s: %s", path,
                                  strerror(error))
                 : 0;
}

static int write_merged(const struct mtlm_folded_run *run, const char *path,
                        int *tasks, struct mtlm_error *err)
{
    struct graph_out g = {.run = run};
    struct mtlm_trace_info info;
    int rc;

    for (int i = 0; i < run->programs.n; i++)
        mtlm_program_tasks_add(&g.all, run, i);
    mtlm_program_tasks_sort_edges(&g.all);
    sort_uses(&g.all);
    add_tasks(&g);
    info = (struct mtlm_trace_info){.edge = g.all.edge,
                                    .n_edges = g.all.n_edges,
                                    .use = g.all.use,
                                    .n_uses = g.all.n_uses,
                                    .data = g.all.data,
                                    .n_data = g.all.n_data};
    rc = mtlm_trace_export_file(
        path, mtlm_trace_write_graph,
        &(struct mtlm_trace_graph){&info, g.record, g.rank, (size_t) g.tasks},
        err);
    *tasks = g.tasks;
    mtlm_gathered_free(&g.all);
    free(g.record);
    free(g.rank);
    return rc;
}

/* Writes all ranks and prints a line about the files. */
static int write_ranks(const struct mtlm_folded_run *run, const char *path,
                       FILE *out, struct mtlm_error *err)
{
    const struct mtlm_layout *l = &run->programs.program[0]->config.layout;
    const int ranks = mtlm_layout_ranks(l), prefix = (int) strlen(path) - 3;
    int64_t nodes;
    int old;
    const int rc = mtlm_graph_ranks(run, path, &nodes, &old, err);

    mtlm_step_clear();
    if (rc < 0)
        return -1;
    fprintf(out,
            "\nGraph in %.*s.0.et to %.*s.%d.et: %" PRId64
            " nodes of %d rank%s; groups in %.*s.groups.json\n",
            prefix, path, prefix, path, ranks - 1, nodes, ranks,
            mtlm_plural(ranks), prefix, path);
    if (old > 0)
        fprintf(out,
                "Removed the file%s of %d further rank%s, of an earlier graph "
                "of that name\n",
                mtlm_plural(old), old, mtlm_plural(old));
    return 0;
}

int mtlm_graph_out(const struct mtlm_folded_run *run, const char *path,
                   FILE *out, struct mtlm_error *err)
{
    int tasks, rc;

    if (strcmp(strrchr(path, '.'), ".et") == 0)
        return write_ranks(run, path, out, err);
    mtlm_step_show("writing the graph");
    rc = write_merged(run, path, &tasks, err);
    mtlm_step_clear();
    if (rc == 0)
        fprintf(out, "\nGraph in %s: %d tasks of %d rank%s\n", path, tasks,
                run->programs.n, mtlm_plural(run->programs.n));
    return rc;
}
