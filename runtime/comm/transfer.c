/* Transfers: queues of them, and a description for the user. */

#include "config.h"

#include <stdio.h>

#include "runtime/comm/transfer.h"

void mtlm_transfer_describe(const struct mtlm_transfer *transfer, char *text,
                            size_t n)
{
    static const char *const group[] = {
        [MTLM_GROUP_TP] = "tensor-parallel ranks",
        [MTLM_GROUP_DP] = "data-parallel ranks",
        [MTLM_GROUP_EMBEDDING] = "ranks with the embedding",
        [MTLM_GROUP_WORLD] = "all ranks"};
    static const char *const kind[] = {
        [MTLM_SEND] = "send",
        [MTLM_RECV] = "receive",
        [MTLM_ALL_REDUCE] = "all-reduce",
        [MTLM_REDUCE_SCATTER] = "reduce-scatter",
        [MTLM_ALL_GATHER] = "all-gather",
    };
    const struct mtlm_message *m = &transfer->message;
    char with[64], number[40] = "";

    if (mtlm_message_is_collective(m->kind))
        snprintf(with, sizeof(with), "of %s", group[m->group]);
    else
        snprintf(with, sizeof(with), "%s rank %d",
                 m->kind == MTLM_SEND ? "to" : "from", m->peer);
    if (m->record.microbatch >= 0)
        snprintf(number, sizeof(number), ", microbatch %d",
                 m->record.microbatch);
    snprintf(text, n, "the %s %s in iteration %d, stage %d%s", kind[m->kind],
             with, m->record.iteration + 1, m->record.stage, number);
}

void mtlm_queue_init(struct mtlm_queue *queue)
{
    *queue = (struct mtlm_queue){.tail = &queue->head};
}

void mtlm_queue_push(struct mtlm_queue *queue, struct mtlm_transfer *transfer)
{
    transfer->next = NULL;
    *queue->tail = transfer;
    queue->tail = &transfer->next;
    queue->n++;
}

struct mtlm_transfer *mtlm_queue_take(struct mtlm_queue *queue,
                                      struct mtlm_transfer **at)
{
    struct mtlm_transfer *transfer = *at;

    *at = transfer->next;
    if (queue->tail == &transfer->next)
        queue->tail = at;
    queue->n--;
    return transfer;
}
