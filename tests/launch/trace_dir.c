#include "config.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/trace/export/export.h"
#include "launch/trace/summarize.h"
#include "pipeline.h"
#include "runtime/base/memory.h"
#include "trace_dir.h"

char trace_dir_parent[64];
char trace_dir[80];

static void remove_all(const char *path)
{
    DIR *d = opendir(path);

    if (d) {
        for (struct dirent *e; (e = readdir(d));)
            if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
                char *inside = mtlm_sprintf("%s/%s", path, e->d_name);

                remove_all(inside);
                free(inside);
            }
        closedir(d);
    }
    remove(path);
}

int trace_dir_make(void **state)
{
    (void) state;
    strcpy(trace_dir_parent, "trace.XXXXXX");
    if (!mkdtemp(trace_dir_parent))
        return -1;
    snprintf(trace_dir, sizeof(trace_dir), "%s/trace", trace_dir_parent);
    return 0;
}

int trace_dir_remove(void **state)
{
    (void) state;
    remove_all(trace_dir_parent);
    return 0;
}

char *trace_dir_path(const char *name)
{
    return mtlm_sprintf("%s/%s", trace_dir, name);
}

char *trace_dir_read(const char *name)
{
    char *path = trace_dir_path(name), *text = NULL;
    size_t size = 0;
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    assert_true(getdelim(&text, &size, '\0', f) > 0);
    fclose(f);
    free(path);
    return text;
}

int count_words(const char *text, const char *word)
{
    int n = 0;

    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

int trace_dir_export(const char *dir, const struct mtlm_record *record,
                     size_t n, const struct mtlm_trace_info *info,
                     struct mtlm_error *err)
{
    struct mtlm_trace_summary *summary = mtlm_trace_summarize(record, n, info);
    const int rc = mtlm_trace_export(dir, record, n, info, summary, err);

    mtlm_trace_summary_destroy(summary);
    return rc;
}

void trace_dir_write_pipeline(int p, int m, int iterations, bool fused)
{
    const struct pipeline pipeline = {.stages = p,
                                      .microbatches = m,
                                      .iterations = iterations,
                                      .fused = fused,
                                      .pieces = 4,
                                      .unit_ns = 1000000};
    static const double engine_share[] = {0.125, 0.25, 0.375, 0.5};
    const struct mtlm_trace_info info = {.ranks = p,
                                         .engine_share =
                                             p == 4 ? engine_share : NULL,
                                         .stages = p,
                                         .virtual_stages = 1,
                                         .microbatches = m,
                                         .model = "gpt-tiny",
                                         .layout = "PP 4",
                                         .policy = "prio"};
    struct mtlm_error err;
    size_t n;
    struct mtlm_record *record = pipeline_records(&pipeline, &n);

    assert_int_equal(trace_dir_export(trace_dir, record, n, &info, &err), 0);
    free(record);
}

struct mtlm_record trace_node(int op, int start, int end)
{
    return (struct mtlm_record){.lane = MTLM_LANE_COMPUTE,
                                .op = op,
                                .peer = -1,
                                .group = -1,
                                .group_root = -1,
                                .match = -1,
                                .ready_ns = start,
                                .start_ns = start,
                                .end_ns = end};
}

const struct mtlm_trace_info trace_one_rank = {
    .ranks = 1, .stages = 1, .virtual_stages = 1, .microbatches = 1};

void trace_dir_write(const struct mtlm_record *record, size_t n,
                     const struct mtlm_trace_info *info)
{
    struct mtlm_error err;

    assert_int_equal(trace_dir_export(trace_dir, record, n, info, &err), 0);
}
