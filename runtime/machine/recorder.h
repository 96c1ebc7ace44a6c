#ifndef MTLM_RECORDER_H
#define MTLM_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include <mtlm/policy.h> /* enum mtlm_lane, enum mtlm_phase */

#include "runtime/base/clock.h"

/* The recorder holds what happened: one record per executed node, what the node
 * waited for, and what data the node used.  Every picture, table and trace is
 * made from these records only. */

struct mtlm_record {
    int32_t rank;
    int32_t worker;     /* of the rank; -1: communication engine */
    int32_t lane;       /* enum mtlm_lane */
    int32_t phase;      /* enum mtlm_phase */
    int32_t op;         /* number of the operation in the operation table */
    int32_t iteration;  /* 0-based */
    int32_t microbatch; /* -1: none */
    int32_t stage;      /* virtual stage of the whole model */
    int32_t layer;      /* of the whole model; -1: outside the layers */
    int32_t peer;       /* other rank of a send or receive; else -1 */
    int32_t group;      /* of a collective: enum mtlm_group; else -1 */
    int32_t group_root; /* of a collective: smallest rank of its group; -1 */
    int32_t priority;
    int64_t job; /* number of the node, in order of submission on this rank */
    /* Number shared by a send and its receive, or by the nodes of a collective
     * on all ranks of its group; else -1.  No other message between these ranks
     * has the number. */
    int64_t match;
    /* Times in ns on rank 0's monotonic clock, after mtlm_recorder_shift().
     * ready: all operands were there.  start of a message: its issue. */
    int64_t submit_ns, ready_ns, start_ns, end_ns;
    double flops, bytes;
};

/* A dependency: node job waits for node on; both are this rank's. */
struct mtlm_record_edge {
    int64_t job, on;
};

/* An operand of node job; a node's uses come in the order of operands. */
struct mtlm_record_use {
    int64_t job;
    int32_t data;   /* number of the data, mtlm_recorder_add_data() */
    int32_t access; /* enum mtlm_access */
};

/* One slot of a tensor's ring. */
struct mtlm_record_data {
    char name[64]; /* of the tensor, shortened where needed */
    double bytes;
    int32_t layer; /* of the parameter, or of the first user; -1: none */
    int32_t slot;  /* 0 .. slots of the tensor - 1 */
};

struct mtlm_recorder;

struct mtlm_recorder *mtlm_recorder_create(void);
void mtlm_recorder_destroy(struct mtlm_recorder *recorder);

/* Adds a record, which is copied.  Any thread. */
void mtlm_recorder_add(struct mtlm_recorder *recorder,
                       const struct mtlm_record *record);

/* One thread calls mtlm_recorder_await() and mtlm_recorder_copy(), with
 * iterations that never decrease. */

/* Returns when the recorder has this many nodes of the iteration; validation
 * nodes and checkpoint copies do not count. */
void mtlm_recorder_await(struct mtlm_recorder *recorder, int64_t iteration,
                         int64_t nodes);

/* Returns a copy of the *n records of this iteration and later ones; the caller
 * frees the copy.  Other threads may add records meanwhile. */
struct mtlm_record *mtlm_recorder_copy(struct mtlm_recorder *recorder,
                                       int64_t iteration, size_t *n);

/* Drops all records.  No node may be running. */
void mtlm_recorder_clear(struct mtlm_recorder *recorder);

/* Adds a dependency or an operand, which is copied.  Called by the thread that
 * submits nodes. */
void mtlm_recorder_add_edge(struct mtlm_recorder *recorder,
                            const struct mtlm_record_edge *edge);
void mtlm_recorder_add_use(struct mtlm_recorder *recorder,
                           const struct mtlm_record_use *use);

/* Adds data, which is copied; its number is the count of data before.  Called
 * by the thread that submits nodes. */
void mtlm_recorder_add_data(struct mtlm_recorder *recorder,
                            const struct mtlm_record_data *data);

/* Adds to every time the offset at this time. */
void mtlm_recorder_shift(struct mtlm_recorder *recorder,
                         const struct mtlm_clock_offsets *offsets);

/* Return all entries in order of addition, and their number *n.  The recorder
 * owns the array, which is valid until the next addition. */
const struct mtlm_record *mtlm_recorder_records(
    const struct mtlm_recorder *recorder, size_t *n);
const struct mtlm_record_edge *mtlm_recorder_edges(
    const struct mtlm_recorder *recorder, size_t *n);
const struct mtlm_record_use *mtlm_recorder_uses(
    const struct mtlm_recorder *recorder, size_t *n);
const struct mtlm_record_data *mtlm_recorder_data(
    const struct mtlm_recorder *recorder, size_t *n);

#endif /* MTLM_RECORDER_H */
