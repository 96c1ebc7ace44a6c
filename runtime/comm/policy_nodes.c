/* The nodes of this rank as scheduling policies see them, with states, expected
 * durations and predecessors. */

#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/memory.h"
#include "runtime/comm/policy_job.h"
#include "runtime/comm/policy_nodes.h"
#include "runtime/machine/policy_text.h"

/* A node with its changing state. */
struct node_entry {
    struct mtlm_policy_node node; /* first: what policies see */
    enum mtlm_policy_state state;
    int64_t begin_ns; /* of a message: when ready */
    int64_t end_ns;   /* 0: not ended */
    struct mtlm_policy_times *times;
    int64_t modelled_ns; /* 0: not known */
    /* [n_on] entries that it waits for; they live until it has ended. */
    struct node_entry **on;
    size_t n_on;
    /* The first submitted entry of its microbatch that waits for it: of the
     * same phase, of another phase.  Valid until this entry ends. */
    struct node_entry *next, *other;
    int waiting; /* entries that wait for this one and have not ended */
    struct mtlm_lead_pass *pass; /* NULL: of no microbatch */
    struct mtlm_lead_send send;  /* of a send */
    int64_t expected_ns;         /* of a receive: its end; 0: unknown */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards all: */
static struct mtlm_policy_watch watch;
static bool wanted;
static struct mtlm_policy_advice advice;
/* Set before the first task. */
static mtlm_policy_nodes_of *node_of_task, *node_of_message;
/* Entries by number, from first on; NULL: ended, or never added. */
static struct {
    struct node_entry **entry;
    int64_t first;
    size_t n, capacity;
    size_t gone; /* ended entries at the begin, as far as known */
} live;

/* Executions after which a mean follows a change.  The duration of a message is
 * the one with the other ranks ready as well.  A mean would include waits for
 * ranks that did something else first; and a rank that expects a message late
 * does something else first.  So a shorter duration counts at once, a longer
 * one slowly. */
enum { MEMORY = 16, MESSAGE_MEMORY = 64 };

/* ---- by number ---- */

static struct node_entry *find_entry(int64_t job)
{
    return job >= live.first && job < live.first + (int64_t) live.n
               ? live.entry[job - live.first]
               : NULL;
}

/* Drops the ended entries at the begin. */
static void shrink(void)
{
    while (live.gone < live.n && !live.entry[live.gone])
        live.gone++;
    if (live.gone < live.n && 2 * live.gone < live.capacity)
        return; /* moving the rest costs more than it saves */
    for (size_t i = live.gone; i < live.n; i++)
        live.entry[i - live.gone] = live.entry[i];
    live.n -= live.gone;
    live.first += live.gone;
    live.gone = 0;
}

static void append(struct node_entry *e)
{
    if (live.n == 0)
        live.first = e->node.job;
    assert(e->node.job >= live.first + (int64_t) live.n);
    while (live.first + (int64_t) live.n <= e->node.job) {
        live.entry = mtlm_make_room(live.entry, &live.capacity, live.n + 1,
                                    sizeof(*live.entry));
        live.entry[live.n++] = NULL;
    }
    live.entry[live.n - 1] = e;
}

static void release(struct node_entry *e)
{
    if (e->state != MTLM_POLICY_DONE || e->waiting > 0)
        return;
    free(e->on);
    free(e);
}

/* ---- what the program tells ---- */

bool mtlm_policy_nodes_wanted(void)
{
    bool yes;

    pthread_mutex_lock(&mutex);
    yes = wanted;
    pthread_mutex_unlock(&mutex);
    return yes;
}

static void link_next(struct node_entry *e, struct node_entry *before)
{
    struct node_entry **next =
        before->node.phase == e->node.phase ? &before->next : &before->other;

    if (!*next && before->node.iteration == e->node.iteration
        && before->node.microbatch == e->node.microbatch)
        *next = e;
}

struct mtlm_policy_node *mtlm_policy_nodes_add(
    const struct mtlm_policy_node *about, const int64_t *on, size_t n_on,
    struct mtlm_policy_times *times, int64_t modelled_ns)
{
    struct node_entry *e = mtlm_calloc(1, sizeof(*e));

    e->node = *about;
    e->times = times;
    e->modelled_ns = modelled_ns;
    e->on = mtlm_calloc(n_on, sizeof(struct node_entry *));
    e->send =
        (struct mtlm_lead_send){.times = times, .modelled_ns = modelled_ns};
    pthread_mutex_lock(&mutex);
    e->pass = mtlm_lead_enter(about, modelled_ns);
    for (size_t i = 0; i < n_on; i++) {
        struct node_entry *before = find_entry(on[i]);

        if (!before || before->state == MTLM_POLICY_DONE)
            continue;
        e->on[e->n_on++] = before;
        before->waiting++;
        link_next(e, before);
    }
    append(e);
    pthread_mutex_unlock(&mutex);
    return &e->node;
}

static struct node_entry *entry_of(const struct mtlm_policy_node *node)
{
    return (struct node_entry *) node;
}

static bool is_message(const struct node_entry *e)
{
    return e->node.kind != MTLM_POLICY_TASK;
}

/* Called without the lock. */
static void announce_all(struct mtlm_policy_announcement *list)
{
    while (list) {
        struct mtlm_policy_announcement *next = list->next;

        list->announce(list);
        list = next;
    }
}

/* Announces what the start of a task, or the data of a send, allows. */
static void announce_sends(struct node_entry *e)
{
    struct mtlm_policy_announcement *list = NULL;

    pthread_mutex_lock(&mutex);
    if (e->node.kind == MTLM_POLICY_TASK)
        list = mtlm_lead_begin(e->pass, &e->node, mtlm_policy_now_ns());
    else if (e->node.kind == MTLM_POLICY_SEND)
        list = mtlm_lead_ready(e->pass, &e->send, mtlm_policy_now_ns());
    pthread_mutex_unlock(&mutex);
    announce_all(list);
}

/* Sets a state; returns the policy's functions. */
static struct mtlm_policy_watch enter_state(struct node_entry *e,
                                            enum mtlm_policy_state state)
{
    struct mtlm_policy_watch now;

    pthread_mutex_lock(&mutex);
    e->state = state;
    if (!e->begin_ns)
        e->begin_ns = mtlm_policy_now_ns();
    now = watch;
    pthread_mutex_unlock(&mutex);
    return now;
}

void mtlm_policy_nodes_ready(struct mtlm_policy_node *node)
{
    const struct mtlm_policy_watch now =
        enter_state(entry_of(node), MTLM_POLICY_READY);

    announce_sends(entry_of(node));
    if (now.ready)
        now.ready(node);
}

void mtlm_policy_nodes_started(struct mtlm_policy_node *node)
{
    struct node_entry *e = entry_of(node);
    const struct mtlm_policy_watch now = enter_state(e, MTLM_POLICY_RUNNING);

    mtlm_policy_job_started(node);
    if (!is_message(e))
        announce_sends(e);
    if (now.started && is_message(e))
        now.started(node);
}

static void measure_duration(struct node_entry *e)
{
    struct mtlm_policy_times *t = e->times;
    const double took = e->end_ns - e->begin_ns;

    if (is_message(e)) {
        t->mean_ns += t->n == 0 || took < t->mean_ns
                          ? took - t->mean_ns
                          : (took - t->mean_ns) / MESSAGE_MEMORY;
        t->n = 1;
        return;
    }
    if (t->n < MEMORY)
        t->n++;
    t->mean_ns += (took - t->mean_ns) / t->n;
}

void mtlm_policy_nodes_ended(struct mtlm_policy_node *node)
{
    struct node_entry *e = entry_of(node);
    struct mtlm_policy_watch now;

    mtlm_policy_job_ended(node);
    pthread_mutex_lock(&mutex);
    e->end_ns = mtlm_policy_now_ns();
    if (e->begin_ns)
        measure_duration(e);
    e->state = MTLM_POLICY_DONE;
    e->next = e->other = NULL;
    mtlm_lead_leave(e->pass, &e->send);
    e->pass = NULL;
    now = watch;
    pthread_mutex_unlock(&mutex);
    if (now.ended && is_message(e))
        now.ended(node);
    pthread_mutex_lock(&mutex);
    live.entry[e->node.job - live.first] = NULL;
    for (size_t i = 0; i < e->n_on; i++) {
        e->on[i]->waiting--;
        release(e->on[i]);
    }
    e->n_on = 0;
    release(e);
    shrink();
    pthread_mutex_unlock(&mutex);
}

void mtlm_policy_nodes_announce(struct mtlm_policy_node *send,
                                struct mtlm_policy_announcement *announcement)
{
    struct node_entry *e = entry_of(send);
    struct mtlm_policy_announcement *list;

    pthread_mutex_lock(&mutex);
    list = mtlm_lead_post(e->pass, &e->send, announcement);
    pthread_mutex_unlock(&mutex);
    announce_all(list);
}

void mtlm_policy_nodes_expect(struct mtlm_policy_node *receive, int64_t when_ns)
{
    pthread_mutex_lock(&mutex);
    entry_of(receive)->expected_ns = when_ns;
    pthread_mutex_unlock(&mutex);
}

static bool is_ready_task(const struct node_entry *e)
{
    if (!e || is_message(e) || e->state != MTLM_POLICY_WAITING)
        return false;
    for (size_t i = 0; i < e->n_on; i++)
        if (e->on[i]->state != MTLM_POLICY_DONE)
            return false;
    return true;
}

void mtlm_policy_nodes_describe_ready(char *text, size_t n)
{
    const struct node_entry *best = NULL;

    snprintf(text, n, "a ready task");
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < live.n; i++) {
        const struct node_entry *e = live.entry[i];

        if (is_ready_task(e)
            && (!best || e->node.priority > best->node.priority))
            best = e;
    }
    if (best)
        mtlm_policy_text_node(&best->node, text, n);
    pthread_mutex_unlock(&mutex);
}

void mtlm_policy_nodes_advise(const struct mtlm_policy_advice *given)
{
    pthread_mutex_lock(&mutex);
    advice = *given;
    pthread_mutex_unlock(&mutex);
}

void mtlm_policy_nodes_find_task(mtlm_policy_nodes_of *node_of)
{
    node_of_task = node_of;
}

void mtlm_policy_nodes_find_message(mtlm_policy_nodes_of *node_of)
{
    node_of_message = node_of;
}

/* ---- what policies ask ---- */

const struct mtlm_policy_node *mtlm_policy_node(const struct starpu_task *task)
{
    const struct mtlm_policy_node *message =
        node_of_message ? node_of_message(task) : NULL;

    return message ? message : node_of_task ? node_of_task(task) : NULL;
}

void mtlm_policy_watch(const struct mtlm_policy_watch *asked)
{
    pthread_mutex_lock(&mutex);
    wanted = asked != NULL;
    watch = asked ? *asked : (struct mtlm_policy_watch){0};
    pthread_mutex_unlock(&mutex);
}

enum mtlm_policy_state mtlm_policy_state(const struct mtlm_policy_node *node)
{
    enum mtlm_policy_state state;

    pthread_mutex_lock(&mutex);
    state = entry_of(node)->state;
    pthread_mutex_unlock(&mutex);
    return state;
}

static int64_t duration(const struct node_entry *e)
{
    const struct mtlm_policy_times *t = e->times;

    if (e->node.kind == MTLM_POLICY_RECEIVE)
        return -1;
    if (t->n > 0)
        return t->mean_ns;
    return e->modelled_ns > 0 ? e->modelled_ns : -1;
}

int64_t mtlm_policy_duration_ns(const struct mtlm_policy_node *node)
{
    int64_t ns;

    pthread_mutex_lock(&mutex);
    ns = duration(entry_of(node));
    pthread_mutex_unlock(&mutex);
    return ns;
}

int64_t mtlm_policy_end_ns(const struct mtlm_policy_node *node)
{
    const struct node_entry *e = entry_of(node);
    int64_t ns = -1;

    pthread_mutex_lock(&mutex);
    if (e->state == MTLM_POLICY_DONE)
        ns = e->end_ns;
    else if (e->state != MTLM_POLICY_WAITING && e->expected_ns > 0)
        ns = e->expected_ns;
    else if (e->state != MTLM_POLICY_WAITING && duration(e) >= 0)
        ns = e->begin_ns + duration(e);
    pthread_mutex_unlock(&mutex);
    return ns;
}

struct mtlm_policy_advice mtlm_policy_advice(void)
{
    struct mtlm_policy_advice given;

    pthread_mutex_lock(&mutex);
    given = advice;
    pthread_mutex_unlock(&mutex);
    return given;
}

const struct mtlm_policy_node *mtlm_policy_next(
    const struct mtlm_policy_node *node)
{
    const struct node_entry *e = entry_of(node);

    pthread_mutex_lock(&mutex);
    do
        e = e->next ? e->next : e->other;
    while (e && is_message(e));
    pthread_mutex_unlock(&mutex);
    return e ? &e->node : NULL;
}

size_t mtlm_policy_predecessors(const struct mtlm_policy_node *node,
                                const struct mtlm_policy_node *on[], size_t n)
{
    const struct node_entry *e = entry_of(node);
    size_t all;

    pthread_mutex_lock(&mutex);
    all = e->n_on;
    for (size_t i = 0; i < n && i < all; i++)
        on[i] = &e->on[i]->node;
    pthread_mutex_unlock(&mutex);
    return all;
}
