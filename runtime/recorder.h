#ifndef MTLM_RECORDER_H
#define MTLM_RECORDER_H

#include <stddef.h>
#include <stdint.h>

/* What happened: one record per executed node.  Every picture, table and
 * trace comes from these records and from nothing else. */

/* Where a node ran: on a worker, or in the communication engine, for the
 * sake of tensor, pipeline or data parallelism. */
enum mtlm_lane { MTLM_LANE_COMPUTE, MTLM_LANE_TP, MTLM_LANE_PP, MTLM_LANE_DP };

/* What part of the training step a node belongs to. */
enum mtlm_phase {
    MTLM_PHASE_FORWARD,   /* F */
    MTLM_PHASE_BACKWARD,  /* B: gradients of activations */
    MTLM_PHASE_WEIGHT,    /* W: gradients of weights */
    MTLM_PHASE_OPTIMIZER, /* reductions, norm, Adam: once per iteration */
    MTLM_PHASE_INIT,      /* once per run */
    MTLM_PHASE_EVAL,      /* validation */
};

struct mtlm_record {
    int32_t rank;
    int32_t worker;     /* of the rank; -1: the communication engine */
    int32_t lane;       /* enum mtlm_lane */
    int32_t phase;      /* enum mtlm_phase */
    int32_t op;         /* number of the operation in the operation table */
    int32_t iteration;  /* 0-based */
    int32_t microbatch; /* -1: once per iteration */
    int32_t stage;      /* virtual stage of the whole model */
    int32_t layer;      /* of the whole model; -1: outside the layers */
    int32_t peer;       /* rank at the other end of a send or receive; -1 */
    int32_t priority;
    int64_t job; /* counts the nodes that this rank submitted */
    /* Nanoseconds on rank 0's monotonic clock (mtlm_recorder_shift() maps
     * the other ranks' clocks to it).  ready: all operands were there;
     * for communication start is the moment of issue. */
    int64_t submit_ns, ready_ns, start_ns, end_ns;
    double flops, bytes;
};

struct mtlm_recorder;

struct mtlm_recorder *mtlm_recorder_create(void);
void mtlm_recorder_destroy(struct mtlm_recorder *recorder);

/* Copies record; safe from any thread. */
void mtlm_recorder_add(struct mtlm_recorder *recorder,
                       const struct mtlm_record *record);

/* Adds offset_ns to every time. */
void mtlm_recorder_shift(struct mtlm_recorder *recorder, int64_t offset_ns);

/* The records so far, in order of addition; owned by the recorder and valid
 * until the next addition. */
const struct mtlm_record *mtlm_recorder_records(
    const struct mtlm_recorder *recorder, size_t *n);

#endif /* MTLM_RECORDER_H */
