/* The order of collectives: the leader chooses by priority, all others follow
 * tickets or a plan. */

#include "config.h"

#include <stdlib.h>

#include "runtime/comm/sequencer.h"

void mtlm_sequencer_create(struct mtlm_sequencer *sequencer,
                           enum mtlm_collective_order order, bool leader)
{
    *sequencer = (struct mtlm_sequencer){.order = order, .leader = leader};
    mtlm_queue_init(&sequencer->ready);
}

void mtlm_sequencer_destroy(struct mtlm_sequencer *sequencer)
{
    free(sequencer->cross.number);
    free(sequencer->before.number);
    free(sequencer->tickets.number);
}

void mtlm_sequencer_plan(struct mtlm_sequencer *sequencer, int64_t first,
                         const int *order, int n)
{
    for (int i = 0; i < n; i++)
        mtlm_numbers_push(&sequencer->tickets, first + order[i]);
    sequencer->planned = first + n;
}

void mtlm_sequencer_post(struct mtlm_sequencer *sequencer, int64_t number,
                         enum mtlm_group group)
{
    if (sequencer->order == MTLM_ORDER_PLANNED) {
        if (number >= sequencer->planned)
            mtlm_numbers_push(&sequencer->tickets, number);
        return;
    }
    if (!sequencer->leader)
        return;
    if (group == MTLM_GROUP_TP) {
        sequencer->after++;
    } else {
        mtlm_numbers_push(&sequencer->cross, number);
        mtlm_numbers_push(&sequencer->before, sequencer->after);
        sequencer->after = 0;
    }
}

/* Whether the leader may issue a collective now. */
static bool may_lead(const struct mtlm_sequencer *sequencer,
                     const struct mtlm_transfer *transfer)
{
    return transfer->message.group == MTLM_GROUP_TP
           || (transfer->seq == mtlm_numbers_first(&sequencer->cross)
               && mtlm_numbers_first(&sequencer->before) == 0);
}

/* Updates the leader's counts after an issue. */
static void count_issued(struct mtlm_sequencer *sequencer,
                         const struct mtlm_transfer *transfer)
{
    const struct mtlm_numbers *cross = &sequencer->cross;
    struct mtlm_numbers *before = &sequencer->before;
    int i = 0;

    if (transfer->message.group != MTLM_GROUP_TP) {
        mtlm_numbers_pop(&sequencer->cross);
        mtlm_numbers_pop(before);
        return;
    }
    while (i < cross->n && cross->number[cross->first + i] < transfer->seq)
        i++;
    if (i < cross->n)
        before->number[before->first + i]--;
    else
        sequencer->after--;
}

static struct mtlm_transfer *next_of_leader(struct mtlm_sequencer *sequencer)
{
    struct mtlm_transfer **best = NULL;

    for (struct mtlm_transfer **at = &sequencer->ready.head; *at;
         at = &(*at)->next)
        if (may_lead(sequencer, *at)
            && (!best || (*at)->message.priority > (*best)->message.priority
                || ((*at)->message.priority == (*best)->message.priority
                    && (*at)->seq < (*best)->seq)))
            best = at;
    if (!best)
        return NULL;
    count_issued(sequencer, *best);
    return mtlm_queue_take(&sequencer->ready, best);
}

static struct mtlm_transfer *next_of_tickets(struct mtlm_sequencer *sequencer)
{
    const int64_t ticket = mtlm_numbers_first(&sequencer->tickets);

    if (ticket < 0)
        return NULL;
    for (struct mtlm_transfer **at = &sequencer->ready.head; *at;
         at = &(*at)->next)
        if ((*at)->seq == ticket) {
            mtlm_numbers_pop(&sequencer->tickets);
            return mtlm_queue_take(&sequencer->ready, at);
        }
    return NULL;
}

/* Whether this rank decides: a plan makes no leader. */
static bool leads(const struct mtlm_sequencer *sequencer)
{
    return sequencer->order == MTLM_ORDER_BY_LEADER && sequencer->leader;
}

struct mtlm_transfer *mtlm_sequencer_next(struct mtlm_sequencer *sequencer)
{
    return leads(sequencer) ? next_of_leader(sequencer)
                            : next_of_tickets(sequencer);
}

int64_t mtlm_sequencer_awaited(const struct mtlm_sequencer *sequencer)
{
    return mtlm_numbers_first(leads(sequencer) ? &sequencer->cross
                                               : &sequencer->tickets);
}
