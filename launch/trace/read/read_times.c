/* Times of F, B and W of every stage, from the files of a trace. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "launch/trace/read/read.h"
#include "launch/trace/read/read_times.h"
#include "launch/trace/stage_medians.h"
#include "runtime/base/memory.h"

/* Returns the directory of the trace; the caller frees the text. */
static char *directory_of(const char *path)
{
    static const char name[] = "schedule.csv";
    const size_t n = strlen(path), end = sizeof(name) - 1;

    if (strcmp(path, name) == 0)
        return mtlm_strdup(".");
    if (n > end && strcmp(path + n - end, name) == 0
        && path[n - end - 1] == '/')
        return mtlm_sprintf("%.*s", (int) (n - end - 1), path);
    return mtlm_strdup(path);
}

static int measure_run(struct mtlm_trace_run *run,
                       struct mtlm_stage_times *times, struct mtlm_error *err)
{
    if (mtlm_trace_read_records(run, err) < 0)
        return -1;
    *times = mtlm_trace_stage_medians(
        run->records, run->info.stages * run->info.virtual_stages);
    if (mtlm_trace_stage_medians_check(times, err) == 0)
        return 0;
    mtlm_stage_times_free(times);
    return mtlm_error_prefix(err, "%s", run->dir);
}

int mtlm_trace_read_times(const char *path, struct mtlm_stage_times *times,
                          struct mtlm_error *err)
{
    char *dir = directory_of(path);
    struct mtlm_trace_run run;
    int rc = mtlm_trace_read(&run, dir, err);

    if (rc == 0) {
        rc = measure_run(&run, times, err);
        mtlm_trace_run_free(&run);
    }
    free(dir);
    return rc;
}
