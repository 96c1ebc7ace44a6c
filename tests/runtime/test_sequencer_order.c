/* The order of collectives in a small world: simulated processes in which
 * everything arrives in random order.
 *
 * STAGES groups of TP processes run one random program of NODES collectives.
 * A node depends on random earlier ones, wherever they ran and not on the same
 * ones at each stage: that stands for computation and for pipeline messages. As
 * in a real communicator, what the members issue as their k-th belongs
 * together, whatever it is. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/memory.h"
#include "runtime/comm/sequencer.h"

enum { STAGES = 2, TP = 2, PROCESSES = STAGES * TP, NODES = 60 };

/* A communicator: the groups of TP processes, one embedding group per
 * process of them, the world. */
enum { WORLD = STAGES + TP, COMMS };

struct node {
    enum mtlm_group group;
    int stage; /* of a collective of the TP group */
    struct {
        int n, dep[3];
    } at[STAGES]; /* what it depends on there */
};

struct process {
    struct mtlm_sequencer sequencer;
    struct mtlm_transfer request[NODES]; /* .message.tag: the node */
    int n;
    bool arrived[NODES], issued[NODES]; /* by node */
    int flying;
    int64_t ticket[NODES]; /* on their way from the leader */
    int sent, received;    /* of them */
    int count[COMMS];
};

struct world {
    struct node node[NODES];
    struct process process[PROCESSES];
    int meeting[COMMS][NODES]; /* node that the first to come issued, or -1 */
    int present[COMMS][NODES];
    bool done[PROCESSES][NODES];
    int plan[NODES]; /* all, in an order that respects what they depend on */
    enum mtlm_collective_order order;
    bool unordered; /* each process issues what is ready on itself */
    int limit;      /* in flight; 0: any number */
    unsigned seed;
    bool mismatch;
};

static int pick(struct world *w, int n)
{
    return rand_r(&w->seed) / 7 % n;
}

static bool takes_part(const struct node *node, int p)
{
    return node->group != MTLM_GROUP_TP || node->stage == p / TP;
}

static int comm_of(const struct node *node, int p)
{
    return node->group == MTLM_GROUP_TP          ? node->stage
           : node->group == MTLM_GROUP_EMBEDDING ? STAGES + p % TP
                                                 : WORLD;
}

static int comm_size(int comm)
{
    return comm < STAGES ? TP : comm < WORLD ? STAGES : PROCESSES;
}

static void make_program(struct world *w)
{
    for (int i = 0; i < NODES; i++) {
        struct node *node = &w->node[i];
        const int kind = pick(w, 8);

        node->group = kind == 0   ? MTLM_GROUP_WORLD
                      : kind == 1 ? MTLM_GROUP_EMBEDDING
                                  : MTLM_GROUP_TP;
        node->stage = pick(w, STAGES);
        for (int s = 0; i && s < STAGES; s++) {
            node->at[s].n = pick(w, 4);
            for (int d = 0; d < node->at[s].n; d++)
                node->at[s].dep[d] = pick(w, i);
        }
    }
}

static bool may_follow(const struct node *node, const bool planned[NODES])
{
    for (int s = 0; s < STAGES; s++)
        for (int d = 0; d < node->at[s].n; d++)
            if (!planned[node->at[s].dep[d]])
                return false;
    return true;
}

/* At random among those that do. */
static void make_plan(struct world *w)
{
    bool planned[NODES] = {false};

    for (int n = 0; n < NODES;) {
        const int i = pick(w, NODES);

        if (planned[i] || !may_follow(&w->node[i], planned))
            continue;
        planned[i] = true;
        w->plan[n++] = i;
    }
}

/* Its part of the plan, in the numbers of process p. */
static void plan_process(struct world *w, int p)
{
    int number[NODES], order[NODES], n = 0, posted = 0;

    for (int i = 0; i < NODES; i++)
        number[i] = takes_part(&w->node[i], p) ? posted++ : -1;
    for (int i = 0; i < NODES; i++)
        if (number[w->plan[i]] >= 0)
            order[n++] = number[w->plan[i]];
    mtlm_sequencer_plan(&w->process[p].sequencer, 0, order, n);
}

static void post_program(struct world *w, int p)
{
    struct process *process = &w->process[p];
    struct mtlm_sequencer *s = &process->sequencer;

    mtlm_sequencer_create(s, w->order, p % TP == 0);
    if (w->order == MTLM_ORDER_PLANNED)
        plan_process(w, p);
    for (int i = 0; i < NODES; i++) {
        const struct node *node = &w->node[i];

        if (!takes_part(node, p))
            continue;
        process->request[process->n] = (struct mtlm_transfer){
            .seq = process->n,
            .message = {
                .group = node->group, .priority = pick(w, 5), .tag = i}};
        mtlm_sequencer_post(s, process->n, node->group);
        process->n++;
    }
}

/* Done here, or, where this process takes no part, at the process of the
 * other group with which it exchanges messages. */
static bool done_for(const struct world *w, int p, int i)
{
    return w->done[takes_part(&w->node[i], p) ? p : (p + TP) % PROCESSES][i];
}

static bool can_arrive(const struct world *w, int p,
                       const struct mtlm_transfer *r)
{
    const struct node *node = &w->node[r->message.tag];

    for (int d = 0; d < node->at[p / TP].n; d++)
        if (!done_for(w, p, node->at[p / TP].dep[d]))
            return false;
    return !w->process[p].arrived[r->message.tag];
}

/* One collective, chosen at random, gets its data. */
static bool arrive(struct world *w, int p)
{
    struct process *process = &w->process[p];
    const int first = pick(w, process->n);

    for (int i = 0; i < process->n; i++) {
        struct mtlm_transfer *r = &process->request[(first + i) % process->n];

        if (!can_arrive(w, p, r))
            continue;
        process->arrived[r->message.tag] = true;
        mtlm_queue_push(&process->sequencer.ready, r);
        return true;
    }
    return false;
}

static bool receive_ticket(struct world *w, int p)
{
    struct process *process = &w->process[p];

    if (process->received == process->sent)
        return false;
    mtlm_numbers_push(&process->sequencer.tickets,
                      process->ticket[process->received++]);
    return true;
}

/* All members are there: it is done. */
static void complete(struct world *w, int comm, int i)
{
    for (int p = 0; p < PROCESSES; p++)
        if (takes_part(&w->node[i], p) && comm_of(&w->node[i], p) == comm) {
            w->done[p][i] = true;
            w->process[p].flying--;
        }
}

static struct mtlm_transfer *next(struct world *w, int p)
{
    struct mtlm_sequencer *s = &w->process[p].sequencer;

    if (w->unordered)
        return s->ready.n ? mtlm_queue_take(&s->ready, &s->ready.head) : NULL;
    return mtlm_sequencer_next(s);
}

static bool issue(struct world *w, int p)
{
    struct process *process = &w->process[p];
    struct mtlm_transfer *r;
    int i, comm, k;

    if (w->limit && process->flying == w->limit)
        return false;
    r = next(w, p);
    if (!r)
        return false;
    i = r->message.tag;
    comm = comm_of(&w->node[i], p);
    k = process->count[comm]++;
    process->flying++;
    assert_false(process->issued[i]);
    process->issued[i] = true;
    for (int f = p + 1; w->order == MTLM_ORDER_BY_LEADER
                        && process->sequencer.leader && f < p + TP;
         f++)
        w->process[f].ticket[w->process[f].sent++] = r->seq;
    if (w->meeting[comm][k] < 0)
        w->meeting[comm][k] = i;
    w->mismatch |= w->meeting[comm][k] != i;
    if (++w->present[comm][k] == comm_size(comm))
        complete(w, comm, i);
    return true;
}

static bool all_done(const struct world *w)
{
    for (int i = 0; i < NODES; i++)
        for (int p = 0; p < PROCESSES; p++)
            if (takes_part(&w->node[i], p) && !w->done[p][i])
                return false;
    return true;
}

/* One step of a random process, of a random kind; false: none can do
 * anything. */
static bool step(struct world *w)
{
    static bool (*const kinds[])(struct world *, int) = {arrive, issue,
                                                         receive_ticket};
    const int first = pick(w, PROCESSES * 3);

    for (int i = 0; i < PROCESSES * 3; i++) {
        const int at = (first + i) % (PROCESSES * 3);

        if (kinds[at % 3](w, at / 3))
            return true;
    }
    return false;
}

enum outcome { WELL, STUCK, MISMATCH };

static enum outcome simulate(unsigned seed, enum mtlm_collective_order order,
                             bool unordered, int limit)
{
    struct world *w = mtlm_calloc(1, sizeof(*w));
    enum outcome outcome;

    w->seed = seed;
    w->order = order;
    w->unordered = unordered;
    w->limit = limit;
    memset(w->meeting, -1, sizeof(w->meeting));
    make_program(w);
    make_plan(w);
    for (int p = 0; p < PROCESSES; p++)
        post_program(w, p);
    while (!w->mismatch && step(w))
        ;
    outcome = w->mismatch ? MISMATCH : all_done(w) ? WELL : STUCK;
    for (int p = 0; p < PROCESSES; p++)
        mtlm_sequencer_destroy(&w->process[p].sequencer);
    free(w);
    return outcome;
}

static void test_leaders_order_never_gets_stuck_nor_mixes_up(void **state)
{
    (void) state;
    for (unsigned seed = 0; seed < 3000; seed++)
        for (int limit = 0; limit <= 2; limit++)
            assert_int_equal(simulate(seed, MTLM_ORDER_BY_LEADER, false, limit),
                             WELL);
}

static void test_a_plan_never_gets_stuck_nor_mixes_up(void **state)
{
    (void) state;
    for (unsigned seed = 0; seed < 3000; seed++)
        for (int limit = 0; limit <= 2; limit++)
            assert_int_equal(simulate(seed, MTLM_ORDER_PLANNED, false, limit),
                             WELL);
}

static void test_issuing_when_ready_gets_stuck_or_mixes_up(void **state)
{
    int seen[3] = {0};

    (void) state;
    for (unsigned seed = 0; seed < 300; seed++)
        for (int limit = 0; limit <= 1; limit++)
            seen[simulate(seed, MTLM_ORDER_BY_LEADER, true, limit)]++;
    assert_true(seen[MISMATCH] > 300);
    assert_true(seen[STUCK] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaders_order_never_gets_stuck_nor_mixes_up),
        cmocka_unit_test(test_a_plan_never_gets_stuck_nor_mixes_up),
        cmocka_unit_test(test_issuing_when_ready_gets_stuck_or_mixes_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
