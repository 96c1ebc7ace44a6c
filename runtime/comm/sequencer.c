/* The order of collectives, free of threads and MPI. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/memory.h"
#include "runtime/comm/engine_private.h"

void mtlm_queue_init(struct mtlm_queue *queue)
{
    *queue = (struct mtlm_queue){.tail = &queue->head};
}

void mtlm_queue_push(struct mtlm_queue *queue, struct mtlm_request *request)
{
    request->next = NULL;
    *queue->tail = request;
    queue->tail = &request->next;
    queue->n++;
}

struct mtlm_request *mtlm_queue_take(struct mtlm_queue *queue,
                                     struct mtlm_request **at)
{
    struct mtlm_request *request = *at;

    *at = request->next;
    if (queue->tail == &request->next)
        queue->tail = at;
    queue->n--;
    return request;
}

void mtlm_numbers_push(struct mtlm_number_queue *queue, int64_t number)
{
    if (queue->first + queue->n == queue->capacity) {
        if (queue->n)
            memmove(queue->number, queue->number + queue->first,
                    queue->n * sizeof(*queue->number));
        queue->first = 0;
        if (2 * queue->n >= queue->capacity) {
            queue->capacity = 2 * queue->capacity + 64;
            queue->number = mtlm_realloc(queue->number, queue->capacity,
                                         sizeof(*queue->number));
        }
    }
    queue->number[queue->first + queue->n++] = number;
}

int64_t mtlm_numbers_first(const struct mtlm_number_queue *queue)
{
    return queue->n ? queue->number[queue->first] : -1;
}

void mtlm_numbers_pop(struct mtlm_number_queue *queue)
{
    queue->first++;
    queue->n--;
}

void mtlm_sequencer_create(struct mtlm_sequencer *sequencer,
                           enum mtlm_order order, bool leader)
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

/* Whether the leader may issue request now. */
static bool may_lead(const struct mtlm_sequencer *sequencer,
                     const struct mtlm_request *request)
{
    return request->message.group == MTLM_GROUP_TP
           || (request->seq == mtlm_numbers_first(&sequencer->cross)
               && mtlm_numbers_first(&sequencer->before) == 0);
}

/* Keeps the leader's books. */
static void count_issued(struct mtlm_sequencer *sequencer,
                         const struct mtlm_request *request)
{
    const struct mtlm_number_queue *cross = &sequencer->cross;
    struct mtlm_number_queue *before = &sequencer->before;
    int i = 0;

    if (request->message.group != MTLM_GROUP_TP) {
        mtlm_numbers_pop(&sequencer->cross);
        mtlm_numbers_pop(before);
        return;
    }
    while (i < cross->n && cross->number[cross->first + i] < request->seq)
        i++;
    if (i < cross->n)
        before->number[before->first + i]--;
    else
        sequencer->after--;
}

static struct mtlm_request *next_of_leader(struct mtlm_sequencer *sequencer)
{
    struct mtlm_request **best = NULL;

    for (struct mtlm_request **at = &sequencer->ready.head; *at;
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

static struct mtlm_request *next_of_tickets(struct mtlm_sequencer *sequencer)
{
    const int64_t ticket = mtlm_numbers_first(&sequencer->tickets);

    if (ticket < 0)
        return NULL;
    for (struct mtlm_request **at = &sequencer->ready.head; *at;
         at = &(*at)->next)
        if ((*at)->seq == ticket) {
            mtlm_numbers_pop(&sequencer->tickets);
            return mtlm_queue_take(&sequencer->ready, at);
        }
    return NULL;
}

struct mtlm_request *mtlm_sequencer_next(struct mtlm_sequencer *sequencer)
{
    const bool leads =
        sequencer->order == MTLM_ORDER_BY_LEADER && sequencer->leader;

    return leads ? next_of_leader(sequencer) : next_of_tickets(sequencer);
}
