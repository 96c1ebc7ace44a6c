/* Writes a trace directory: a table of files with a writer each. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launch/trace/export/export.h"
#include "launch/trace/summarize.h"
#include "runtime/base/memory.h"
#include "runtime/file/disk.h"
#include "runtime/file/unfinished.h"

typedef void mtlm_trace_writer(FILE *f, const struct mtlm_trace *trace);

static const struct {
    const char *name;
    mtlm_trace_writer *write;
} writers[] = {
    {"schedule.csv", mtlm_trace_write_csv},
    {"deps.csv", mtlm_trace_write_deps},
    {"summary.json", mtlm_trace_write_json},
    {"trace.json", mtlm_trace_write_events},
    {"paje.trace", mtlm_trace_write_paje},
    {"tasks.rec", mtlm_trace_write_tasks},
    {"data.rec", mtlm_trace_write_data},
    {"dag.dot", mtlm_trace_write_dag},
    {"starvz.yaml", mtlm_trace_write_starvz},
    {"schedule.svg", mtlm_trace_write_svg},
};

const char *mtlm_trace_export_name(size_t i)
{
    return i < sizeof(writers) / sizeof(writers[0]) ? writers[i].name : NULL;
}

/* A trace, and what writes a file of it. */
struct trace_file {
    mtlm_trace_writer *write;
    const struct mtlm_trace *trace;
};

static void write_trace_file(FILE *f, const void *what)
{
    const struct trace_file *file = what;

    file->write(f, file->trace);
}

/* Returns 0 or errno. */
static int write_file(const char *path, mtlm_trace_writer *write,
                      const struct mtlm_trace *trace)
{
    const struct trace_file file = {write, trace};

    return mtlm_whole_file_write(path, write_trace_file, &file);
}

/* Continues after a file that cannot be written: the next may be smaller.  A
 * signal leaves no part of a trace. */
static int write_all(const char *dir, const struct mtlm_trace *trace,
                     struct mtlm_error *err)
{
    char missing[512] = "", *end = missing;
    int first = 0;

    for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
        char *path = mtlm_sprintf("%s/%s", dir, writers[i].name);
        int error;

        mtlm_unfinished_add(path);
        error = write_file(path, writers[i].write, trace);
        free(path);
        if (!error)
            continue;
        end += snprintf(end, missing + sizeof(missing) - end, "%s%s",
                        first ? ", " : "", writers[i].name);
        first = first ? first : error;
    }
    mtlm_unfinished_drop(sizeof(writers) / sizeof(writers[0]));
    return first ? mtlm_error_set(err, MTLM_EXIT_IO,
                                  "the trace in %s lacks %s: %s", dir, missing,
                                  strerror(first))
                 : 0;
}

/* As write_all(), but stops at the first file that cannot be written. */
static int write_whole(const char *dir, const struct mtlm_trace *trace,
                       struct mtlm_error *err)
{
    int error = 0;

    for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]) && !error;
         i++) {
        char *path = mtlm_sprintf("%s/%s", dir, writers[i].name);

        error = write_file(path, writers[i].write, trace);
        if (error)
            mtlm_error_set(err, MTLM_EXIT_IO,
                           "cannot write %s: %s; no part of the trace is left",
                           path, strerror(error));
        free(path);
    }
    return error ? -1 : 0;
}

int mtlm_trace_export_pictures(const char *path, const struct mtlm_trace *trace,
                               struct mtlm_error *err)
{
    const struct trace_file file = {mtlm_trace_write_svg, trace};

    return mtlm_trace_export_file(path, write_trace_file, &file, err);
}

int mtlm_trace_export_file(const char *path, mtlm_whole_file_writer *write,
                           const void *what, struct mtlm_error *err)
{
    const int error = mtlm_whole_file_write(path, write, what);

    return error ? mtlm_error_set(err, MTLM_EXIT_IO, "cannot write %s: %s",
                                  path, strerror(error))
                 : 0;
}

/* How a trace is written to a directory. */
typedef int write_trace(const char *dir, const struct mtlm_trace *trace,
                        struct mtlm_error *err);

static int export(write_trace *write, const char *dir,
                  const struct mtlm_record *record, size_t n,
                  const struct mtlm_trace_info *info,
                  const struct mtlm_trace_summary *summary,
                  struct mtlm_error *err)
{
    struct mtlm_trace trace = {.info = info, .summary = summary};
    struct mtlm_trace_records *records;
    int rc;

    if (mkdir(dir, 0777) && errno != EEXIST)
        return mtlm_disk_cannot_make(dir, err);
    trace.records = records = mtlm_trace_records_create(record, n, info);
    rc = write(dir, &trace, err);
    mtlm_trace_records_destroy(records);
    return rc;
}

int mtlm_trace_export(const char *dir, const struct mtlm_record *record,
                      size_t n, const struct mtlm_trace_info *info,
                      const struct mtlm_trace_summary *summary,
                      struct mtlm_error *err)
{
    return export(write_all, dir, record, n, info, summary, err);
}

int mtlm_trace_export_whole(const char *dir, const struct mtlm_record *record,
                            size_t n, const struct mtlm_trace_info *info,
                            const struct mtlm_trace_summary *summary,
                            struct mtlm_error *err)
{
    return export(write_whole, dir, record, n, info, summary, err);
}

int mtlm_trace_export_picture(const char *path,
                              const struct mtlm_record *record, size_t n,
                              const struct mtlm_trace_info *info,
                              struct mtlm_error *err)
{
    struct mtlm_trace_records *records =
        mtlm_trace_records_create(record, n, info);
    struct mtlm_trace_summary *summary = mtlm_trace_summarize(record, n, info);
    const struct mtlm_trace trace = {
        .info = info, .records = records, .summary = summary};
    const int rc = mtlm_trace_export_pictures(path, &trace, err);

    mtlm_trace_summary_destroy(summary);
    mtlm_trace_records_destroy(records);
    return rc;
}
