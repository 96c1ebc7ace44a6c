/* Reads a trace directory: summary.json first, which says what the tables
 * must hold. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/trace/read/read.h"
#include "launch/trace/summarize.h"
#include "runtime/base/memory.h"
#include "runtime/file/json_file.h"

/* No run is larger; less than what would overflow. */
enum {
    MOST_RANKS = 1 << 20,
    MOST_ITERATIONS = 1 << 20,
    MOST_STAGES = 1 << 16,
    MOST_VIRTUAL_STAGES = 1 << 12
};

/* What the tables must hold. */
struct expected {
    int first, last; /* iterations */
    json_int_t nodes, edges;
    double makespan_ms, bubble, overlap; /* overlap -1: no communication */
};

static int not_read(const char *path, const char *why, struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_INPUT, "cannot read %s: %s", path,
                          why);
}

static int check_dir(const char *dir, struct mtlm_error *err)
{
    struct stat st;

    if (stat(dir, &st))
        return not_read(dir, strerror(errno), err);
    if (!S_ISDIR(st.st_mode))
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s is no directory: expected the DIR of "
                              "mtlm-dag --trace DIR",
                              dir);
    return 0;
}

static int load_json(struct mtlm_trace_run *run, const char *path,
                     struct mtlm_error *err)
{
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s holds no trace: it has no summary.json",
                              run->dir);
    run->json = mtlm_json_file_read(path, err);
    return run->json ? 0 : -1;
}

static int check_version(const struct mtlm_trace_run *run, const char *path,
                         struct mtlm_error *err)
{
    const json_t *version = json_object_get(run->json, "trace_version");

    if (!json_is_integer(version))
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s names no trace_version: it was written by "
                              "an older mtlm-dag or by something else",
                              path);
    if (json_integer_value(version) < MTLM_TRACE_OLDEST_VERSION
        || json_integer_value(version) > MTLM_TRACE_VERSION)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s is of trace_version %" PRId64
                              ", this mtlm-report reads %d to %d",
                              path, (int64_t) json_integer_value(version),
                              MTLM_TRACE_OLDEST_VERSION, MTLM_TRACE_VERSION);
    return 0;
}

static const char *text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* POLICY + 1: none. */
static int placement(const char *name)
{
    int p = MTLM_PLACEMENT_LOOP;

    while (p <= MTLM_PLACEMENT_POLICY
           && strcmp(name, mtlm_placement_name((enum mtlm_placement) p)))
        p++;
    return p;
}

/* Of "run". */
static int read_run(struct mtlm_trace_run *run, const char *path,
                    json_t **workers, struct mtlm_error *err)
{
    struct mtlm_trace_info *info = &run->info;
    json_t *object = json_object_get(run->json, "run");
    const char *place = NULL;
    json_error_t why;

    if (json_unpack_ex(object, &why, 0, "{s:i, s:i, s:i, s:s, s:i, s:o}",
                       "ranks", &info->ranks, "stages", &info->stages,
                       "virtual_stages", &info->virtual_stages, "placement",
                       &place, "microbatches", &info->microbatches, "workers",
                       workers))
        return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: run: %s", path,
                              why.text);
    if (info->ranks < 1 || info->ranks > MOST_RANKS || info->stages < 1
        || info->stages > MOST_STAGES || info->virtual_stages < 1
        || info->virtual_stages > MOST_VIRTUAL_STAGES || info->microbatches < 1
        || placement(place) > MTLM_PLACEMENT_POLICY || !json_is_array(*workers))
        return mtlm_error_set(
            err, MTLM_EXIT_INPUT,
            "%s: no run has %d ranks, %d stages of %d each, placement %.40s, "
            "%d microbatches",
            path, info->ranks, info->stages, info->virtual_stages, place,
            info->microbatches);
    info->placement = placement(place);
    info->model = text(object, "model");
    info->layout = text(object, "layout");
    info->schedule = text(object, "schedule");
    info->policy = text(object, "policy");
    info->starpu_version = text(object, "starpu_version");
    info->gpu = text(object, "gpu");
    info->transport = text(object, "transport");
    return 0;
}

static int read_workers(struct mtlm_trace_run *run, const char *path,
                        const json_t *list, struct mtlm_error *err)
{
    const size_t n = json_array_size(list);

    run->worker = mtlm_calloc(n, sizeof(*run->worker));
    for (size_t i = 0; i < n; i++) {
        struct mtlm_trace_worker *w = &run->worker[i];
        int compute;
        json_error_t why;

        if (json_unpack_ex(json_array_get(list, i), &why, 0, "{s:i, s:i, s:b}",
                           "rank", &w->rank, "worker", &w->worker, "compute",
                           &compute))
            return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: worker %zu: %s",
                                  path, i, why.text);
        w->compute = compute;
        w->device = text(json_array_get(list, i), "device");
    }
    run->info.worker = run->worker;
    run->info.n_workers = n;
    return 0;
}

/* The stages of the ranks, null where none is known. */
static int read_ranks(struct mtlm_trace_run *run, const char *path,
                      struct mtlm_error *err)
{
    const json_t *list = json_object_get(run->json, "ranks");

    if ((int) json_array_size(list) != run->info.ranks)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s tells of %zu ranks, its run has %d", path,
                              json_array_size(list), run->info.ranks);
    run->stage_of_rank =
        mtlm_calloc(run->info.ranks, sizeof(*run->stage_of_rank));
    run->info.stage_of_rank = run->stage_of_rank;
    for (int r = 0; r < run->info.ranks; r++) {
        const json_t *stage = json_object_get(json_array_get(list, r), "stage");

        if (!json_is_integer(stage))
            run->info.stage_of_rank = NULL;
        run->stage_of_rank[r] = json_integer_value(stage);
    }
    return 0;
}

static int read_expected(const struct mtlm_trace_run *run, const char *path,
                         struct expected *expected, struct mtlm_error *err)
{
    json_t *overlap, *edges;
    json_error_t why;

    if (json_unpack_ex(run->json, &why, 0,
                       "{s:i, s:i, s:I, s:o, s:F, s:F, s:o}", "first_iteration",
                       &expected->first, "last_iteration", &expected->last,
                       "nodes", &expected->nodes, "edges", &edges,
                       "makespan_ms", &expected->makespan_ms, "bubble_fraction",
                       &expected->bubble, "overlap_fraction", &overlap))
        return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: %s", path, why.text);
    expected->overlap = json_is_null(overlap) ? -1 : json_number_value(overlap);
    expected->edges = json_is_null(edges) ? -1 : json_integer_value(edges);
    if (expected->first < 0 || expected->last < expected->first
        || (int64_t) expected->last - expected->first >= MOST_ITERATIONS)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: its iterations are %d to %d", path,
                              expected->first, expected->last);
    return 0;
}

static int read_summary(struct mtlm_trace_run *run, struct expected *expected,
                        struct mtlm_error *err)
{
    char *path = mtlm_sprintf("%s/summary.json", run->dir);
    json_t *workers = NULL;
    int rc = load_json(run, path, err);

    if (rc == 0)
        rc = check_version(run, path, err);
    if (rc == 0)
        rc = read_run(run, path, &workers, err);
    if (rc == 0)
        rc = read_workers(run, path, workers, err);
    if (rc == 0)
        rc = read_ranks(run, path, err);
    if (rc == 0)
        rc = read_expected(run, path, expected, err);
    free(path);
    return rc;
}

static int check_count(const char *path, const char *what, size_t n,
                       json_int_t expected, struct mtlm_error *err)
{
    if ((json_int_t) n == expected)
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_INPUT,
        "%s has %zu %s, summary.json tells of %" PRId64 ": %s", path, n, what,
        (int64_t) expected,
        (json_int_t) n < expected ? "it is cut off" : "it is of another run");
}

static int read_tables(struct mtlm_trace_run *run,
                       const struct expected *expected, struct mtlm_error *err)
{
    char *path = mtlm_sprintf("%s/schedule.csv", run->dir);
    int rc = mtlm_trace_read_schedule(run, path, expected->first,
                                      expected->last, err);

    if (rc == 0)
        rc = check_count(path, "nodes", run->n, expected->nodes, err);
    free(path);
    if (rc < 0 || expected->edges < 0)
        return rc;
    path = mtlm_sprintf("%s/deps.csv", run->dir);
    rc = mtlm_trace_read_deps(run, path, err);
    if (rc == 0)
        rc =
            check_count(path, "edges", run->info.n_edges, expected->edges, err);
    free(path);
    return rc;
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (1 + fabs(b));
}

static int summarize(struct mtlm_trace_run *run,
                     const struct expected *expected, struct mtlm_error *err)
{
    const struct mtlm_trace_summary *s;

    run->records = mtlm_trace_records_create(run->record, run->n, &run->info);
    s = run->summary = mtlm_trace_summarize(run->record, run->n, &run->info);
    run->trace = (struct mtlm_trace){
        .info = &run->info, .records = run->records, .summary = run->summary};
    if (close_to(1e-6 * s->makespan_ns, expected->makespan_ms)
        && close_to(s->bubble, expected->bubble)
        && close_to(s->overlap, expected->overlap))
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_INPUT,
        "%s: its schedule.csv makes %.3f ms and a bubble of %.4f, its "
        "summary.json has %.3f ms and %.4f: they are not of one run, or "
        "damaged",
        run->dir, 1e-6 * s->makespan_ns, s->bubble, expected->makespan_ms,
        expected->bubble);
}

int mtlm_trace_read(struct mtlm_trace_run *run, const char *dir,
                    struct mtlm_error *err)
{
    struct expected expected;
    int rc;

    *run = (struct mtlm_trace_run){.dir = mtlm_strdup(dir)};
    rc = check_dir(dir, err);
    if (rc == 0)
        rc = read_summary(run, &expected, err);
    if (rc == 0)
        rc = read_tables(run, &expected, err);
    if (rc == 0)
        rc = summarize(run, &expected, err);
    if (rc < 0)
        mtlm_trace_run_free(run);
    return rc;
}

void mtlm_trace_run_free(struct mtlm_trace_run *run)
{
    mtlm_trace_summary_destroy(run->summary);
    mtlm_trace_records_destroy(run->records);
    free(run->record);
    free(run->edge);
    free(run->worker);
    free(run->stage_of_rank);
    json_decref(run->json);
    free(run->dir);
    *run = (struct mtlm_trace_run){0};
}
