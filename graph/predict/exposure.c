/* Sweeps over the starts and ends of a rank's nodes. */

#include "config.h"

#include <stdlib.h>

#include "graph/predict/exposure.h"
#include "graph/predict/plan_work.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

/* A start (1) or an end (-1) of a message of a kind, of a load or a store, or
 * of a node on a worker. */
enum { DISK = MTLM_TRAFFIC_COUNT, WORKER, ACTIVITIES };

struct change {
    int64_t time;
    int what, by;
};

static int activity_of(const struct mtlm_node *node)
{
    switch (mtlm_ops[node->call.kind]->op_class) {
    case MTLM_CLASS_P2P:
    case MTLM_CLASS_COLLECTIVE:
        return (int) mtlm_plan_work_kind(node);
    case MTLM_CLASS_DISK:
        return DISK;
    default:
        return WORKER;
    }
}

double *mtlm_exposure_busy(const struct mtlm_execution *run, int programs)
{
    double *busy = mtlm_calloc(programs, sizeof(*busy));

    for (int i = 0; i < run->n; i++) {
        const struct mtlm_executed *x = &run->node[i];

        if (activity_of(x->node) == WORKER)
            busy[x->program] += 1e-9 * (x->end_ns - x->start_ns);
    }
    return busy;
}

double *mtlm_exposure_turns(const struct mtlm_execution *run, int programs,
                            enum mtlm_turns turns)
{
    double *taken =
        mtlm_calloc(programs * MTLM_EXPOSURE_LANES, sizeof(*taken));

    for (int i = 0; i < run->n; i++) {
        const struct mtlm_executed *x = &run->node[i];
        const int lane = turns == MTLM_TURNS_ALL ? 0 : x->node->lane;

        if (x->collective >= 0)
            taken[x->program * MTLM_EXPOSURE_LANES + lane] +=
                1e-9 * (x->end_ns - x->start_ns);
    }
    return taken;
}

int mtlm_exposure_busiest(const double *busy, int programs)
{
    int most = 0;

    for (int i = 1; i < programs; i++)
        most = busy[i] > busy[most] ? i : most;
    return most;
}

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    return mtlm_compare(x->time, y->time);
}

/* Returns the changes of the program in order of time; sets *n. */
static struct change *list_changes(const struct mtlm_execution *run,
                                   int program, int *n)
{
    struct change *list;

    *n = 0;
    for (int i = 0; i < run->n; i++)
        *n += 2 * (run->node[i].program == program);
    list = mtlm_calloc(*n, sizeof(*list));
    *n = 0;
    for (int i = 0; i < run->n; i++) {
        const struct mtlm_executed *x = &run->node[i];
        const int what = activity_of(x->node);

        if (x->program != program)
            continue;
        list[(*n)++] = (struct change){x->start_ns, what, 1};
        list[(*n)++] = (struct change){x->end_ns, what, -1};
    }
    qsort(list, *n, sizeof(*list), by_time);
    return list;
}

/* Adds idle time in which so many messages, loads and stores are active. */
static void add_idle(struct mtlm_exposure *e, const int *active, double seconds)
{
    for (int kind = 0; kind < MTLM_TRAFFIC_COUNT; kind++)
        if (active[kind] > 0) {
            e->message_s[kind] += seconds;
            return;
        }
    *(active[DISK] > 0 ? &e->disk_s : &e->waiting_s) += seconds;
}

/* Adds an interval in which so many messages and so on are active. */
static void add_interval(struct mtlm_exposure *e, const int *active,
                         double seconds)
{
    if (active[DISK] > 0)
        e->moving_s += seconds;
    if (active[WORKER] == 0)
        add_idle(e, active, seconds);
    else if (active[DISK] > 0)
        e->hidden_s += seconds;
}

struct mtlm_exposure mtlm_exposure_find(const struct mtlm_execution *run,
                                        int program)
{
    struct mtlm_exposure e = {0};
    int active[ACTIVITIES] = {0}, n;
    struct change *list = list_changes(run, program, &n);
    int64_t now = 0;

    for (int i = 0; i < n; i++) {
        if (list[i].time > now)
            add_interval(&e, active, 1e-9 * (list[i].time - now));
        now = list[i].time;
        active[list[i].what] += list[i].by;
    }
    e.waiting_s += 1e-9 * (run->makespan_ns - now);
    free(list);
    return e;
}
