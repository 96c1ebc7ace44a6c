/* Counts of a rank's passes at points of time, and the rows between them. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "graph/predict/rank_lp.h"
#include "runtime/base/memory.h"

/* The column of the microbatches that end, which each count reaches; and what
 * stands for a count of 0. */
enum { ALL = 0, NONE = -1 };

/* First columns of a pass.  Counts of F that have started, and of passes that
 * have ended, shift with the pass: column i counts at `head`, or at its end,
 * and i intervals later.  Work shifts with nothing. */
struct pass_counts {
    int last; /* of the columns 0, 1, ...: nothing is later */
    int started, ended, worked;
};

struct rank_lp {
    const struct mtlm_rank_passes *passes;
    int64_t makespan;
    int points;
    struct pass_counts *counts; /* [passes] */
    struct mtlm_lp lp;
};

/* ---- counts at a time ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && a < 0);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return -floor_div(-a, b);
}

/* Returns `points` times the ns from `since` to point s. */
static int64_t after(const struct rank_lp *r, int s, int64_t since)
{
    return s * r->makespan - r->points * since;
}

/* Returns the last column from `first` that counts no later than point s, where
 * column `first` counts at `since`. */
static int column_before(const struct rank_lp *r, const struct pass_counts *c,
                         int first, int s, int64_t since)
{
    const int64_t i = floor_div(after(r, s, since), r->makespan);

    return i < 0 ? NONE : first + (int) (i < c->last ? i : c->last);
}

/* Returns the first column that counts no earlier than point s. */
static int column_behind(const struct rank_lp *r, const struct pass_counts *c,
                         int first, int s, int64_t since)
{
    const int64_t i = ceil_div(after(r, s, since), r->makespan);

    if (after(r, s, since) < 0)
        return NONE;
    return i > c->last ? ALL : first + (int) i;
}

/* Returns a count of no more than have ended at point s. */
static int ended_at_least(const struct rank_lp *r, int p, int s)
{
    const struct mtlm_rank_pass *pass = &r->passes->pass[p];

    if (after(r, s, r->makespan - pass->tail) >= 0)
        return ALL;
    return column_before(r, &r->counts[p], r->counts[p].ended, s,
                         pass->head + pass->time);
}

/* Returns a count of no fewer than have ended a lag before point s. */
static int ended_at_most(const struct rank_lp *r, int p, int s, int64_t lag)
{
    const struct mtlm_rank_pass *pass = &r->passes->pass[p];

    return column_behind(r, &r->counts[p], r->counts[p].ended, s,
                         pass->head + pass->time + lag);
}

static int started_at_least(const struct rank_lp *r, int p, int s)
{
    const struct mtlm_rank_pass *pass = &r->passes->pass[p];

    if (after(r, s, r->makespan - pass->tail - pass->time) >= 0)
        return ALL;
    return column_before(r, &r->counts[p], r->counts[p].started, s, pass->head);
}

static int started_at_most(const struct rank_lp *r, int p, int s)
{
    const struct mtlm_rank_pass *pass = &r->passes->pass[p];

    if (pass->phase != MTLM_PHASE_FORWARD)
        return ended_at_most(r, pass->before, s, pass->lag);
    return column_behind(r, &r->counts[p], r->counts[p].started, s, pass->head);
}

/* ---- rows ---- */

/* Adds a count to the latest row. */
static void add_count(struct rank_lp *r, int column, double value)
{
    if (column != NONE)
        mtlm_lp_entry(&r->lp, column, value);
}

/* Adds the row: a count is no more than another count. */
static void add_less(struct rank_lp *r, int less, int more)
{
    mtlm_lp_row(&r->lp, 0);
    add_count(r, less, 1);
    add_count(r, more, -1);
}

/* The counts from column `first` rise to that of all. */
static void add_rises(struct rank_lp *r, int first, int n)
{
    for (int i = 1; i <= n; i++)
        add_less(r, first + i - 1, i < n ? first + i : ALL);
}

/* Counts from column `first` rise, and none exceeds that of the pass before. */
static void add_chain(struct rank_lp *r, int p, int first)
{
    const int before = r->passes->pass[p].before, last = r->counts[p].last;

    add_rises(r, first, last + 1);
    for (int i = 0; before >= 0 && i <= last; i++)
        if (i <= r->counts[before].last)
            add_less(r, first + i, r->counts[before].ended + i);
}

/* What starts follows the pass before; what ends has started. */
static void add_counts(struct rank_lp *r, int p)
{
    const struct pass_counts *c = &r->counts[p];

    if (r->passes->pass[p].phase != MTLM_PHASE_FORWARD) {
        add_chain(r, p, c->ended);
        return;
    }
    add_chain(r, p, c->started);
    add_rises(r, c->ended, c->last + 1);
    for (int i = 0; i <= c->last; i++)
        add_less(r, c->ended + i, c->started + i);
}

/* The work is between that of what has ended and that of what has started. */
static void add_work(struct rank_lp *r, int p)
{
    const int worked = r->counts[p].worked;

    add_rises(r, worked, r->points);
    for (int s = 1; s <= r->points; s++) {
        add_less(r, worked + s - 1, started_at_most(r, p, s));
        add_less(r, ended_at_least(r, p, s), worked + s - 1);
    }
}

/* The work of an interval takes no longer than the interval. */
static void add_interval(struct rank_lp *r, int s)
{
    mtlm_lp_row(&r->lp, 1);
    for (int p = 0; p < r->passes->n; p++) {
        const double share =
            (double) r->points * r->passes->pass[p].time / r->makespan;

        add_count(r, r->counts[p].worked + s - 1, share);
        if (s > 1)
            add_count(r, r->counts[p].worked + s - 2, -share);
    }
}

/* Activations that are kept at a point fit. */
static void add_memory(struct rank_lp *r, int s)
{
    mtlm_lp_row(&r->lp, 1);
    for (int p = 0; p < r->passes->n; p++) {
        const struct mtlm_rank_pass *pass = &r->passes->pass[p];
        const double share = (double) pass->memory / r->passes->most_memory;

        if (pass->phase == MTLM_PHASE_FORWARD)
            add_count(r, started_at_least(r, p, s), share);
        else
            add_count(r, ended_at_most(r, p, s, 0), -share);
    }
}

/* ---- the whole ---- */

static void add_columns(struct rank_lp *r, int p)
{
    const struct mtlm_rank_pass *pass = &r->passes->pass[p];
    const int64_t free_ns = r->makespan - pass->tail - pass->head - pass->time;
    struct pass_counts *c = &r->counts[p];

    assert(free_ns >= 0);
    c->last = (int) floor_div(r->points * free_ns, r->makespan);
    c->started = pass->phase == MTLM_PHASE_FORWARD
                     ? mtlm_lp_columns(&r->lp, c->last + 1)
                     : -1;
    c->ended = mtlm_lp_columns(&r->lp, c->last + 1);
    c->worked = mtlm_lp_columns(&r->lp, r->points);
}

struct mtlm_lp mtlm_rank_lp_create(const struct mtlm_rank_passes *passes,
                                   int64_t makespan_ns, int points)
{
    struct rank_lp r = {.passes = passes,
                        .makespan = makespan_ns,
                        .points = points,
                        .counts = mtlm_calloc(passes->n, sizeof(*r.counts)),
                        .lp = mtlm_lp_create(passes->microbatches)};

    for (int p = 0; p < passes->n; p++)
        add_columns(&r, p);
    for (int p = 0; p < passes->n; p++)
        add_counts(&r, p);
    for (int p = 0; p < passes->n; p++)
        add_work(&r, p);
    for (int s = 1; s <= points; s++) {
        add_interval(&r, s);
        add_memory(&r, s);
    }
    free(r.counts);
    return r.lp;
}
