#ifndef MTLM_TRACE_READ_H
#define MTLM_TRACE_READ_H

/* Reads trace directories that mtlm_trace_export() wrote. */

#include <jansson.h>

#include "launch/trace/export/writer.h"
#include "launch/trace/records.h"
#include "launch/trace/summary.h"
#include "launch/trace/trace.h"
#include "runtime/base/error.h"

struct mtlm_trace_run {
    char *dir;
    json_t *json; /* summary.json; owns the texts of info */
    struct mtlm_trace_info info;
    int *stage_of_rank;
    struct mtlm_trace_worker *worker;
    struct mtlm_trace_summary *summary; /* times start at its origin */
    /* NULL before mtlm_trace_read_records(): */
    struct mtlm_record *record; /* [n] likewise */
    size_t n;
    struct mtlm_trace_records *records;
    struct mtlm_trace trace; /* of the above, for the picture's writer */
};

/* Reads dir/summary.json.  -1 and MTLM_EXIT_INPUT with one sentence: dir is no
 * trace, or the file is of another version, damaged or cut off.  After an error
 * run needs no free. */
int mtlm_trace_read(struct mtlm_trace_run *run, const char *dir,
                    struct mtlm_error *err);

/* Reads the records of a run from its schedule.csv, for the picture.  -1 and
 * MTLM_EXIT_INPUT: the file is damaged, cut off or of another run. */
int mtlm_trace_read_records(struct mtlm_trace_run *run, struct mtlm_error *err);

void mtlm_trace_run_free(struct mtlm_trace_run *run);

#endif /* MTLM_TRACE_READ_H */
