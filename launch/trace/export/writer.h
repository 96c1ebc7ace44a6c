#ifndef MTLM_TRACE_WRITER_H
#define MTLM_TRACE_WRITER_H

#include <stdio.h>

#include "launch/trace/records.h"
#include "launch/trace/summary.h"
#include "launch/trace/trace.h"

/* What every output is made of. */
struct mtlm_trace {
    const struct mtlm_trace_info *info;
    const struct mtlm_trace_records *records; /* as recorded */
    const struct mtlm_trace_summary *summary;
    /* Another run, which the picture shows below, under the same time axis;
     * NULL: none. */
    const struct mtlm_trace *next;
};

/* Each writes one file of the trace.  Failures stay in f (ferror()). */
void mtlm_trace_write_csv(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_dag(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_data(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_deps(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_events(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_json(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_paje(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_starvz(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_svg(FILE *f, const struct mtlm_trace *trace);
void mtlm_trace_write_tasks(FILE *f, const struct mtlm_trace *trace);

/* The pictures of trace and those that follow it, as path. */
int mtlm_trace_write_pictures(const char *path, const struct mtlm_trace *trace,
                              struct mtlm_error *err);

#endif /* MTLM_TRACE_WRITER_H */
