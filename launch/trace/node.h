#ifndef MTLM_TRACE_NODE_H
#define MTLM_TRACE_NODE_H

/* Names, labels, colours and uses of a node, the same in all files of a
 * trace. */

#include <stdint.h>
#include <stdio.h>

#include "codelets/op_list.h"
#include "launch/trace/records.h"

/* Writes "1_25": node (or data) 25 of rank 1. */
void mtlm_trace_put_id(FILE *f, int rank, int64_t number);

/* Writes "F3 L12", "SEND3 to 1" or "OPT adam": class, microbatch, place.
 * Operations of one layer and class share a label. */
void mtlm_trace_put_label(FILE *f, const struct mtlm_record *r);

/* Hash of operation and size. */
uint32_t mtlm_trace_footprint(const struct mtlm_record *r);

/* The *n uses of a node in the order of its operands, borrowed from info. */
const struct mtlm_trace_use *mtlm_trace_uses(const struct mtlm_trace_info *info,
                                             const struct mtlm_record *r,
                                             size_t *n);
/* The data of a use, borrowed from info. */
const struct mtlm_record_data *mtlm_trace_used(
    const struct mtlm_trace_info *info, const struct mtlm_trace_use *use);
/* The *n edges to the predecessors of a node, borrowed from info. */
const struct mtlm_trace_edge *mtlm_trace_edges(
    const struct mtlm_trace_info *info, const struct mtlm_record *r, size_t *n);

/* The device of a rank's worker, such as "CPU 0", borrowed from info; NULL:
 * unknown.  The workers of info are sorted by rank and number. */
const char *mtlm_trace_device(const struct mtlm_trace_info *info, int rank,
                              int worker);

/* The earliest time of all records: zero of paje.trace and tasks.rec. */
int64_t mtlm_trace_first_ns(const struct mtlm_trace_records *records);

/* Colours of the operations as 0xrrggbb: a shade of the colour of the class in
 * which the operation first occurs; 0: the records have none. */
void mtlm_trace_op_colors(const struct mtlm_trace_records *records,
                          uint32_t color[MTLM_OP_COUNT]);

#endif /* MTLM_TRACE_NODE_H */
