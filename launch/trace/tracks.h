#ifndef MTLM_TRACE_TRACKS_H
#define MTLM_TRACE_TRACKS_H

/* Tracks for pictures without overlap: each worker, and each lane of the
 * communication engine, gets as many tracks as it needs. */

#include "launch/trace/records.h"

struct mtlm_trace_track {
    int rank;
    int lane;   /* enum mtlm_lane */
    int worker; /* -1: of the communication engine */
    int number; /* from 0, within rank, lane and worker */
};

struct mtlm_trace_tracks {
    /* By rank, then workers before lanes, then lane, worker, number. */
    struct mtlm_trace_track *track; /* [n_tracks] */
    size_t n_tracks;
    size_t *of; /* [records->n] track of each record */
};

/* Each record occupies the first free track of its worker or lane from its
 * begin_ns [records->n] to its end: the fewest tracks possible.  The caller
 * destroys the result. */
struct mtlm_trace_tracks *mtlm_trace_tracks_create(
    const struct mtlm_trace_records *records, const int64_t *begin_ns);
void mtlm_trace_tracks_destroy(struct mtlm_trace_tracks *tracks);

#endif /* MTLM_TRACE_TRACKS_H */
