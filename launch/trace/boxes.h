#ifndef MTLM_TRACE_BOXES_H
#define MTLM_TRACE_BOXES_H

/* The picture of a run as data: rows of workers and communication, and boxes of
 * consecutive operations on them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/trace/records.h"
#include "launch/trace/spans.h"

/* A line of the picture: a worker, or one communication lane of a rank. */
struct mtlm_trace_row {
    int rank;
    int lane;   /* enum mtlm_lane */
    int worker; /* -1: communication */
};

/* Consecutive operations of one row, microbatch, virtual stage and class.
 * Another operation or a long gap ends the box, except operations on host state
 * and of the optimizer.  With info->svg_ops each operation is a box. */
struct mtlm_trace_box {
    size_t row;
    enum mtlm_trace_class class;
    bool host; /* a node on host state */
    int iteration, microbatch, stage, chunk, peer;
    int op, layer; /* of the first operation */
    int64_t begin_ns, end_ns, busy_ns;
    double bytes;                 /* of messages */
    int64_t wait_ns, transfer_ns; /* sums of messages */
    int ops;
    /* B and W of a microbatch and stage that alternate are one box of class B:
     * the part of busy_ns that is W; 0: none. */
    int64_t weight_ns;
    struct mtlm_trace_spans busy; /* spans of its operations */
    /* Spans in which a message moves: all of its ranks have issued it.  In the
     * rest of busy the box's messages wait. */
    struct mtlm_trace_spans moving;
};

struct mtlm_trace_picture {
    struct mtlm_trace_row *row; /* [n_rows] from top to bottom */
    size_t n_rows;
    int max_workers, lanes;     /* most of any rank */
    struct mtlm_trace_box *box; /* [n_boxes] by row, then begin */
    size_t n_boxes;
};

/* Makes the picture between begin_ns and end_ns, without the initialization.  A
 * gap shorter than gap_ns does not end a box.  The caller destroys the
 * result. */
struct mtlm_trace_picture *mtlm_trace_picture_create(
    const struct mtlm_trace_records *records,
    const struct mtlm_trace_info *info, int64_t begin_ns, int64_t end_ns,
    int64_t gap_ns);
void mtlm_trace_picture_destroy(struct mtlm_trace_picture *picture);

#endif /* MTLM_TRACE_BOXES_H */
