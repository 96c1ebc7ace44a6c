/* Nodes of a simulated job for policies.  A message of two ranks is one task
 * and two nodes; each is ready when its own rank is. */

#include "config.h"

#include <stdbool.h>
#include <stdlib.h>

#include "runtime/base/memory.h"
#include "runtime/comm/policy_job.h"
#include "runtime/comm/policy_nodes.h"
#include "runtime/virtual/sim_nodes.h"

/* The receiver of a send hears when the message will arrive. */
struct announcement {
    struct mtlm_policy_announcement announcement; /* first */
    int64_t receive;                              /* index of the node */
};

static struct {
    const struct mtlm_virtual_job *job;
    bool watched;
    struct mtlm_policy_node **node;  /* [n_nodes]; NULL: ended */
    struct mtlm_policy_times *times; /* [n_times] */
    int32_t *left;                   /* [n_nodes] predecessors not ended */
    int64_t *first;                  /* [n_nodes + 1] index in successor */
    int64_t *successor;
} sim;

/* ---- successors ---- */

static const int64_t *predecessors_of(int64_t node)
{
    return &sim.job->predecessor[sim.job->node[node].first_predecessor];
}

static void find_successors(void)
{
    const struct mtlm_virtual_job *job = sim.job;
    int64_t *next = mtlm_calloc(job->n_nodes + 1, sizeof(*next));

    sim.first = mtlm_calloc(job->n_nodes + 1, sizeof(*sim.first));
    sim.successor = mtlm_calloc(job->n_predecessors, sizeof(*sim.successor));
    for (int64_t i = 0; i < job->n_nodes; i++)
        for (int k = 0; k < job->node[i].n_predecessors; k++)
            sim.first[predecessors_of(i)[k] + 1]++;
    for (int64_t i = 0; i < job->n_nodes; i++)
        next[i + 1] = sim.first[i + 1] += sim.first[i];
    for (int64_t i = 0; i < job->n_nodes; i++)
        for (int k = 0; k < job->node[i].n_predecessors; k++)
            sim.successor[next[predecessors_of(i)[k]]++] = i;
    free(next);
}

static void tell_ranks(const struct mtlm_virtual_job *job)
{
    const struct mtlm_policy_job_chunk *chunk = job->chunk;

    for (int r = 0; r < job->ranks; r++) {
        mtlm_policy_job_set(r, &job->about[r], chunk);
        chunk += job->about[r].virtual_stages;
    }
}

void mtlm_virtual_sim_nodes_start(const struct mtlm_virtual_job *job)
{
    sim.job = job;
    sim.watched = mtlm_policy_nodes_wanted();
    mtlm_policy_nodes_advise(&job->advice);
    tell_ranks(job);
    if (!sim.watched)
        return;
    sim.node = mtlm_calloc(job->n_nodes, sizeof(struct mtlm_policy_node *));
    sim.times = mtlm_calloc(job->n_times, sizeof(*sim.times));
    sim.left = mtlm_calloc(job->n_nodes, sizeof(*sim.left));
    find_successors();
}

void mtlm_virtual_sim_nodes_stop(void)
{
    free(sim.node);
    free(sim.times);
    free(sim.left);
    free(sim.first);
    free(sim.successor);
}

/* ---- nodes ---- */

static void announce(struct mtlm_policy_announcement *announcement)
{
    struct announcement *a = (struct announcement *) announcement;

    if (sim.node[a->receive])
        mtlm_policy_nodes_expect(sim.node[a->receive], announcement->when_ns);
    free(a);
}

static void announce_send(const struct mtlm_virtual_task *task, int64_t send)
{
    struct announcement *a = mtlm_calloc(1, sizeof(*a));

    a->announcement.announce = announce;
    for (int i = 0; i < task->n_nodes; i++)
        if (task->first_node + i != send)
            a->receive = task->first_node + i;
    mtlm_policy_nodes_announce(sim.node[send], &a->announcement);
}

void mtlm_virtual_sim_nodes_add(int64_t number)
{
    const struct mtlm_virtual_task *task = &sim.job->task[number];

    for (int i = 0; sim.watched && i < task->n_nodes; i++) {
        const int64_t at = task->first_node + i;
        const struct mtlm_virtual_node *node = &sim.job->node[at];
        struct mtlm_policy_node about = node->about;

        about.name = sim.job->name[task->name];
        about.job = at;
        sim.left[at] = node->n_predecessors;
        sim.node[at] = mtlm_policy_nodes_add(
            &about, predecessors_of(at), node->n_predecessors,
            &sim.times[node->times], task->duration_ns);
    }
    for (int i = 0; sim.watched && i < task->n_nodes; i++)
        if (sim.job->node[task->first_node + i].about.kind == MTLM_POLICY_SEND)
            announce_send(task, task->first_node + i);
}

static void tell_ready(int64_t node)
{
    if (sim.left[node] == 0
        && sim.job->node[node].about.kind != MTLM_POLICY_TASK)
        mtlm_policy_nodes_ready(sim.node[node]);
}

void mtlm_virtual_sim_nodes_begin(void)
{
    for (int64_t i = 0; sim.watched && i < sim.job->n_nodes; i++)
        tell_ready(i);
}

void mtlm_virtual_sim_nodes_started(int64_t number)
{
    const struct mtlm_virtual_task *task = &sim.job->task[number];

    for (int i = 0; sim.watched && i < task->n_nodes; i++)
        mtlm_policy_nodes_started(sim.node[task->first_node + i]);
}

void mtlm_virtual_sim_nodes_ended(int64_t number)
{
    const struct mtlm_virtual_task *task = &sim.job->task[number];

    for (int i = 0; sim.watched && i < task->n_nodes; i++) {
        mtlm_policy_nodes_ended(sim.node[task->first_node + i]);
        sim.node[task->first_node + i] = NULL;
    }
    for (int i = 0; sim.watched && i < task->n_nodes; i++) {
        const int64_t node = task->first_node + i;

        for (int64_t k = sim.first[node]; k < sim.first[node + 1]; k++) {
            sim.left[sim.successor[k]]--;
            tell_ready(sim.successor[k]);
        }
    }
}

const struct mtlm_policy_node *mtlm_virtual_sim_nodes_of(int64_t task)
{
    return sim.watched ? sim.node[sim.job->task[task].first_node] : NULL;
}
