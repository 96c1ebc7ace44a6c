#ifndef MTLM_TRACE_EXPORT_H
#define MTLM_TRACE_EXPORT_H

/* Writes a trace directory, the picture of a trace alone, or a graph.  Each
 * file is written at once or not at all. */

#include "launch/trace/export/whole_file.h"
#include "launch/trace/export/writer.h"
#include "launch/trace/trace.h"
#include "runtime/base/error.h"

/* Writes the n records of all ranks, in any order and on one clock, and their
 * summary (mtlm_trace_summarize()) to dir: the files that the table in export.c
 * lists.  In the files iterations count from 1, as in the log line, and times
 * start at the summary's origin.  Makes dir, not its parents.  A file that
 * cannot be written leaves the others: -1 and MTLM_EXIT_IO with the names of
 * the missing files. */
int mtlm_trace_export(const char *dir, const struct mtlm_record *records,
                      size_t n, const struct mtlm_trace_info *info,
                      const struct mtlm_trace_summary *summary,
                      struct mtlm_error *err);

/* Returns the name of file i of a trace directory, from 0 on; NULL: there are
 * no more. */
const char *mtlm_trace_export_name(size_t i);

/* As mtlm_trace_export(), for a trace that can be made again: stops at the
 * first file that cannot be written.  The caller then removes those before it,
 * as he does if a signal ends the process. */
int mtlm_trace_export_whole(const char *dir, const struct mtlm_record *records,
                            size_t n, const struct mtlm_trace_info *info,
                            const struct mtlm_trace_summary *summary,
                            struct mtlm_error *err);

/* Writes the picture of the same records to path: -1 and MTLM_EXIT_IO. */
int mtlm_trace_export_picture(const char *path,
                              const struct mtlm_record *records, size_t n,
                              const struct mtlm_trace_info *info,
                              struct mtlm_error *err);

/* Writes the pictures of trace and of its followers (trace->next) to path, one
 * above the other: -1 and MTLM_EXIT_IO. */
int mtlm_trace_export_pictures(const char *path, const struct mtlm_trace *trace,
                               struct mtlm_error *err);

/* Writes one file by a writer that takes a graph, the nodes of a rank, a layout
 * or losses: -1 and MTLM_EXIT_IO. */
int mtlm_trace_export_file(const char *path, mtlm_whole_file_writer *write,
                           const void *what, struct mtlm_error *err);

#endif /* MTLM_TRACE_EXPORT_H */
