#ifndef MTLM_TRANSFER_H
#define MTLM_TRANSFER_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/comm/message.h"

/* A transfer is a posted message that is not yet complete.  Private to the
 * engine and its transports. */
struct mtlm_transfer {
    struct mtlm_message message;
    struct mtlm_engine *engine;
    struct mtlm_transport *transport;
    starpu_data_handle_t *held; /* [n_held] handles of all lists of the
                                 * message */
    int n_held;
    struct starpu_data_descr *control; /* the message's list of that name */
    int acquired;             /* handles that StarPU has handed over */
    struct starpu_task *task; /* the task that carries the message, or NULL */
    void *buffer, *into;      /* memory of message.handle and message.into */
    int64_t seq;    /* number of a collective, in program order from 0 */
    int64_t due_ns; /* end of the modelled transfer */
    union {         /* the transport's own */
        MPI_Request mpi;
        struct mtlm_pair_sum *pair_sum;
        void *event; /* cudaEvent_t */
    };
    bool rung;  /* ranks of the host ring for each step of the transport */
    int pieces; /* of a sum, received or added so far */
    struct mtlm_transfer *next; /* in exactly one queue */
};

/* Writes "the all-reduce of all ranks in iteration 3, stage 0" to text [n]. */
void mtlm_transfer_describe(const struct mtlm_transfer *transfer, char *text,
                            size_t n);

/* A queue of transfers, first in, first out. */
struct mtlm_queue {
    struct mtlm_transfer *head, **tail;
    int n;
};

/* Makes an empty queue. */
void mtlm_queue_init(struct mtlm_queue *queue);

/* Appends a transfer. */
void mtlm_queue_push(struct mtlm_queue *queue, struct mtlm_transfer *transfer);

/* Removes and returns *at, where at is a link of the queue. */
struct mtlm_transfer *mtlm_queue_take(struct mtlm_queue *queue,
                                      struct mtlm_transfer **at);

#endif /* MTLM_TRANSFER_H */
