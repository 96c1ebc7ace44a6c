#ifndef MTLM_TRACE_WRITER_H
#define MTLM_TRACE_WRITER_H

/* The writers of this room, one per file of a trace directory, each in the
 * source of its format.  A failure stays in f (ferror()). */

#include <stdio.h>

#include "launch/trace/records.h"
#include "launch/trace/summary.h"
#include "launch/trace/trace.h"

/* What a writer reads.  Everything is borrowed. */
struct mtlm_trace {
    const struct mtlm_trace_info *info;
    const struct mtlm_trace_records *records; /* as recorded */
    const struct mtlm_trace_summary *summary;
    /* Another run for the picture, below this one and under the same time
     * axis; NULL: none. */
    const struct mtlm_trace *next;
};

/* The tasks of one graph of all ranks, in order of submission.  Tasks, edges,
 * uses and data have rank MTLM_TRACE_MERGED; times start at 0. */
struct mtlm_trace_graph {
    const struct mtlm_trace_info *info; /* its edges, uses and data */
    const struct mtlm_record *record;   /* [n] */
    const int *rank; /* [n] that runs the task; of a message, the sender */
    size_t n;
};

/* The nodes of one rank of a graph, in order of starts.  Nodes and edges have
 * rank MTLM_TRACE_MERGED; times start at 0. */
struct mtlm_trace_rank_graph {
    const struct mtlm_trace_info *info; /* its edges */
    /* [n]; match of a send or receive: the tag.  Peers and roots of groups are
     * ranks of the job. */
    const struct mtlm_record *record;
    size_t n;
    int rank; /* of the job */
};

/* Writes a struct mtlm_trace_rank_graph as a Chakra execution trace. */
void mtlm_trace_write_chakra(FILE *f, const void *rank);
void mtlm_trace_write_csv(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_dag(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_data(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_deps(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_events(FILE *f, const struct mtlm_trace *trace);
/* Writes a struct mtlm_trace_graph as tasks.rec. */
void mtlm_trace_write_graph(FILE *f, const void *graph);
/* Writes the groups of a struct mtlm_layout as ASTRA-sim reads them: JSON
 * "number": [ranks].  */
void mtlm_trace_write_groups(FILE *f, const void *layout);
void mtlm_trace_write_json(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_paje(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_starvz(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_svg(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_tasks(FILE *f, const struct mtlm_trace *trace);

#endif /* MTLM_TRACE_WRITER_H */
