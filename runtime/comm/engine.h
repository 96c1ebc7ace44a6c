#ifndef MTLM_ENGINE_H
#define MTLM_ENGINE_H

#include <stddef.h>

#include "runtime/comm/ranks.h"
#include "runtime/machine/recorder.h"

/* The communication engine: one thread per process, the only caller of MPI
 * while it runs but for the signs of life (runtime/comm/pulse.h), which take a
 * turn now and then.  A message (runtime/comm/message.h) is posted in program
 * order, like a task; StarPU hands its data over when all earlier nodes are
 * done with it, the thread performs the message, and hands the data back. While
 * it is under way the data is acquired, so StarPU neither moves nor evicts it.
 *
 * Order.  Sends and receives go as soon as their data is there: tags match
 * them.  Collectives must be issued in one order by all ranks of a group, and
 * a transport that runs one at a time (max_in_flight 1, as the stream of a GPU
 * does) must not be taken by one that waits for another that is behind it
 * elsewhere.  Who decides on the order is enum mtlm_order.
 *
 * Why neither can deadlock.  Two things hold of every job.
 * (1) All ranks post in the restriction of one order of all nodes of the job,
 * the program's: microbatch by microbatch, stage by stage, in which a node
 * depends on earlier ones only, re-use of a slot of a ring included, and in
 * which the collectives across tensor-parallel groups have one place for all
 * ranks.  (2) The ranks of a tensor-parallel group have equal graphs, lengths
 * of rings included.
 *
 * PLANNED.  Each rank issues in the restriction of one order of all
 * collectives, which respects all dependencies.  The first collective in it
 * that is not done has all it depends on; on each of its ranks all before it
 * in the rank's order are done, so none is under way and it is issued.
 *
 * BY_LEADER.  Rank 0 of each tensor-parallel group issues what is ready on
 * itself, highest priority first, and sends the numbers (tickets) to the
 * others, which issue in that order, so that the group issues one stream.
 * Collectives of other groups keep their program order among each other and
 * wait until all that were posted before them are issued.
 * (a) What has ended on the leaders ends on all ranks.  The leaders issued it
 * when all that it depends on and, one at a time, all before it in their
 * streams had ended on them; by induction over time that ends everywhere, and
 * by (2) the followers need nothing else to issue it too.
 * (b) A collective of a tensor-parallel group that its leader issues ends, for
 * the same reason: it needs nobody but the followers.
 * (c) Let c be the first in program order that does not end.  All that it
 * depends on ends, so c becomes ready on all its ranks.  A leader that does
 * not issue it has one under way that does not end; by (b) that goes across
 * groups, and it stands behind c in program order.  But such a one waits
 * until c is issued, whatever c is.
 * In short: only collectives that need nobody from outside may overtake.
 *
 * Bits.  An all-reduce adds up in the order that the MPI library chooses for
 * its size: the same library and layout give the same bits. */
struct mtlm_engine;

/* In the order of --collective-order. */
enum mtlm_order {
    MTLM_ORDER_BY_LEADER, /* tickets from the group's first rank */
    MTLM_ORDER_PLANNED,   /* as mtlm_engine_order() says, without tickets */
};

/* What carries messages.
 *
 * Sends and receives always go by MPI, from and to host memory, where StarPU
 * copies a GPU's data.  NCCL has no tags: a receive would have to be issued in
 * the order in which the sender issues, which nobody knows before, while the
 * slot of a ring that the sender's next message is for may become free only
 * through a later one, and a send that waits for its receive holds up all
 * collectives behind it on its GPU.  By tags none of this can happen.
 *
 * With NCCL collectives run one at a time on a GPU, in the order in which its
 * rank issues them; any number may be issued.  That is as free of deadlocks as
 * one in flight at a time: the arguments above hold for "what is before it in
 * its rank's order" in place of "what is under way". */
enum mtlm_transport_kind { MTLM_TRANSPORT_MPI, MTLM_TRANSPORT_NCCL };

struct mtlm_engine_config {
    struct mtlm_ranks *ranks; /* borrowed */
    /* NCCL: in a program with it, where each rank has a GPU of its own; the
     * same on all ranks.  Not with tasks. */
    enum mtlm_transport_kind transport;
    enum mtlm_order order;
    /* Collectives under way at a time; 0: any number.  1 behaves as one
     * NCCL stream does. */
    int max_in_flight;
    struct mtlm_recorder *recorder; /* borrowed; NULL: none */
    /* Messages are tasks, which policies see, on a worker that the machine was
     * started with (runtime/machine/machine.h), instead of acquiring their
     * data. */
    bool tasks;
    /* After this time without a message, while no worker has anything to do,
     * the thread says what it waits for, and again whenever the time has
     * doubled: a hang must not be silent.  0: two minutes. */
    double silence_s;
};

struct mtlm_engine *mtlm_engine_start(const struct mtlm_engine_config *config);

/* With MTLM_ORDER_PLANNED: the next n collectives to be posted are issued in
 * that order, order[] holding each of 0 .. n - 1 once, in the order of posting;
 * copied.  Collectives of which nothing was said are issued in the order of
 * posting, after all earlier ones. */
void mtlm_engine_order(struct mtlm_engine *engine, const int *order, int n);

/* Returns when all posted messages are done. */
void mtlm_engine_wait(struct mtlm_engine *engine);

/* Waits, ends the thread, destroys engine. */
void mtlm_engine_stop(struct mtlm_engine *engine);

/* The node of StarPU's memory that collectives take their data from. */
unsigned mtlm_engine_node(const struct mtlm_engine *engine);

/* CPU time that the thread has used, in seconds. */
double mtlm_engine_cpu_seconds(const struct mtlm_engine *engine);

/* Describes what the engine waits for: up to n bytes of text, for people. */
void mtlm_engine_describe(struct mtlm_engine *engine, char *text, size_t n);

#endif /* MTLM_ENGINE_H */
