#ifndef MTLM_TRACE_READ_SCHEDULE_H
#define MTLM_TRACE_READ_SCHEDULE_H

#include "launch/trace/trace.h"
#include "runtime/base/error.h"

/* Reads schedule.csv at path: *n records into *record, which the caller frees,
 * after an error, too.  Training iterations lie within first .. last (1-based),
 * ranks and stages within info's.  -1 and MTLM_EXIT_INPUT with file and
 * line. */
int mtlm_trace_read_schedule(const char *path,
                             const struct mtlm_trace_info *info, int first,
                             int last, struct mtlm_record **record, size_t *n,
                             struct mtlm_error *err);

#endif /* MTLM_TRACE_READ_SCHEDULE_H */
