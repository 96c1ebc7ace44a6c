#ifndef MTLM_TRACE_PREDECESSORS_H
#define MTLM_TRACE_PREDECESSORS_H

#include "launch/trace/records.h"

/* Predecessors of each record: record i waited for records->record[on[k]], k
 * from first[i] to first[i + 1] - 1. */
struct mtlm_trace_predecessors {
    size_t *first; /* [n + 1] */
    size_t *on;
};

/* Valid for the present order of the records.  Leaves out edges to nodes
 * without a record.  NULL: info has no edges.  The caller destroys the result;
 * destroy(NULL) does nothing. */
struct mtlm_trace_predecessors *mtlm_trace_predecessors_create(
    const struct mtlm_trace_records *records,
    const struct mtlm_trace_info *info);
void mtlm_trace_predecessors_destroy(struct mtlm_trace_predecessors *edges);

#endif /* MTLM_TRACE_PREDECESSORS_H */
