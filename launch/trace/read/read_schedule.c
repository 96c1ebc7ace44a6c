/* Reads the records of schedule.csv: the columns that make a record, each
 * within its bounds. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/op.h"
#include "graph/predict/simulator.h"
#include "launch/trace/read/csv.h"
#include "launch/trace/read/read_schedule.h"
#include "launch/trace/records.h"
#include "runtime/base/memory.h"

/* Upper bounds: time in us, beyond any simulation, and job numbers. */
static const double most_us = 1e-3 * MTLM_SIMULATOR_LONGEST;
static const int64_t most_jobs = INT64_C(1) << 53;

/* The columns that make a record; other columns follow from these. */
enum column {
    RANK,
    WORKER,
    ITERATION,
    MICROBATCH,
    STAGE,
    LAYER,
    NAME,
    JOB,
    PRIORITY,
    SUBMIT,
    READY,
    START,
    END,
    FLOPS,
    BYTES,
    PEER,
    LANE,
    PHASE,
    GROUP,
    GROUP_ROOT,
    MATCH,
    COLUMNS
};

static const char *const column_name[COLUMNS] = {
    [RANK] = "rank",           [WORKER] = "worker",
    [ITERATION] = "iteration", [MICROBATCH] = "microbatch",
    [STAGE] = "stage",         [LAYER] = "layer",
    [NAME] = "name",           [JOB] = "job",
    [PRIORITY] = "priority",   [SUBMIT] = "submit_us",
    [READY] = "ready_us",      [START] = "start_us",
    [END] = "end_us",          [FLOPS] = "flops",
    [BYTES] = "bytes",         [PEER] = "peer",
    [LANE] = "lane",           [PHASE] = "phase",
    [GROUP] = "group",         [GROUP_ROOT] = "group_root",
    [MATCH] = "match",
};

struct schedule_table {
    struct mtlm_csv csv;
    int at[COLUMNS], columns; /* fields of a line */
    struct mtlm_error *err;
};

static const char *field(const struct schedule_table *t, enum column column)
{
    return t->csv.field[t->at[column]];
}

static bool read_int32(struct schedule_table *t, enum column column,
                       int64_t least, int64_t most, int32_t *value)
{
    int64_t v = 0;
    const bool well =
        mtlm_csv_integer(&t->csv, field(t, column), least, most, &v, t->err)
        == 0;

    *value = v;
    return well;
}

static bool read_int64(struct schedule_table *t, enum column column,
                       int64_t least, int64_t *value)
{
    return mtlm_csv_integer(&t->csv, field(t, column), least, most_jobs, value,
                            t->err)
           == 0;
}

static bool read_ns(struct schedule_table *t, enum column column, int64_t *ns)
{
    double us;

    if (mtlm_csv_real(&t->csv, field(t, column), &us, t->err) < 0)
        return false;
    *ns = llround(1e3 * fmax(-most_us, fmin(us, most_us)));
    if (fabs(us) <= most_us)
        return true;
    mtlm_error_set(t->err, MTLM_EXIT_INPUT,
                   "%s: line %" PRId64 ": %s is longer than any run",
                   t->csv.path, t->csv.number, column_name[column]);
    return false;
}

static bool refuse_name(struct schedule_table *t, enum column column)
{
    mtlm_error_set(t->err, MTLM_EXIT_INPUT,
                   "%s: line %" PRId64 ": \"%.40s\" is no %s that this "
                   "version knows",
                   t->csv.path, t->csv.number, field(t, column),
                   column_name[column]);
    return false;
}

/* Reads one of the names 0 .. n - 1. */
static bool read_name(struct schedule_table *t, enum column column,
                      const char *(*name)(int), int n, int32_t *value)
{
    for (*value = 0; *value < n; (*value)++)
        if (strcmp(field(t, column), name(*value)) == 0)
            return true;
    return refuse_name(t, column);
}

static const char *op_name(int op)
{
    return mtlm_ops[op]->name;
}

static bool read_place(struct schedule_table *t,
                       const struct mtlm_trace_info *info,
                       struct mtlm_record *r)
{
    const int64_t stages = (int64_t) info->stages * info->virtual_stages;

    return read_int32(t, RANK, 0, info->ranks - 1, &r->rank)
           && read_int32(t, WORKER, -1, INT32_MAX, &r->worker)
           && read_int32(t, MICROBATCH, -1, INT32_MAX, &r->microbatch)
           && read_int32(t, STAGE, -1, stages - 1, &r->stage)
           && read_int32(t, LAYER, -1, INT32_MAX, &r->layer)
           && read_int32(t, PRIORITY, INT32_MIN, INT32_MAX, &r->priority)
           && read_int32(t, PEER, -1, INT32_MAX, &r->peer)
           && read_int32(t, GROUP, -1, INT32_MAX, &r->group)
           && read_int32(t, GROUP_ROOT, -1, INT32_MAX, &r->group_root)
           && read_int64(t, JOB, 0, &r->job)
           && read_int64(t, MATCH, -1, &r->match)
           && read_name(t, NAME, op_name, MTLM_OP_COUNT, &r->op)
           && read_name(t, LANE, mtlm_trace_lane_name, MTLM_LANE_DISK + 1,
                        &r->lane)
           && read_name(t, PHASE, mtlm_trace_phase_name, MTLM_PHASE_SAVE + 1,
                        &r->phase);
}

static bool read_times(struct schedule_table *t, struct mtlm_record *r)
{
    if (!read_ns(t, SUBMIT, &r->submit_ns) || !read_ns(t, READY, &r->ready_ns)
        || !read_ns(t, START, &r->start_ns) || !read_ns(t, END, &r->end_ns)
        || mtlm_csv_real(&t->csv, field(t, FLOPS), &r->flops, t->err) < 0
        || mtlm_csv_real(&t->csv, field(t, BYTES), &r->bytes, t->err) < 0)
        return false;
    if (r->start_ns <= r->end_ns)
        return true;
    mtlm_error_set(t->err, MTLM_EXIT_INPUT,
                   "%s: line %" PRId64 ": a node ends before it starts",
                   t->csv.path, t->csv.number);
    return false;
}

/* first, last: bounds of training iterations, 1-based. */
static bool read_record(struct schedule_table *t,
                        const struct mtlm_trace_info *info, int first, int last,
                        struct mtlm_record *r)
{
    if (!read_place(t, info, r) || !read_times(t, r))
        return false;
    if (r->phase == MTLM_PHASE_INIT || r->phase == MTLM_PHASE_EVAL
        || r->phase == MTLM_PHASE_SAVE) {
        first = INT32_MIN + 1;
        last = INT32_MAX;
    }
    if (!read_int32(t, ITERATION, first, last, &r->iteration))
        return false;
    r->iteration--;
    return true;
}

static int open_table(struct schedule_table *t, const char *path,
                      struct mtlm_error *err)
{
    t->err = err;
    if (mtlm_csv_open(&t->csv, path, err) < 0)
        return -1;
    for (int i = 0; i < COLUMNS; i++) {
        t->at[i] = mtlm_csv_column(&t->csv, column_name[i], err);
        if (t->at[i] < 0)
            return -1;
    }
    t->columns = t->csv.n;
    return 0;
}

int mtlm_trace_read_schedule(const char *path,
                             const struct mtlm_trace_info *info, int first,
                             int last, struct mtlm_record **record, size_t *n,
                             struct mtlm_error *err)
{
    struct schedule_table t = {0};
    size_t capacity = 0;
    int rc = open_table(&t, path, err);

    *record = NULL;
    *n = 0;
    while (rc == 0) {
        rc = mtlm_csv_next(&t.csv, t.columns, err);
        if (rc <= 0)
            break;
        *record = mtlm_make_room(*record, &capacity, *n + 1, sizeof(**record));
        (*record)[*n] = (struct mtlm_record){0};
        rc = read_record(&t, info, first, last, &(*record)[*n]) ? 0 : -1;
        ++*n;
    }
    mtlm_csv_close(&t.csv);
    return rc;
}
