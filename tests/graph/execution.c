#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/priority.h"
#include "tests/graph/execution.h"
#include "tests/graph/simulator.h"

enum { NONE = -1, UNIT = 100000 };

/* Who used a slot last. */
struct slot {
    int writer;
    int *reader, n, capacity;
};

/* A message or a collective that some ranks have come to. */
struct meeting {
    int64_t key[4];
    int task, missing;
};

struct builder {
    const struct small_ranks *ranks;
    struct simulator *sim;
    struct execution *run;
    struct meeting *meeting;
    int n_meetings, capacity;
    /* Of the rank at work: */
    int rank;
    const struct mtlm_program *program;
    struct slot **slot; /* [tensor][slot] */
    int met[MTLM_GROUP_COUNT];
};

static void depend(struct builder *b, struct slot *slot,
                   enum mtlm_access access, int task)
{
    if (access == MTLM_R) {
        if (slot->writer != NONE && slot->writer != task)
            simulator_edge(b->sim, slot->writer, task);
        if (slot->n == slot->capacity) {
            slot->capacity = 2 * slot->capacity + 8;
            slot->reader = mtlm_realloc(slot->reader, slot->capacity,
                                        sizeof(*slot->reader));
        }
        slot->reader[slot->n++] = task;
        return;
    }
    for (int i = 0; i < slot->n; i++)
        if (slot->reader[i] != task)
            simulator_edge(b->sim, slot->reader[i], task);
    if (slot->n == 0 && slot->writer != NONE)
        simulator_edge(b->sim, slot->writer, task);
    slot->n = 0;
    slot->writer = task;
}

/* The task of a message: the one that another rank made, or a new one. */
static int meet(struct builder *b, const int64_t key[4], int members)
{
    for (int i = 0; i < b->n_meetings; i++) {
        struct meeting *m = &b->meeting[i];
        const int task = m->task;

        if (m->key[0] != key[0] || m->key[1] != key[1] || m->key[2] != key[2]
            || m->key[3] != key[3])
            continue;
        if (--m->missing == 0)
            *m = b->meeting[--b->n_meetings];
        return task;
    }
    if (b->n_meetings == b->capacity) {
        b->capacity = 2 * b->capacity + 64;
        b->meeting = mtlm_realloc(b->meeting, b->capacity, sizeof(*b->meeting));
    }
    b->meeting[b->n_meetings] =
        (struct meeting){.key = {key[0], key[1], key[2], key[3]},
                         .task = simulator_task(b->sim, NONE, 0, 0),
                         .missing = members - 1};
    return b->meeting[b->n_meetings++].task;
}

static int collective(struct builder *b, const struct mtlm_node *node)
{
    const enum mtlm_group group = node->call.attr.collective.group;
    int members = 0, leader = NONE;

    for (int r = 0; r < b->ranks->n; r++)
        if (small_same_group(b->program, b->ranks->program[r], group)) {
            leader = leader == NONE ? r : leader;
            members++;
        }
    assert_true(members > 1);
    return meet(b, (int64_t[]){-1 - leader, group, b->met[group]++, 0},
                members);
}

static int message(struct builder *b, const struct mtlm_node *node, int64_t use)
{
    const bool send = node->call.kind == MTLM_OP_SEND;
    const int peer = node->call.attr.p2p.peer;

    return meet(b,
                (int64_t[]){send ? b->rank : peer, send ? peer : b->rank,
                            node->call.attr.p2p.tag, use},
                2);
}

/* Computations of the same phase and stage in one microbatch.  The optimizer
 * takes no time: the ranks of a tensor-parallel group have different shares of
 * it, and what a rank begins while it waits for the other says little. */
static int64_t share(const struct mtlm_program *program,
                     const struct mtlm_node *node)
{
    int n = 0;

    if (node->phase == MTLM_PHASE_OPTIMIZER)
        return 0;
    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_item *item = &program->train.item[i];

        n += item->microbatch == 0 && item->node->phase == node->phase
             && item->node->stage == node->stage
             && item->node->lane == MTLM_LANE_COMPUTE;
    }
    return UNIT / n;
}

static int task_of(struct builder *b, const struct mtlm_item *item,
                   int iteration, int64_t use)
{
    const struct mtlm_node *node = item->node;
    const struct mtlm_priority p = {b->program->config.layout.virtual_stages,
                                    b->program->config.microbatches};

    switch (mtlm_ops[node->call.kind]->op_class) {
    case MTLM_CLASS_COLLECTIVE:
        return collective(b, node);
    case MTLM_CLASS_P2P:
        return message(b, node, use);
    default:
        return simulator_task(b->sim, b->rank, share(b->program, node),
                              mtlm_priority_base(&p, iteration)
                                  + item->priority);
    }
}

static void add(struct builder *b, const struct mtlm_item *item, int iteration)
{
    const struct mtlm_node *node = item->node;
    const int64_t use =
        item->microbatch < 0
            ? iteration
            : iteration * b->program->config.microbatches + item->microbatch;
    const int task = task_of(b, item, iteration, use);
    struct execution *run = b->run;

    for (int i = 0; i < mtlm_node_n_uses(node); i++) {
        const struct mtlm_use u = mtlm_node_use(node, i);
        const struct mtlm_slot at = mtlm_tensor_slot(u.tensor, use);

        depend(b, &b->slot[at.owner->id][at.slot], u.access, task);
    }
    if (run->n == run->capacity) {
        run->capacity = 2 * run->capacity + 1024;
        run->node = mtlm_realloc(run->node, run->capacity, sizeof(*run->node));
    }
    run->node[run->n++] = (struct executed){.node = node,
                                            .rank = b->rank,
                                            .microbatch = item->microbatch,
                                            .use = use,
                                            .task = task};
}

static void add_rank(struct builder *b, int rank)
{
    const struct mtlm_graph *graph;

    b->rank = rank;
    b->program = b->ranks->program[rank];
    graph = b->program->graph;
    for (int g = 0; g < MTLM_GROUP_COUNT; g++)
        b->met[g] = 0;
    b->slot = mtlm_calloc(graph->n_tensors, sizeof(*b->slot));
    for (int i = 0; i < graph->n_tensors; i++) {
        const int slots = graph->tensor[i]->slots;

        b->slot[i] = mtlm_calloc(slots, sizeof(**b->slot));
        for (int s = 0; s < slots; s++)
            b->slot[i][s].writer = NONE;
    }
    for (int e = 0; e < b->run->iterations; e++)
        for (int i = 0; i < b->program->train.n; i++)
            add(b, &b->program->train.item[i], e);
    for (int i = 0; i < graph->n_tensors; i++) {
        for (int s = 0; s < graph->tensor[i]->slots; s++)
            free(b->slot[i][s].reader);
        free(b->slot[i]);
    }
    free(b->slot);
}

static int by_place(const void *a, const void *b)
{
    const struct executed *x = a, *y = b;

    return x->place != y->place ? x->place - y->place : x->rank - y->rank;
}

struct execution execution_run(const struct small_ranks *ranks, int iterations)
{
    struct execution run = {.iterations = iterations};
    struct builder b = {
        .ranks = ranks, .sim = simulator_create(ranks->n), .run = &run};
    int *place, tasks = 0;

    for (int r = 0; r < ranks->n; r++)
        add_rank(&b, r);
    assert_int_equal(b.n_meetings, 0);
    assert_true(simulator_run(b.sim));
    for (int i = 0; i < run.n; i++)
        tasks = run.node[i].task >= tasks ? run.node[i].task + 1 : tasks;
    place = mtlm_calloc(tasks, sizeof(*place));
    for (int i = 0; i < tasks; i++)
        place[simulator_started(b.sim, i)] = i;
    for (int i = 0; i < run.n; i++) {
        run.node[i].place = place[run.node[i].task];
        run.node[i].start = simulator_start(b.sim, run.node[i].task);
    }
    qsort(run.node, run.n, sizeof(*run.node), by_place);
    run.makespan = (double) simulator_makespan(b.sim) / UNIT;
    free(place);
    free(b.meeting);
    simulator_destroy(b.sim);
    return run;
}

void execution_free(struct execution *run)
{
    free(run->node);
}
