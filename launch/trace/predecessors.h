#ifndef MTLM_TRACE_PREDECESSORS_H
#define MTLM_TRACE_PREDECESSORS_H

#include "launch/trace/records.h"

/* What each record waited for: those of record i are
 * on[first[i]] .. on[first[i + 1] - 1], as indices of records->record. */
struct mtlm_trace_predecessors {
    size_t *first; /* [n + 1] */
    size_t *on;
};

/* Of the records in the order that they have now; edges to what was not
 * recorded are left out.  NULL where info knows no edges.  The caller
 * destroys it; destroy(NULL) is fine. */
struct mtlm_trace_predecessors *mtlm_trace_predecessors_create(
    const struct mtlm_trace_records *records,
    const struct mtlm_trace_info *info);
void mtlm_trace_predecessors_destroy(struct mtlm_trace_predecessors *edges);

#endif /* MTLM_TRACE_PREDECESSORS_H */
