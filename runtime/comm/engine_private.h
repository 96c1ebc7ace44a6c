#ifndef MTLM_ENGINE_PRIVATE_H
#define MTLM_ENGINE_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "runtime/comm/arrivals.h"
#include "runtime/comm/ranks_private.h"
#include "runtime/comm/sequencer.h"
#include "runtime/comm/tickets.h"
#include "runtime/comm/transfer.h"

/* Private to engine*.c and message_task.c. */

/* Longest sleep of the thread, in ns. */
enum { MTLM_IDLE_NAP_NS = 1000000000 };

struct mtlm_engine {
    struct mtlm_engine_config config;
    struct mtlm_transport *p2p, *collective; /* of which messages */
    pthread_t thread;
    clockid_t thread_clock;

    pthread_mutex_t mutex;   /* guards these: */
    pthread_cond_t done;     /* for mtlm_engine_wait() */
    struct mtlm_queue inbox; /* transfers whose data was handed over */
    int64_t posted, finished;
    int64_t collectives; /* posted: the next seq */
    bool quit;
    struct mtlm_sequencer sequencer; /* ready and tickets: the thread's */

    /* The thread's own: */
    struct mtlm_queue flying;  /* issued */
    struct mtlm_queue delayed; /* in a modelled transfer */
    int64_t lane_free_ns[MTLM_LANE_DISK]; /* end of the lane's last modelled
                                           * collective */
    int collectives_flying;    /* issued, not handed back */
    struct mtlm_tickets tickets;
    struct mtlm_arrivals *arrivals; /* NULL: nobody asks for announcements */
    int looks;                      /* since the last event or ring */
    int doubt;                      /* events until rings are trusted */
    int64_t last_event_ns;          /* last event, or last ring of the bell */
    int64_t waiting_ns;             /* begin of the wait for peers */
    int64_t stall_ns;  /* length of the wait before the next message */
    bool waits;        /* as noted in runtime/comm/activity.h */
    int64_t looked_ns; /* last check of what the thread waits for */
    int64_t noted_ns;  /* last mtlm_engine_stall_note() */
};

/* --- engine_post.c -------------------------------------------------------- */

/* All data of a transfer is there. */
void mtlm_engine_has_data(struct mtlm_transfer *transfer);

/* Hands a transfer to the thread, which may free it at any moment. */
void mtlm_engine_handed_over(struct mtlm_transfer *transfer);

/* Hands the data of a transfer without a task back to StarPU. */
void mtlm_engine_hand_back(struct mtlm_transfer *transfer);

/* Returns how a message uses entry i of held. */
enum starpu_data_access_mode mtlm_engine_message_mode(
    const struct mtlm_message *message, int i);

/* --- engine_stall.c ------------------------------------------------------- */

/* Tells runtime/comm/activity.h what the thread waits for, and the user when
 * the wait is long.  Called in each round of the thread; event: something
 * happened. */
void mtlm_engine_stall_note(struct mtlm_engine *engine, bool event);

#endif /* MTLM_ENGINE_PRIVATE_H */
