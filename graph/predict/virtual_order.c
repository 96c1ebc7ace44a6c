/* Edges between the nodes of an evaluation, and a topological order of its
 * tasks. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "graph/order/task_heap.h"
#include "graph/predict/virtual_order.h"
#include "runtime/base/memory.h"

/* ---- program order ---- */

static const struct mtlm_execution *sorted; /* of compare_items() */

static int compare_items(const void *a, const void *b)
{
    const struct mtlm_executed *x = &sorted->node[*(const int *) a];
    const struct mtlm_executed *y = &sorted->node[*(const int *) b];

    if (x->program != y->program)
        return x->program - y->program;
    if (x->iteration != y->iteration)
        return x->iteration - y->iteration;
    return x->item < y->item ? -1 : x->item > y->item;
}

static void sort_items(struct mtlm_virtual_order *o)
{
    const int n = o->run->n;

    o->node = mtlm_calloc(n, sizeof(*o->node));
    o->position = mtlm_calloc(n, sizeof(*o->position));
    o->first = mtlm_calloc(o->programs + 1, sizeof(*o->first));
    for (int i = 0; i < n; i++) {
        o->node[i] = i;
        o->first[o->run->node[i].program + 1]++;
    }
    for (int p = 0; p < o->programs; p++)
        o->first[p + 1] += o->first[p];
    sorted = o->run;
    qsort(o->node, n, sizeof(*o->node), compare_items);
    for (int i = 0; i < n; i++)
        o->position[o->node[i]] =
            i - o->first[o->run->node[o->node[i]].program];
}

static void list_members(struct mtlm_virtual_order *o)
{
    const int n = o->run->n;
    int *next;

    for (int i = 0; i < n; i++)
        if (o->run->node[i].task >= o->tasks)
            o->tasks = o->run->node[i].task + 1;
    o->first_member = mtlm_calloc(o->tasks + 1, sizeof(*o->first_member));
    o->member = mtlm_calloc(n, sizeof(*o->member));
    next = mtlm_calloc(o->tasks + 1, sizeof(*next));
    for (int i = 0; i < n; i++)
        o->first_member[o->run->node[i].task + 1]++;
    for (int t = 0; t < o->tasks; t++)
        next[t + 1] = o->first_member[t + 1] += o->first_member[t];
    for (int i = 0; i < n; i++)
        o->member[next[o->run->node[o->node[i]].task]++] = o->node[i];
    free(next);
}

/* ---- edges ---- */

static void find_edges(struct mtlm_virtual_order *o,
                       const struct mtlm_evaluate_program *job)
{
    size_t capacity = 0;
    int edges = 0;

    o->dependencies =
        mtlm_calloc(o->programs, sizeof(struct mtlm_dependencies *));
    o->first_edge = mtlm_calloc(o->run->n + 1, sizeof(*o->first_edge));
    for (int p = 0; p < o->programs; p++) {
        o->dependencies[p] = mtlm_dependencies_create(job->program[p]->graph);
        for (int i = o->first[p]; i < o->first[p + 1]; i++) {
            const struct mtlm_executed *e = &o->run->node[o->node[i]];
            const struct mtlm_submission at = mtlm_executed_at(e);
            const struct mtlm_predecessors before = mtlm_dependencies_add(
                o->dependencies[p], e->node, &at, i - o->first[p]);

            o->edge = mtlm_make_room(o->edge, &capacity, edges + before.n,
                                     sizeof(*o->edge));
            o->first_edge[i] = edges;
            for (int k = 0; k < before.n; k++)
                o->edge[edges++] = o->node[o->first[p] + before.task[k]];
        }
    }
    o->first_edge[o->run->n] = edges;
}

const int *mtlm_virtual_order_edges(const struct mtlm_virtual_order *o,
                                    int node, int *n)
{
    const int at = o->first[o->run->node[node].program] + o->position[node];

    *n = o->first_edge[at + 1] - o->first_edge[at];
    return &o->edge[o->first_edge[at]];
}

/* ---- order of submission ---- */

/* Tasks that wait for a task: an array of tasks, with a first index for each.
 */
struct successors {
    int *first, *task;
};

/* Calls visit(arg, before, after) for each edge between two tasks. */
static void visit_edges(const struct mtlm_virtual_order *o, void *arg,
                        void (*visit)(void *arg, int before, int after))
{
    for (int i = 0; i < o->run->n; i++) {
        int n;
        const int *on = mtlm_virtual_order_edges(o, i, &n);

        for (int k = 0; k < n; k++)
            visit(arg, o->run->node[on[k]].task, o->run->node[i].task);
    }
}

struct edge_counts {
    struct successors s;
    int *waits, *next;
};

static void count_edge(void *arg, int before, int after)
{
    struct edge_counts *c = arg;

    c->s.first[before + 1]++;
    c->waits[after]++;
}

static void note_edge(void *arg, int before, int after)
{
    struct edge_counts *c = arg;

    c->s.task[c->next[before]++] = after;
}

/* Returns the successors of all tasks; counts the edges to each task in
 * waits. */
static struct successors find_successors(const struct mtlm_virtual_order *o,
                                         int *waits)
{
    struct edge_counts c = {
        {mtlm_calloc(o->tasks + 1, sizeof(int)),
         mtlm_calloc(o->first_edge[o->run->n] + 1, sizeof(int))},
        waits,
        mtlm_calloc(o->tasks + 1, sizeof(int))};

    visit_edges(o, &c, count_edge);
    for (int t = 0; t < o->tasks; t++)
        c.next[t + 1] = c.s.first[t + 1] += c.s.first[t];
    visit_edges(o, &c, note_edge);
    free(c.next);
    return c.s;
}

/* Of equal places in their programs, the task added first goes first. */
static void add_ready(const struct mtlm_virtual_order *o,
                      struct mtlm_task_heap *heap, int *added, int task)
{
    const int position = o->position[o->member[o->first_member[task]]];

    mtlm_task_heap_add(heap,
                       (struct mtlm_heap_task){position, (*added)++, task, 0});
}

static void sort_tasks(struct mtlm_virtual_order *o)
{
    int *waits = mtlm_calloc(o->tasks, sizeof(*waits)), n = 0, added = 0;
    const struct successors s = find_successors(o, waits);
    struct mtlm_task_heap heap = {0};

    o->task = mtlm_calloc(o->tasks, sizeof(*o->task));
    for (int t = 0; t < o->tasks; t++)
        if (waits[t] == 0)
            add_ready(o, &heap, &added, t);
    while (heap.n > 0) {
        const int task = mtlm_task_heap_take(&heap).task;

        o->task[n++] = task;
        for (int i = s.first[task]; i < s.first[task + 1]; i++)
            if (--waits[s.task[i]] == 0)
                add_ready(o, &heap, &added, s.task[i]);
    }
    assert(n == o->tasks);
    mtlm_task_heap_free(&heap);
    free(s.first);
    free(s.task);
    free(waits);
}

struct mtlm_virtual_order mtlm_virtual_order_create(
    const struct mtlm_evaluate_program *job, const struct mtlm_execution *run)
{
    struct mtlm_virtual_order o = {.run = run, .programs = job->n};

    sort_items(&o);
    list_members(&o);
    find_edges(&o, job);
    sort_tasks(&o);
    return o;
}

void mtlm_virtual_order_free(struct mtlm_virtual_order *o)
{
    for (int p = 0; p < o->programs; p++)
        mtlm_dependencies_destroy(o->dependencies[p]);
    free(o->dependencies);
    free(o->node);
    free(o->first);
    free(o->position);
    free(o->first_edge);
    free(o->edge);
    free(o->first_member);
    free(o->member);
    free(o->task);
}
