#ifndef MTLM_TRACE_TRACKS_H
#define MTLM_TRACE_TRACKS_H

#include "launch/trace/records.h"

/* Where each record is drawn when nothing may overlap: each worker, and each
 * lane of the communication engine, has as many tracks as it needs. */
struct mtlm_trace_track {
    int rank;
    int lane;   /* enum mtlm_lane */
    int worker; /* -1: the communication engine's */
    int number; /* 0 ..: of the same rank, lane and worker */
};

struct mtlm_trace_tracks {
    /* By rank, then workers before lanes, then lane, worker, number. */
    struct mtlm_trace_track *track; /* [n_tracks] */
    size_t n_tracks;
    size_t *of; /* [records->n] each record's track */
};

/* Each record takes room from begin_ns [records->n] to its end, and goes to
 * the first track of its own that is free then: no division has fewer tracks.
 * The caller destroys the result. */
struct mtlm_trace_tracks *mtlm_trace_tracks_create(
    const struct mtlm_trace_records *records, const int64_t *begin_ns);
void mtlm_trace_tracks_destroy(struct mtlm_trace_tracks *tracks);

#endif /* MTLM_TRACE_TRACKS_H */
