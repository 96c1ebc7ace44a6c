#ifndef MTLM_TRACE_NODE_H
#define MTLM_TRACE_NODE_H

#include <stdint.h>
#include <stdio.h>

#include "codelets/op.h"
#include "launch/trace/records.h"

/* What several files of a trace say of a node in the same words. */

/* "1_25": node 25 of rank 1; the same for data. */
void mtlm_trace_put_id(FILE *f, int rank, int64_t number);

/* "F3 L12", "SEND3 to 1", "OPT adam": what it is, of which microbatch, where.
 * Operations of one layer and class have one label. */
void mtlm_trace_put_label(FILE *f, const struct mtlm_record *r);

/* The same for nodes of one operation and size. */
uint32_t mtlm_trace_footprint(const struct mtlm_record *r);

/* What the node uses, in the order of its operands: *n, borrowed from info. */
const struct mtlm_trace_use *mtlm_trace_uses(const struct mtlm_trace_info *info,
                                             const struct mtlm_record *r,
                                             size_t *n);
/* The data of a use, which info has. */
const struct mtlm_record_data *mtlm_trace_used(
    const struct mtlm_trace_info *info, const struct mtlm_trace_use *use);
/* What it waits for: *n, borrowed from info. */
const struct mtlm_trace_edge *mtlm_trace_edges(
    const struct mtlm_trace_info *info, const struct mtlm_record *r, size_t *n);

/* The earliest time of all: the zero of paje.trace and tasks.rec. */
int64_t mtlm_trace_first_ns(const struct mtlm_trace_records *records);

/* Colours of the operations, as 0xrrggbb: of all those of F shades of F's, and
 * so on, by what they are first in a training step; 0: there is none. */
void mtlm_trace_op_colors(const struct mtlm_trace_records *records,
                          uint32_t color[MTLM_OP_COUNT]);

#endif /* MTLM_TRACE_NODE_H */
