#ifndef MTLM_RECORDER_H
#define MTLM_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include <mtlm/policy.h> /* enum mtlm_lane, enum mtlm_phase */

/* What happened: one record per executed node, and what nodes waited for and
 * used.  Every picture, table and trace comes from these and from nothing
 * else. */

struct mtlm_record {
    int32_t rank;
    int32_t worker;     /* of the rank; -1: the communication engine */
    int32_t lane;       /* enum mtlm_lane */
    int32_t phase;      /* enum mtlm_phase */
    int32_t op;         /* number of the operation in the operation table */
    int32_t iteration;  /* 0-based */
    int32_t microbatch; /* -1: of none */
    int32_t stage;      /* virtual stage of the whole model */
    int32_t layer;      /* of the whole model; -1: outside the layers */
    int32_t peer;       /* rank at the other end of a send or receive; -1 */
    int32_t group;      /* of a collective: enum mtlm_group; else -1 */
    int32_t group_root; /* of a collective: smallest rank of its group; -1 */
    int32_t priority;
    int64_t job; /* counts the nodes that this rank submitted */
    /* A send and its receive, and the nodes of one collective on all ranks of
     * its group, have the same number, which no other message between them
     * has; else -1. */
    int64_t match;
    /* Nanoseconds on rank 0's monotonic clock (mtlm_recorder_shift() maps
     * the other ranks' clocks to it).  ready: all operands were there;
     * for communication start is the moment of issue. */
    int64_t submit_ns, ready_ns, start_ns, end_ns;
    double flops, bytes;
};

/* Node job waits for node on; both are recorded, and of this rank. */
struct mtlm_record_edge {
    int64_t job, on;
};

/* Node job uses data, in the order of its operands. */
struct mtlm_record_use {
    int64_t job;
    int32_t data;   /* number in the table of data */
    int32_t access; /* enum mtlm_access */
};

/* A slot of a tensor. */
struct mtlm_record_data {
    char name[64]; /* the tensor's, maybe shortened */
    double bytes;
    int32_t layer; /* of the parameter or of the first to use it; -1: none */
    int32_t slot;  /* 0 .. slots of the tensor - 1 */
};

struct mtlm_recorder;

struct mtlm_recorder *mtlm_recorder_create(void);
void mtlm_recorder_destroy(struct mtlm_recorder *recorder);

/* Copies record; safe from any thread. */
void mtlm_recorder_add(struct mtlm_recorder *recorder,
                       const struct mtlm_record *record);

/* The next two are one thread's, which does not go back: no iteration is asked
 * for that is earlier than the last one copied.
 *
 * Returns when it has got so many nodes of that iteration, validation and
 * copies for a checkpoint apart. */
void mtlm_recorder_await(struct mtlm_recorder *recorder, int64_t iteration,
                         int64_t nodes);

/* A copy of the *n records of nodes of that iteration and later ones, while
 * others may be added; the caller frees it. */
struct mtlm_record *mtlm_recorder_copy(struct mtlm_recorder *recorder,
                                       int64_t iteration, size_t *n);

/* As mtlm_recorder_add(), of what is known when a node is submitted; called by
 * the thread that submits. */
void mtlm_recorder_add_edge(struct mtlm_recorder *recorder,
                            const struct mtlm_record_edge *edge);
void mtlm_recorder_add_use(struct mtlm_recorder *recorder,
                           const struct mtlm_record_use *use);
/* Its number is how many there were before. */
void mtlm_recorder_add_data(struct mtlm_recorder *recorder,
                            const struct mtlm_record_data *data);

/* Adds offset_ns to every time. */
void mtlm_recorder_shift(struct mtlm_recorder *recorder, int64_t offset_ns);

/* What there is so far, in order of addition; owned by the recorder and valid
 * until the next addition. */
const struct mtlm_record *mtlm_recorder_records(
    const struct mtlm_recorder *recorder, size_t *n);
const struct mtlm_record_edge *mtlm_recorder_edges(
    const struct mtlm_recorder *recorder, size_t *n);
const struct mtlm_record_use *mtlm_recorder_uses(
    const struct mtlm_recorder *recorder, size_t *n);
const struct mtlm_record_data *mtlm_recorder_data(
    const struct mtlm_recorder *recorder, size_t *n);

#endif /* MTLM_RECORDER_H */
