/* Writes a trace directory: one table of files. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/trace/trace.h"
#include "launch/trace/writer.h"
#include "runtime/memory.h"

static const struct {
    const char *name;
    void (*write)(FILE *f, const struct mtlm_trace *trace);
} writers[] = {
    {"schedule.csv", mtlm_trace_write_csv},
    {"summary.json", mtlm_trace_write_json},
    {"schedule.svg", mtlm_trace_write_svg},
};

/* Writes to temporary; 0 or errno. */
static int write_temporary(const char *temporary, size_t writer,
                           const struct mtlm_trace *trace)
{
    FILE *f = fopen(temporary, "w");
    int error = 0;

    if (!f)
        return errno;
    errno = 0;
    writers[writer].write(f, trace);
    if (ferror(f) || fflush(f))
        error = errno ? errno : EIO;
    if (fclose(f) && !error)
        error = errno;
    return error;
}

static int write_file(const char *dir, size_t writer,
                      const struct mtlm_trace *trace, struct mtlm_error *err)
{
    char *path = mtlm_sprintf("%s/%s", dir, writers[writer].name);
    char *temporary = mtlm_sprintf("%s.tmp", path);
    int error = write_temporary(temporary, writer, trace);

    if (!error && rename(temporary, path))
        error = errno;
    if (error) {
        unlink(temporary);
        mtlm_error_set(err, MTLM_EXIT_IO, "cannot write %s: %s", path,
                       strerror(error));
    }
    free(temporary);
    free(path);
    return error ? -1 : 0;
}

int mtlm_trace_write(const char *dir, const struct mtlm_record *record,
                     size_t n, const struct mtlm_trace_info *info,
                     struct mtlm_error *err)
{
    struct mtlm_trace_records *records;
    struct mtlm_trace_summary *summary;
    int result = 0;

    if (mkdir(dir, 0777) && errno != EEXIST)
        return mtlm_error_set(err, MTLM_EXIT_IO,
                              "cannot create directory %s: %s", dir,
                              strerror(errno));
    records = mtlm_trace_records_create(record, n, info);
    summary = mtlm_trace_summary_create(record, n, info);

    const struct mtlm_trace trace = {info, records, summary};

    for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]) && !result; i++)
        result = write_file(dir, i, &trace, err);
    mtlm_trace_summary_destroy(summary);
    mtlm_trace_records_destroy(records);
    return result;
}
