#ifndef MTLM_ENGINE_PRIVATE_H
#define MTLM_ENGINE_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "runtime/message.h"
#include "runtime/ranks_private.h"

/* A posted message. */
struct mtlm_request {
    struct mtlm_message message;
    struct mtlm_engine *engine;
    starpu_data_handle_t *handle;
    int acquired; /* handles that StarPU has handed over */
    void *buffer;
    int64_t seq; /* of a collective: its number in program order */
    MPI_Request mpi;
    struct mtlm_request *next; /* in exactly one list */
};

struct mtlm_queue {
    struct mtlm_request *head, **tail;
    int n;
};

void mtlm_queue_init(struct mtlm_queue *queue);
void mtlm_queue_push(struct mtlm_queue *queue, struct mtlm_request *request);
/* Takes out *at, a link of the queue. */
struct mtlm_request *mtlm_queue_take(struct mtlm_queue *queue,
                                     struct mtlm_request **at);

/* Numbers, oldest first. */
struct mtlm_number_queue {
    int64_t *number;
    int n, first, capacity;
};

void mtlm_numbers_push(struct mtlm_number_queue *queue, int64_t number);
/* The oldest number, or -1. */
int64_t mtlm_numbers_first(const struct mtlm_number_queue *queue);
void mtlm_numbers_pop(struct mtlm_number_queue *queue);

/* The order of collectives of one process. */
struct mtlm_sequencer {
    enum mtlm_order order;
    bool leader;
    struct mtlm_queue ready; /* collectives with their data, not issued */
    /* The leader's: posted collectives outside the tensor-parallel group, in
     * program order; with each, how many of the group's own were posted
     * between the one before and it, and are not issued; the same for those
     * posted after the last one. */
    struct mtlm_number_queue cross, before;
    int64_t after;
    struct mtlm_number_queue tickets; /* the others': what it has ordered */
};

/* A collective is posted: its number is the next one. */
void mtlm_sequencer_post(struct mtlm_sequencer *sequencer, int64_t number,
                         enum mtlm_group group);

/* Takes the collective to issue next out of ready; NULL: none now. */
struct mtlm_request *mtlm_sequencer_next(struct mtlm_sequencer *sequencer);

#endif /* MTLM_ENGINE_PRIVATE_H */
