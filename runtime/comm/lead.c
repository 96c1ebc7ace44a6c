/* Leads of sends: measured for each node of the graph, or modelled. */

#include "config.h"

#include <stdlib.h>

#include "runtime/base/memory.h"
#include "runtime/comm/lead.h"

/* Executions after which a mean follows a change. */
enum { MEMORY = 16 };

struct mtlm_lead_pass {
    struct mtlm_policy_node last; /* that entered */
    int nodes;                    /* that have not left; one more while open */
    int64_t begin_ns;             /* start of the first task; 0: not started */
    int64_t modelled_ns;          /* sum of all nodes so far */
    struct mtlm_lead_send *sends;
};

/* [ranks] of the node of a rank that was added last. */
static struct mtlm_lead_pass **open_passes;
static int n_open_passes;

static struct mtlm_lead_pass **open_pass_of(int rank)
{
    if (rank >= n_open_passes) {
        open_passes = mtlm_realloc(open_passes, rank + 1,
                                   sizeof(struct mtlm_lead_pass *));
        while (n_open_passes <= rank)
            open_passes[n_open_passes++] = NULL;
    }
    return &open_passes[rank];
}

static bool is_backward(enum mtlm_phase phase)
{
    return phase == MTLM_PHASE_BACKWARD || phase == MTLM_PHASE_WEIGHT;
}

static bool continues(const struct mtlm_lead_pass *pass,
                      const struct mtlm_policy_node *node)
{
    return pass->last.iteration == node->iteration
           && pass->last.microbatch == node->microbatch
           && pass->last.stage == node->stage
           && (pass->last.phase == node->phase
               || (is_backward(pass->last.phase) && is_backward(node->phase)));
}

struct mtlm_lead_pass *mtlm_lead_enter(const struct mtlm_policy_node *node,
                                       int64_t modelled_ns)
{
    struct mtlm_lead_pass **open = open_pass_of(node->rank), *pass = *open;

    /* Moves of --offload stand within passes, and belong to none. */
    if (node->kind == MTLM_POLICY_LOAD || node->kind == MTLM_POLICY_STORE)
        return NULL;
    if (pass && !continues(pass, node)) {
        mtlm_lead_leave(pass, NULL);
        *open = pass = NULL;
    }
    if (node->microbatch < 0)
        return NULL;
    if (!pass) {
        *open = pass = mtlm_calloc(1, sizeof(*pass));
        pass->nodes = 1;
    }
    pass->last = *node;
    pass->nodes++;
    if (node->kind == MTLM_POLICY_TASK || node->kind == MTLM_POLICY_COLLECTIVE)
        pass->modelled_ns += modelled_ns;
    return pass;
}

void mtlm_lead_leave(struct mtlm_lead_pass *pass, struct mtlm_lead_send *send)
{
    if (!pass)
        return;
    for (struct mtlm_lead_send **at = &pass->sends; send && *at;
         at = &(*at)->next)
        if (*at == send) {
            *at = send->next;
            break;
        }
    if (--pass->nodes == 0)
        free(pass);
}

/* Returns the lead of the send; 0: unknown. */
static int64_t lead_of(const struct mtlm_lead_send *send)
{
    return send->times->n_leads > 0 ? (int64_t) send->times->lead_ns
                                    : send->modelled_lead_ns;
}

/* Returns the send's announcement, followed by `next`; the data will be ready
 * at ready_ns. */
static struct mtlm_policy_announcement *take_announcement(
    struct mtlm_lead_send *send, int64_t ready_ns,
    struct mtlm_policy_announcement *next)
{
    struct mtlm_policy_announcement *taken = send->announcement;

    if (!taken)
        return next;
    send->announcement = NULL;
    taken->when_ns = ready_ns
                     + (send->times->n > 0 ? (int64_t) send->times->mean_ns
                                           : send->modelled_ns);
    taken->next = next;
    return taken;
}

struct mtlm_policy_announcement *mtlm_lead_begin(
    struct mtlm_lead_pass *pass, const struct mtlm_policy_node *task,
    int64_t now_ns)
{
    struct mtlm_policy_announcement *taken = NULL;

    if (!pass || pass->begin_ns > 0 || task->layer < 0)
        return NULL;
    pass->begin_ns = now_ns;
    for (struct mtlm_lead_send *send = pass->sends; send; send = send->next)
        if (lead_of(send) > 0)
            taken = take_announcement(send, now_ns + lead_of(send), taken);
    return taken;
}

struct mtlm_policy_announcement *mtlm_lead_post(
    struct mtlm_lead_pass *pass, struct mtlm_lead_send *send,
    struct mtlm_policy_announcement *announcement)
{
    send->announcement = announcement;
    if (!pass)
        return NULL;
    send->modelled_lead_ns = pass->modelled_ns;
    send->next = pass->sends;
    pass->sends = send;
    return pass->begin_ns > 0 && lead_of(send) > 0
               ? take_announcement(send, pass->begin_ns + lead_of(send), NULL)
               : NULL;
}

struct mtlm_policy_announcement *mtlm_lead_ready(struct mtlm_lead_pass *pass,
                                                 struct mtlm_lead_send *send,
                                                 int64_t now_ns)
{
    struct mtlm_policy_times *t = send->times;

    if (pass && pass->begin_ns > 0) {
        if (t->n_leads < MEMORY)
            t->n_leads++;
        t->lead_ns += (now_ns - pass->begin_ns - t->lead_ns) / t->n_leads;
    }
    return take_announcement(send, now_ns, NULL);
}
