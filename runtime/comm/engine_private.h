#ifndef MTLM_ENGINE_PRIVATE_H
#define MTLM_ENGINE_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "runtime/comm/message.h"
#include "runtime/comm/ranks_private.h"

/* A posted message. */
struct mtlm_request {
    struct mtlm_message message;
    struct mtlm_engine *engine;
    struct mtlm_transport *transport; /* that carries it */
    starpu_data_handle_t *held;       /* all lists of the message */
    int n_held;
    int acquired;             /* those that StarPU has handed over */
    struct starpu_task *task; /* that the message is, or NULL */
    void *buffer, *into;
    int64_t seq;    /* of a collective: its number in program order */
    int64_t due_ns; /* when its modelled transfer is over */
    union {         /* how the transport knows it */
        MPI_Request mpi;
        void *event; /* cudaEvent_t */
    };
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
    /* The others': what the leader has ordered.  A plan: all that are posted
     * and not issued, in its order. */
    struct mtlm_number_queue tickets;
    int64_t planned; /* numbers below have their place in the plan */
};

void mtlm_sequencer_create(struct mtlm_sequencer *sequencer,
                           enum mtlm_order order, bool leader);
void mtlm_sequencer_destroy(struct mtlm_sequencer *sequencer);

/* The collectives first + order[0], first + order[1] .. are issued in that
 * order; first is the next number to be posted. */
void mtlm_sequencer_plan(struct mtlm_sequencer *sequencer, int64_t first,
                         const int *order, int n);

/* A collective is posted: its number is the next one. */
void mtlm_sequencer_post(struct mtlm_sequencer *sequencer, int64_t number,
                         enum mtlm_group group);

/* Takes the collective to issue next out of ready; NULL: none now. */
struct mtlm_request *mtlm_sequencer_next(struct mtlm_sequencer *sequencer);

/* engine_post.c: all data of the request is there; it is handed to the thread,
 * after which it may be gone at any moment; the data of one that is no task
 * goes back to StarPU; how entry i of held is used. */
void mtlm_engine_has_data(struct mtlm_request *request);
void mtlm_engine_handed_over(struct mtlm_request *request);
void mtlm_engine_hand_back(struct mtlm_request *request);
enum starpu_data_access_mode mtlm_message_mode(
    const struct mtlm_message *message, int i);

/* message_task.c: submits the task that a request is, which hands it over;
 * called by the thread when the message is done; what policies know of such a
 * task. */
void mtlm_message_task_submit(struct mtlm_request *request);
void mtlm_message_task_end(struct mtlm_request *request);
const struct mtlm_policy_node *mtlm_message_task_node(
    const struct starpu_task *task);

/* tickets.c: the leader's stream of tickets to the others of its group.  Called
 * by the thread. */
struct mtlm_tickets {
    MPI_Comm comm;
    struct mtlm_doorbell *bell;
    int64_t in;       /* buffer of the pending receive */
    MPI_Request recv; /* MPI_REQUEST_NULL: not a follower, or at the end */
};

/* The ticket after which there are no more. */
enum { MTLM_LAST_TICKET = -1 };

void mtlm_tickets_start(struct mtlm_tickets *tickets,
                        const struct mtlm_ranks *ranks, bool follower);
/* The leader's: eager, a few bytes that MPI buffers. */
void mtlm_tickets_send(const struct mtlm_tickets *tickets, int64_t ticket);
/* Appends those that have arrived; returns whether there were any. */
bool mtlm_tickets_take(struct mtlm_tickets *tickets,
                       struct mtlm_number_queue *queue);
bool mtlm_tickets_expected(const struct mtlm_tickets *tickets);

/* The longest that the thread sleeps at a time. */
enum { MTLM_IDLE_NAP_NS = 1000000000 };

struct mtlm_engine {
    struct mtlm_engine_config config;
    struct mtlm_transport *p2p, *collective; /* what carries which messages */
    pthread_t thread;
    clockid_t thread_clock;

    pthread_mutex_t mutex;   /* guards these: */
    pthread_cond_t done;     /* of mtlm_engine_wait() */
    struct mtlm_queue inbox; /* requests whose data has been handed over */
    int64_t posted, finished;
    int64_t collectives; /* posted: the next seq */
    bool quit;
    struct mtlm_sequencer sequencer; /* .ready, .tickets: the thread's */

    /* The thread's own: */
    struct mtlm_queue flying;  /* issued */
    struct mtlm_queue delayed; /* in a modelled transfer */
    int collectives_flying;    /* until they are handed back */
    struct mtlm_tickets tickets;
    int64_t last_event_ns; /* or since somebody rang */
    int64_t waiting_ns;    /* since when it waits for peers in vain */
    int64_t stall_ns;      /* of that, after which the thread says something */
    bool waits;            /* as runtime/comm/watchdog.h knows */
    int64_t looked_ns;     /* when it looked what it waits for last */
    int64_t noted_ns;      /* when it came past here last */
};

/* engine_stall.c: called in each round of the thread; event: something
 * happened. Tells runtime/comm/watchdog.h what the thread waits for, and people
 * when it does for long. */
void mtlm_engine_stall_note(struct mtlm_engine *engine, bool event);

/* "the all-reduce of all ranks in iteration 3, stage 0": n bytes of text. */
void mtlm_engine_describe_request(const struct mtlm_request *request,
                                  char *text, size_t n);

#endif /* MTLM_ENGINE_PRIVATE_H */
