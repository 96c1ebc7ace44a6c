#ifndef MTLM_TRACE_BOXES_H
#define MTLM_TRACE_BOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/trace/records.h"
#include "launch/trace/spans.h"

/* A line of the picture: a worker, or a rank's communication of one kind. */
struct mtlm_trace_row {
    int rank;
    int lane;   /* enum mtlm_lane */
    int worker; /* -1: communication */
};

/* Operations of one row in a row that belong together: those of a microbatch,
 * virtual stage and class.  Others in between, on host state and of the
 * optimizer excepted, or a long gap divide it; so does every operation where
 * info wants single ones. */
struct mtlm_trace_box {
    size_t row;
    enum mtlm_trace_class class;
    bool host; /* a node on host state */
    int iteration, microbatch, stage, chunk, peer;
    int op, layer; /* of the first operation */
    int64_t begin_ns, end_ns, busy_ns;
    double bytes;                 /* of messages */
    int64_t wait_ns, transfer_ns; /* of messages, summed up */
    int ops;
    /* B and W of a microbatch and stage by turns, as where every W precedes
     * the send of its B, are one box, of class B: what of busy_ns is W.  0:
     * there is none in it. */
    int64_t weight_ns;
    struct mtlm_trace_spans busy; /* where its operations lie */
};

struct mtlm_trace_picture {
    struct mtlm_trace_row *row; /* [n_rows] from top to bottom */
    size_t n_rows;
    int max_workers, lanes; /* most rows of a rank: workers, communication */
    struct mtlm_trace_box *box; /* [n_boxes] by row, then begin */
    size_t n_boxes;
};

/* All but the initialization, between begin and end.  Gaps inside a box
 * shorter than gap_ns are not seen.  The caller destroys it. */
struct mtlm_trace_picture *mtlm_trace_picture_create(
    const struct mtlm_trace_records *records,
    const struct mtlm_trace_info *info, int64_t begin_ns, int64_t end_ns,
    int64_t gap_ns);
void mtlm_trace_picture_destroy(struct mtlm_trace_picture *picture);

#endif /* MTLM_TRACE_BOXES_H */
