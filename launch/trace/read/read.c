/* Reads a trace directory: what the run was and its numbers from summary.json,
 * its records from schedule.csv. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codelets/op.h"
#include "launch/trace/read/read.h"
#include "launch/trace/read/read_schedule.h"
#include "launch/trace/read/read_summary.h"
#include "runtime/base/memory.h"
#include "runtime/file/json_file.h"

/* Bounds: no run is larger, and nothing overflows below them. */
enum {
    MOST_RANKS = 1 << 20,
    MOST_ITERATIONS = 1 << 20,
    MOST_STAGES = 1 << 16,
    MOST_VIRTUAL_STAGES = 1 << 12
};

static int refuse_unread(const char *path, const char *why,
                         struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_INPUT, "cannot read %s: %s", path,
                          why);
}

static int check_dir(const char *dir, struct mtlm_error *err)
{
    struct stat st;

    if (stat(dir, &st))
        return refuse_unread(dir, strerror(errno), err);
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
                              "%s names no trace_version: an older mtlm-dag "
                              "or another program wrote the file; trace the "
                              "run again",
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

/* The placement of this name; MTLM_PLACEMENT_POLICY + 1: none. */
static int find_placement(const char *name)
{
    int p = MTLM_PLACEMENT_LOOP;

    while (p <= MTLM_PLACEMENT_POLICY
           && strcmp(name, mtlm_placement_name((enum mtlm_placement) p)))
        p++;
    return p;
}

/* Reads the object "run". */
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
        || find_placement(place) > MTLM_PLACEMENT_POLICY
        || !json_is_array(*workers))
        return mtlm_error_set(
            err, MTLM_EXIT_INPUT,
            "%s: no run has %d ranks, %d stages of %d each, placement %.40s, "
            "%d microbatches",
            path, info->ranks, info->stages, info->virtual_stages, place,
            info->microbatches);
    info->placement = find_placement(place);
    info->model = mtlm_json_file_text(object, "model");
    info->layout = mtlm_json_file_text(object, "layout");
    info->schedule = mtlm_json_file_text(object, "schedule");
    info->policy = mtlm_json_file_text(object, "policy");
    info->starpu_version = mtlm_json_file_text(object, "starpu_version");
    info->gpu = mtlm_json_file_text(object, "gpu");
    info->transport = mtlm_json_file_text(object, "transport");
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
        w->device = mtlm_json_file_text(json_array_get(list, i), "device");
    }
    run->info.worker = run->worker;
    run->info.n_workers = n;
    return 0;
}

/* Reads the stages of the ranks; null: unknown. */
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

static int read_iterations(struct mtlm_trace_run *run, const char *path,
                           struct mtlm_error *err)
{
    struct mtlm_trace_summary *s = run->summary;
    json_error_t why;

    if (json_unpack_ex(run->json, &why, 0, "{s:i, s:i}", "first_iteration",
                       &s->first_iteration, "last_iteration",
                       &s->last_iteration))
        return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: %s", path, why.text);
    if (s->first_iteration < 0 || s->last_iteration < s->first_iteration
        || (int64_t) s->last_iteration - s->first_iteration >= MOST_ITERATIONS)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: its iterations are %d to %d", path,
                              s->first_iteration, s->last_iteration);
    s->first_iteration--;
    s->last_iteration--;
    return 0;
}

static int read_summary(struct mtlm_trace_run *run, const char *path,
                        struct mtlm_error *err)
{
    json_t *workers = NULL;

    if (load_json(run, path, err) < 0 || check_version(run, path, err) < 0
        || read_run(run, path, &workers, err) < 0
        || read_workers(run, path, workers, err) < 0
        || read_ranks(run, path, err) < 0)
        return -1;
    run->summary =
        mtlm_trace_read_summary(run->json, path, run->info.ranks, err);
    return run->summary ? read_iterations(run, path, err) : -1;
}

int mtlm_trace_read(struct mtlm_trace_run *run, const char *dir,
                    struct mtlm_error *err)
{
    char *path = mtlm_sprintf("%s/summary.json", dir);
    int rc;

    *run = (struct mtlm_trace_run){.dir = mtlm_strdup(dir)};
    rc = check_dir(dir, err);
    if (rc == 0)
        rc = read_summary(run, path, err);
    free(path);
    if (rc < 0)
        mtlm_trace_run_free(run);
    return rc;
}

/* ---- records, for the picture ---- */

static int check_count(const struct mtlm_trace_run *run, const char *path,
                       struct mtlm_error *err)
{
    const json_t *nodes = json_object_get(run->json, "nodes");
    const json_int_t expected = json_integer_value(nodes);

    if ((json_int_t) run->n == expected)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s has %zu nodes, summary.json has %" PRId64 ": %s",
                          path, run->n, (int64_t) expected,
                          (json_int_t) run->n < expected
                              ? "it is cut off"
                              : "it is of another run");
}

/* Compares the time of all nodes with that of summary.json's operations, except
 * receives, which the summary trims to their sends.  Of a large simulation the
 * records are a part, the operations are all. */
static int check_time(const struct mtlm_trace_run *run, const char *path,
                      struct mtlm_error *err)
{
    const json_t *ops = json_object_get(run->json, "ops");
    double expected = 0, ms = 0;
    json_int_t count = 0;

    for (size_t i = 0; i < json_array_size(ops); i++) {
        const json_t *op = json_array_get(ops, i);
        const char *name = mtlm_json_file_text(op, "name");

        count += json_integer_value(json_object_get(op, "count"));
        if (name && strcmp(name, mtlm_ops[MTLM_OP_RECV]->name))
            expected += json_number_value(json_object_get(op, "total_ms"));
    }
    if (count > (json_int_t) run->n)
        return 0;
    for (size_t i = 0; i < run->n; i++) {
        const struct mtlm_record *r = &run->record[i];

        if (r->op != MTLM_OP_RECV)
            ms += 1e-6 * (r->end_ns - r->start_ns);
    }
    if (fabs(ms - expected) <= 1e-6 * (1 + expected))
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: its nodes take %.3f ms, those of summary.json "
                          "%.3f ms: they are not of one run, or damaged",
                          path, ms, expected);
}

int mtlm_trace_read_records(struct mtlm_trace_run *run, struct mtlm_error *err)
{
    const struct mtlm_trace_summary *s = run->summary;
    char *path = mtlm_sprintf("%s/schedule.csv", run->dir);
    int rc = mtlm_trace_read_schedule(path, &run->info, s->first_iteration + 1,
                                      s->last_iteration + 1, &run->record,
                                      &run->n, err);

    if (rc == 0)
        rc = check_count(run, path, err);
    if (rc == 0)
        rc = check_time(run, path, err);
    free(path);
    if (rc < 0)
        return -1;
    run->records = mtlm_trace_records_create(run->record, run->n, &run->info);
    run->trace = (struct mtlm_trace){
        .info = &run->info, .records = run->records, .summary = s};
    return 0;
}

void mtlm_trace_run_free(struct mtlm_trace_run *run)
{
    mtlm_trace_summary_destroy(run->summary);
    mtlm_trace_records_destroy(run->records);
    free(run->record);
    free(run->worker);
    free(run->stage_of_rank);
    json_decref(run->json);
    free(run->dir);
    *run = (struct mtlm_trace_run){0};
}
