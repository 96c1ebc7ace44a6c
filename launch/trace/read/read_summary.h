#ifndef MTLM_TRACE_READ_SUMMARY_H
#define MTLM_TRACE_READ_SUMMARY_H

#include <jansson.h>

#include "launch/trace/summary.h"
#include "runtime/base/error.h"

/* Reads the numbers of summary.json back into a summary whose times start at
 * its origin.  Leaves out operations, and of iterations all but their times.
 * json holds the file at path and has so many ranks.  The caller destroys the
 * result.  NULL and MTLM_EXIT_INPUT: a number is missing or impossible, or the
 * ranks contradict the totals. */
struct mtlm_trace_summary *mtlm_trace_read_summary(const json_t *json,
                                                   const char *path, int ranks,
                                                   struct mtlm_error *err);

#endif /* MTLM_TRACE_READ_SUMMARY_H */
