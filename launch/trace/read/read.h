#ifndef MTLM_TRACE_READ_H
#define MTLM_TRACE_READ_H

#include <jansson.h>

#include "launch/trace/export/writer.h"
#include "launch/trace/records.h"
#include "launch/trace/summary.h"
#include "launch/trace/trace.h"

/* A trace directory, read back: what mtlm_trace_export() was given, as far as
 * schedule.csv, deps.csv and summary.json have it, and what follows from it. */
struct mtlm_trace_run {
    char *dir;
    json_t *json; /* summary.json; owns the texts of info */
    struct mtlm_trace_info info;
    int *stage_of_rank;
    struct mtlm_trace_worker *worker;
    struct mtlm_trace_edge *edge;
    struct mtlm_record *record; /* [n] times from the summary's origin */
    size_t n;
    struct mtlm_trace_records *records;
    struct mtlm_trace_summary *summary; /* computed from the records anew */
    struct mtlm_trace trace;            /* of the above, to be written */
};

/* Reads dir.  What is no trace, is one of another version, is damaged or cut
 * off, or whose files are not of one run is MTLM_EXIT_INPUT, one sentence.
 * Where it fails run needs no free. */
int mtlm_trace_read(struct mtlm_trace_run *run, const char *dir,
                    struct mtlm_error *err);
void mtlm_trace_run_free(struct mtlm_trace_run *run);

/* Parts of it: the records of path, schedule.csv, whose iterations are first
 * .. last (1-based), to run; the edges of path, deps.csv. */
int mtlm_trace_read_schedule(struct mtlm_trace_run *run, const char *path,
                             int first, int last, struct mtlm_error *err);
int mtlm_trace_read_deps(struct mtlm_trace_run *run, const char *path,
                         struct mtlm_error *err);

#endif /* MTLM_TRACE_READ_H */
