#ifndef MTLM_ENGINE_H
#define MTLM_ENGINE_H

#include <stddef.h>

#include "runtime/comm/ranks.h"
#include "runtime/machine/recorder.h"

/* The communication engine: one thread per process.  While the engine runs, no
 * other thread calls MPI, except for short turns (runtime/comm/mpi_turn.h).
 *
 * A message (runtime/comm/message.h) is posted in program order, like a task.
 * StarPU hands over the message's data after all earlier nodes on that data.
 * The thread performs the message and hands the data back.  In between the data
 * is acquired, so StarPU neither moves nor evicts it.
 *
 * Order.  Sends and receives are issued as soon as their data is there: tags
 * match them.  All ranks of a group must issue their collectives in one order.
 * A transport may also run one collective at a time (max_in_flight 1, like the
 * stream of a GPU).  On one, a collective must never wait for another that
 * stands behind it on a peer.  enum mtlm_collective_order says who decides on
 * the order.
 *
 * Neither order can deadlock.  Two facts hold in every job:
 * (1) There is one program order of all nodes of the job: microbatch by
 *     microbatch, stage by stage.  Each rank posts its nodes in that order.  A
 *     node depends on earlier nodes only, also where a slot of a ring is used
 *     again.  A collective across tensor-parallel groups has the same place in
 *     the order for all ranks.
 * (2) The ranks of a tensor-parallel group have equal graphs and equal rings.
 *
 * PLANNED.  There is one order of all collectives of the job, which respects
 * all dependencies.  Each rank issues its collectives in that order.  Take the
 * first collective that is not done.  All its dependencies are done.  All
 * collectives before it on each of its ranks are done, so none is in flight.
 * Hence each of its ranks issues it.  The order is made from the uses of the
 * nodes (graph/run/collective_plan.h), so the engine acquires each handle in
 * the mode of its use: an edge that only StarPU knows could close a circle.
 *
 * BY_LEADER.  Rank 0 of each tensor-parallel group is its leader.  The leader
 * issues collectives that are ready on itself, highest priority first.  The
 * leader sends their numbers (tickets) to the other ranks of the group, which
 * issue in the order of the tickets: the group issues one stream.  A collective
 * across groups waits until all collectives posted before it are issued.
 * (a) A collective that ends on the leaders ends on all ranks.  The leaders
 *     issued it after its dependencies had ended on them.  One at a time, also
 *     all collectives before it in their streams had ended.  By induction over
 *     time all of those end on all ranks.  By (2) the followers need
 *     nothing else to issue it.
 * (b) A tensor-parallel collective that its leader has issued ends, for the
 *     same reason: it needs nobody but the followers.
 * (c) Let c be the first collective in program order that does not end.  All
 *     dependencies of c end, so c becomes ready on all its ranks.  A leader
 *     that does not issue c has some collective d in flight that does not end.
 *     By (b) d goes across groups, and d stands behind c in program order.  But
 *     d is issued after c only, a contradiction.
 * In short: only collectives that need no rank of another group may overtake.
 *
 * Bits.  The MPI library chooses the order of additions of an all-reduce by
 * its size: the same library and the same layout give the same bits. */
struct mtlm_engine;

/* Who decides on the order of collectives; in the order of
 * --collective-order. */
enum mtlm_collective_order {
    MTLM_ORDER_BY_LEADER, /* tickets from rank 0 of the group */
    MTLM_ORDER_PLANNED,   /* mtlm_engine_order(), without tickets */
};

/* What carries messages.
 *
 * Sends and receives always go through MPI and host memory, where StarPU copies
 * a GPU's data.  NCCL has no tags: receives would need the order of the
 * sender's sends, which is not known in advance.  The slot of a ring for the
 * sender's next message may become free through a later message only.  A send
 * that waits for its receive would block all collectives behind it on its GPU.
 * Tags rule all of this out.
 *
 * NCCL runs one collective at a time on a GPU, in the order of issue; any
 * number may be issued.  This is as free of deadlocks as one collective in
 * flight: in the proofs above, read "before it in its rank's order" for "in
 * flight". */
enum mtlm_transport_kind { MTLM_TRANSPORT_MPI, MTLM_TRANSPORT_NCCL };

struct mtlm_engine_config {
    struct mtlm_ranks *ranks; /* borrowed */
    /* Of collectives; equal on all ranks.  NCCL needs a program built with
     * NCCL, one GPU per rank, and tasks = false. */
    enum mtlm_transport_kind transport;
    enum mtlm_collective_order order;
    /* Most collectives in flight at a time; 0: any number.  1 behaves like one
     * NCCL stream. */
    int max_in_flight;
    struct mtlm_recorder *recorder; /* borrowed; NULL: none */
    /* Messages are StarPU tasks, visible to scheduling policies, on the
     * machine's worker for messages (runtime/machine/machine.h).  false: the
     * engine acquires the messages' data. */
    bool tasks;
    /* Seconds without a message and without busy workers, after which the
     * engine prints what it waits for; printed again each time the time has
     * doubled. 0: 120 s. */
    double stall_s;
};

/* Starts the engine; the caller stops it. */
struct mtlm_engine *mtlm_engine_start(const struct mtlm_engine_config *config);

/* MTLM_ORDER_PLANNED: sets the order of the next n collectives to be posted.
 * order [n]: each of 0 .. n - 1 once, a collective's place in the order of
 * posting; copied.  A collective without a plan is issued in the order of
 * posting, after all earlier ones. */
void mtlm_engine_order(struct mtlm_engine *engine, const int *order, int n);

/* Returns when all posted messages are done. */
void mtlm_engine_wait(struct mtlm_engine *engine);

/* Waits for all messages, ends the thread, destroys engine. */
void mtlm_engine_stop(struct mtlm_engine *engine);

/* Returns StarPU's memory node from which collectives take their data. */
unsigned mtlm_engine_node(const struct mtlm_engine *engine);

/* Returns the processor time of the thread, in seconds. */
double mtlm_engine_cpu_seconds(const struct mtlm_engine *engine);

/* Writes up to n bytes of text for the user: what the engine waits for. */
void mtlm_engine_describe(struct mtlm_engine *engine, char *text, size_t n);

#endif /* MTLM_ENGINE_H */
