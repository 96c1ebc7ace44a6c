#ifndef MTLM_ENGINE_H
#define MTLM_ENGINE_H

#include <stddef.h>

#include "runtime/ranks.h"
#include "runtime/recorder.h"

/* The communication engine: one thread per process, the only caller of MPI
 * while it runs.  A message (runtime/message.h) is posted in program order,
 * like a task; StarPU hands its data over when all earlier nodes are done with
 * it, the thread performs the message, and hands the data back.  While it is
 * under way the data is acquired, so StarPU neither moves nor evicts it.
 *
 * Order.  Sends and receives go as soon as their data is there: tags match
 * them.  Collectives must be issued in one order by all ranks of a group.
 * That order is decided while running, by the leader of the tensor-parallel
 * group (rank 0 in it): it issues what is ready on itself, highest priority
 * first, and sends the numbers (tickets) to the others, which issue in that
 * order.  One such order covers the collectives of all groups.  Those of
 * groups other than the tensor-parallel one keep their program order among
 * each other, and wait until all that were posted before them are issued:
 * elsewhere they may become ready only after those, and a transport that runs
 * one collective at a time must not be taken by one that others need those
 * for.  Every process issues a linear extension of its own dependencies, and
 * any two processes agree on the order of what they share; hence even such a
 * transport cannot deadlock.  This rests on equal graphs, lengths of rings
 * included, on all ranks of a tensor-parallel group.
 *
 * Bits.  An all-reduce adds up in the order that the MPI library chooses for
 * its size: the same library and layout give the same bits. */
struct mtlm_engine;

enum mtlm_order {
    MTLM_ORDER_BY_LEADER,
    /* Each rank issues what is ready on itself.  Wrong with more than one
     * rank: kept to show that it is. */
    MTLM_ORDER_WHEN_READY,
};

struct mtlm_engine_config {
    struct mtlm_ranks *ranks; /* borrowed */
    enum mtlm_order order;
    /* Collectives under way at a time; 0: any number.  1 behaves as one
     * NCCL stream does. */
    int max_in_flight;
    struct mtlm_recorder *recorder; /* borrowed; NULL: none */
    /* After this time without a message, while no worker has anything to do,
     * the thread says what it waits for, and again whenever the time has
     * doubled: a hang must not be silent.  0: two minutes. */
    double silence_s;
};

struct mtlm_engine *mtlm_engine_start(const struct mtlm_engine_config *config);

/* Returns when all posted messages are done. */
void mtlm_engine_wait(struct mtlm_engine *engine);

/* Waits, ends the thread, destroys engine. */
void mtlm_engine_stop(struct mtlm_engine *engine);

/* CPU time that the thread has used, in seconds. */
double mtlm_engine_cpu_seconds(const struct mtlm_engine *engine);

/* Describes what the engine waits for: up to n bytes of text, for people. */
void mtlm_engine_describe(struct mtlm_engine *engine, char *text, size_t n);

#endif /* MTLM_ENGINE_H */
