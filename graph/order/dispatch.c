/* Orders from wished starts of F and B. */

#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "graph/order/dispatch.h"
#include "graph/order/rounding.h"
#include "runtime/base/memory.h"

/* The F, or the B, of a virtual stage: one microbatch after another. */
struct dispatch_lane {
    double wish; /* of the next box; INFINITY: the box cannot run yet */
    int done;    /* boxes that have run */
    int rank;
    bool parked; /* the next box waits for memory */
};

struct dispatch_rank {
    double now, used; /* the last box's end; memory of its slots */
    struct mtlm_slot_count *slots;
    int *waiting; /* [chunks * m] pieces of W to run next, oldest B first */
    int first, end;
};

struct dispatch {
    const struct mtlm_dispatch *config;
    struct mtlm_walk *walk;
    struct mtlm_box_order *order;
    struct dispatch_lane
        *lane; /* [2 * stages] F of a stage, then B of the stage */
    struct dispatch_rank *rank;
    int stages, m;
    int each; /* boxes of a stage and microbatch */
    double makespan;
};

int mtlm_dispatch_wishes(const struct mtlm_boxes *boxes)
{
    return 2 * mtlm_layout_stages(boxes->layout) * boxes->microbatches;
}

int mtlm_dispatch_wish(const struct mtlm_boxes *boxes, struct mtlm_box box)
{
    const int lane = 2 * box.stage + (box.phase == MTLM_PHASE_BACKWARD);

    return lane * boxes->microbatches + box.microbatch;
}

/* ---- lanes ---- */

/* The number of a lane's box.  B follows F in the numbers of boxes. */
static int box_of(const struct dispatch *s, int lane, int microbatch)
{
    return (lane / 2 * s->m + microbatch) * s->each + lane % 2;
}

/* The lane whose box of the same microbatch comes before, or -1. */
static int lane_before(const struct dispatch *s, int lane)
{
    if (lane % 2 == 0)
        return lane - 2;
    return lane / 2 + 1 < s->stages ? lane + 2 : lane - 1;
}

/* The lane whose box of the same microbatch comes next, or -1. */
static int lane_behind(const struct dispatch *s, int lane)
{
    if (lane % 2 == 1)
        return lane - 2;
    return lane / 2 + 1 < s->stages ? lane + 2 : lane + 1;
}

/* Sets the wish of the lane's next box. */
static void find_wish(struct dispatch *s, int lane)
{
    struct dispatch_lane *l = &s->lane[lane];
    const int before = lane_before(s, lane);
    const bool ready = !l->parked && l->done < s->m
                       && (before < 0 || s->lane[before].done > l->done);

    l->wish = ready ? s->config->wish[lane * s->m + l->done] : INFINITY;
}

static int least_lane(const struct dispatch *s)
{
    int least = 0;

    for (int i = 1; i < 2 * s->stages; i++)
        if (s->lane[i].wish < s->lane[least].wish)
            least = i;
    return least;
}

/* ---- boxes of a rank ---- */

static void run(struct dispatch *s, int r, int box, double start)
{
    struct dispatch_rank *rank = &s->rank[r];

    s->walk->start[box] = start;
    s->walk->end[box] = rank->now = start + s->walk->time[box];
    rank->used +=
        mtlm_slot_count_run(rank->slots, mtlm_box_at(s->walk->boxes, box));
    s->order->box[r][s->order->n[r]++] = box;
    s->makespan = fmax(s->makespan, rank->now);
}

/* Runs a piece of W.  Returns false if there is none. */
static bool run_weight(struct dispatch *s, int r)
{
    struct dispatch_rank *rank = &s->rank[r];
    int box;

    if (rank->first == rank->end)
        return false;
    box = rank->waiting[rank->first];
    run(s, r, box, rank->now);
    /* The pieces of a W are the last boxes of their stage and microbatch. */
    if ((box + 1) % s->each == 0)
        rank->first++;
    else
        rank->waiting[rank->first]++;
    return true;
}

/* Runs W until a box of the rank has its memory. */
static bool make_room(struct dispatch *s, int r, int number)
{
    const double most = s->config->most_memory * (1 + MTLM_MEMORY_ROUNDING);
    const struct mtlm_box box = mtlm_box_at(s->walk->boxes, number);
    const struct dispatch_rank *rank = &s->rank[r];

    while (rank->used + mtlm_slot_count_growth(rank->slots, box) > most)
        if (!mtlm_slot_count_weight_helps(rank->slots, box)
            || !run_weight(s, r))
            return false;
    return true;
}

/* Runs W until the box arrives.  Returns the start of the box. */
static double fill_wait(struct dispatch *s, int r, int box)
{
    struct dispatch_rank *rank = &s->rank[r];
    const int before = s->walk->before[box];
    const double arrival =
        before < 0 ? 0 : s->walk->end[before] + s->walk->hop[box];
    const double until =
        arrival * (1 + MTLM_WALK_ROUNDING) + s->config->delay[r];

    while (rank->now < arrival && rank->first < rank->end
           && rank->now + s->walk->time[rank->waiting[rank->first]] <= until)
        run_weight(s, r);
    return fmax(rank->now, arrival);
}

/* The rank has more W: an F that waits for memory may run. */
static void unpark(struct dispatch *s, int r)
{
    for (int i = 0; i < 2 * s->stages; i += 2)
        if (s->lane[i].parked && s->lane[i].rank == r) {
            s->lane[i].parked = false;
            find_wish(s, i);
        }
}

static void run_lane(struct dispatch *s, int lane)
{
    struct dispatch_lane *l = &s->lane[lane];
    const int box = box_of(s, lane, l->done), behind = lane_behind(s, lane);

    l->parked = !make_room(s, l->rank, box);
    if (!l->parked) {
        run(s, l->rank, box, fill_wait(s, l->rank, box));
        l->done++;
    }
    if (!l->parked && lane % 2 == 1) {
        struct dispatch_rank *rank = &s->rank[l->rank];

        rank->waiting[rank->end++] = box + 1; /* the first piece of W */
        unpark(s, l->rank);
    }
    find_wish(s, lane);
    if (behind >= 0)
        find_wish(s, behind);
}

/* ---- the whole ---- */

static void begin(struct dispatch *s)
{
    const struct mtlm_layout *layout = s->walk->boxes->layout;

    for (int r = 0; r < s->order->ranks; r++) {
        s->order->n[r] = 0;
        s->rank[r].waiting =
            mtlm_calloc(layout->virtual_stages * s->m, sizeof(int));
        s->rank[r].slots =
            mtlm_slot_count_create(s->walk->boxes, r, &s->config->slots);
    }
    for (int i = 0; i < 2 * s->stages; i++)
        s->lane[i].rank = mtlm_layout_pp_rank(layout, i / 2);
    for (int i = 0; i < 2 * s->stages; i++)
        find_wish(s, i);
}

double mtlm_dispatch_build(const struct mtlm_dispatch *dispatch,
                           struct mtlm_walk *walk, struct mtlm_box_order *order)
{
    const struct mtlm_boxes *boxes = walk->boxes;
    struct dispatch s = {.config = dispatch,
                         .walk = walk,
                         .order = order,
                         .stages = mtlm_layout_stages(boxes->layout),
                         .m = boxes->microbatches,
                         .each = 2 + boxes->pieces};
    int n = 0;

    assert(!boxes->fused);
    s.lane = mtlm_calloc(2 * s.stages, sizeof(*s.lane));
    s.rank = mtlm_calloc(order->ranks, sizeof(*s.rank));
    begin(&s);
    for (int lane = least_lane(&s); s.lane[lane].wish < INFINITY;
         lane = least_lane(&s))
        run_lane(&s, lane);
    for (int r = 0; r < order->ranks; r++) {
        while (run_weight(&s, r))
            ;
        n += order->n[r];
        free(s.rank[r].waiting);
        mtlm_slot_count_destroy(s.rank[r].slots);
    }
    free(s.rank);
    free(s.lane);
    return n == walk->n ? s.makespan : INFINITY;
}
