/* The graph of a simulated iteration as Chakra execution traces: a file for
 * each rank of the job. */

#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/build/stage.h"
#include "launch/plan/step.h"
#include "launch/report/evaluated_records.h"
#include "launch/simulate/graph_ranks.h"
#include "launch/simulate/program_tasks.h"
#include "launch/trace/export/export.h"
#include "runtime/base/memory.h"
#include "runtime/file/unfinished.h"

/* One program, and the ranks that it stands for. */
struct graph_ranks {
    const struct mtlm_folded_run *run;
    int length; /* of PREFIX in path */
    const char *path;
    const struct mtlm_executed **node; /* [n] in order of starts */
    struct mtlm_record *record;        /* [n] */
    int n;
    struct mtlm_gathered edges;
    int files;      /* written so far */
    int unfinished; /* files that a signal removes */
};

/* Returns the tag of a message: send and receive share it, and no other message
 * between the two ranks has it. */
static int64_t tag_of(const struct mtlm_program_config *config,
                      const struct mtlm_executed *x)
{
    const int64_t tags =
        (int64_t) mtlm_stage_tags(config) * mtlm_layout_stages(&config->layout);
    const int64_t microbatch = x->microbatch < 0 ? 0 : x->microbatch;

    return x->node->call.attr.p2p.tag
           + microbatch % mtlm_stage_tag_microbatches(config, INT32_MAX) * tags;
}

static struct mtlm_record make_record(const struct mtlm_program_config *config,
                                      const struct mtlm_executed *x)
{
    struct mtlm_record r = mtlm_evaluated_records_make(x, -1);

    r.rank = MTLM_TRACE_MERGED;
    r.job = x->place + 1;
    r.priority = x->item->priority;
    if (r.peer >= 0)
        r.match = tag_of(config, x);
    return r;
}

/* Takes the nodes and edges of a program. */
static void take_program(struct graph_ranks *g, int number)
{
    const struct mtlm_execution *run = &g->run->execution;
    const struct mtlm_program *program = g->run->programs.program[number];

    g->n = 0;
    g->node = mtlm_calloc(program->train.n, sizeof(*g->node));
    g->record = mtlm_calloc(program->train.n, sizeof(*g->record));
    for (int i = 0; i < run->n; i++) {
        if (run->node[i].program != number)
            continue;
        g->record[g->n] = make_record(&program->config, &run->node[i]);
        g->node[g->n++] = &run->node[i];
    }
    mtlm_program_tasks_add(&g->edges, g->run, number);
    mtlm_program_tasks_sort_edges(&g->edges);
}

static void drop_program(struct graph_ranks *g)
{
    mtlm_gathered_free(&g->edges);
    g->edges = (struct mtlm_gathered){0};
    free(g->record);
    free(g->node);
}

/* Makes the records those of a rank: its peers, and the roots of its groups.
 * Both ends of a message have the same place in their groups. */
static void place_records(struct graph_ranks *g,
                          const struct mtlm_layout *layout)
{
    const int offset = layout->tp_rank + layout->tp * layout->dp_rank;

    for (int i = 0; i < g->n; i++) {
        const struct mtlm_call *call = &g->node[i]->node->call;
        struct mtlm_record *r = &g->record[i];

        if (r->peer >= 0)
            r->peer = call->attr.p2p.peer + offset;
        if (mtlm_ops[call->kind]->op_class != MTLM_CLASS_COLLECTIVE)
            continue;
        r->group = call->attr.collective.group;
        r->group_root = mtlm_layout_root(layout, r->group);
    }
}

/* Returns the path of a rank's file.  The caller frees the text. */
static char *path_of(const struct graph_ranks *g, int rank)
{
    return mtlm_sprintf("%.*s.%d.et", g->length, g->path, rank);
}

/* Returns the path of the file of groups.  The caller frees the text. */
static char *path_of_groups(const struct graph_ranks *g)
{
    return mtlm_sprintf("%.*s.groups.json", g->length, g->path);
}

/* Lets a signal remove the file from now on.  Takes the path. */
static void add_unfinished(struct graph_ranks *g, char *path)
{
    mtlm_unfinished_add(path);
    g->unfinished++;
    free(path);
}

/* Lets a signal remove the rest of an earlier graph, whose first file is gone.
 */
static void add_earlier(struct graph_ranks *g)
{
    char *path;
    int rank = 1;

    for (path = path_of(g, rank); access(path, F_OK) == 0;
         path = path_of(g, ++rank))
        add_unfinished(g, path);
    free(path);
    add_unfinished(g, path_of_groups(g));
}

/* Removes the files of ranks from `first` on, up to a rank without a file.
 * Returns their number. */
static int remove_ranks(const struct graph_ranks *g, int first)
{
    int n = 0, gone;

    do {
        char *path = path_of(g, first + n);

        gone = unlink(path);
        n += gone == 0;
        free(path);
    } while (gone == 0);
    return n;
}

static void show_rank(int rank, int ranks)
{
    char *step = mtlm_sprintf("writing rank %d of %d", rank + 1, ranks);

    mtlm_step_show(step);
    free(step);
}

/* Writes the file of a rank. */
static int write_rank(struct graph_ranks *g, struct mtlm_layout layout,
                      int rank, struct mtlm_error *err)
{
    char *path = path_of(g, rank);
    const struct mtlm_trace_info info = {.edge = g->edges.edge,
                                         .n_edges = g->edges.n_edges};
    int rc;

    mtlm_layout_place(&layout, rank);
    show_rank(rank, mtlm_layout_ranks(&layout));
    place_records(g, &layout);
    rc = mtlm_trace_export_file(
        path, mtlm_trace_write_chakra,
        &(struct mtlm_trace_rank_graph){&info, g->record, (size_t) g->n, rank},
        err);
    if (rc < 0) {
        free(path);
        return -1;
    }
    add_unfinished(g, path);
    if (g->files++ == 0)
        add_earlier(g);
    return 0;
}

static int write_groups(const struct graph_ranks *g,
                        const struct mtlm_layout *layout,
                        struct mtlm_error *err)
{
    char *path = path_of_groups(g);
    const int rc =
        mtlm_trace_export_file(path, mtlm_trace_write_groups, layout, err);

    free(path);
    return rc;
}

/* Removes the files so far, and the rest of an earlier graph that lost its
 * first file to them.  Adds to the reason of the failure that no part is left.
 * Without a file so far an earlier graph is whole, and stays. */
static void remove_files(const struct graph_ranks *g, struct mtlm_error *err)
{
    char *why, *groups;

    if (g->files == 0)
        return;
    why = mtlm_strdup(err->text);
    groups = path_of_groups(g);
    for (int i = 0; i < g->files; i++) {
        char *path = path_of(g, i);

        unlink(path);
        free(path);
    }
    remove_ranks(g, g->files);
    unlink(groups);
    mtlm_error_set(err, err->code, "%s; no part of the graph is left", why);
    free(groups);
    free(why);
}

int mtlm_graph_ranks(const struct mtlm_folded_run *run, const char *path,
                     int64_t *nodes, int *old, struct mtlm_error *err)
{
    const struct mtlm_layout *l = &run->programs.program[0]->config.layout;
    const int each = l->tp * l->dp; /* ranks of a program */
    struct graph_ranks g = {
        .run = run, .path = path, .length = (int) strlen(path) - 3};
    int rc = 0;

    *nodes = 0;
    for (int p = 0; p < run->programs.n && rc == 0; p++) {
        take_program(&g, p);
        for (int i = 0; i < each && rc == 0; i++)
            rc = write_rank(&g, *l, p * each + i, err);
        *nodes += (int64_t) g.n * each;
        drop_program(&g);
    }
    if (rc == 0)
        rc = write_groups(&g, l, err);
    if (rc < 0)
        remove_files(&g, err);
    else
        *old = remove_ranks(&g, g.files);
    mtlm_unfinished_drop(g.unfinished);
    return rc;
}
