/* Walks of an order: starts and ends by the longest path. */

#include "config.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "graph/order/walk.h"
#include "runtime/base/memory.h"

/* More predecessors than a box has: a box that the order lacks never runs. */
enum { NEVER = 4 };

/* Boxes have numbers of type int. */
static int count_boxes(const struct mtlm_boxes *boxes)
{
    const int64_t n = mtlm_boxes_count(boxes);

    assert(n <= INT_MAX);
    return n;
}

struct mtlm_walk mtlm_walk_create(const struct mtlm_boxes *boxes)
{
    const int n = count_boxes(boxes);
    struct mtlm_walk walk = {.boxes = boxes,
                             .n = n,
                             .rank = mtlm_calloc(n, sizeof(int)),
                             .before = mtlm_calloc(n, sizeof(int)),
                             .time = mtlm_calloc(n, sizeof(double)),
                             .hop = mtlm_calloc(n, sizeof(double)),
                             .growth = mtlm_calloc(n, sizeof(double)),
                             .after = mtlm_calloc(n, sizeof(int[2])),
                             .n_after = mtlm_calloc(n, sizeof(int)),
                             .start = mtlm_calloc(n, sizeof(double)),
                             .end = mtlm_calloc(n, sizeof(double)),
                             .place = mtlm_calloc(n, sizeof(int)),
                             .run = mtlm_calloc(n, sizeof(int)),
                             .missing = mtlm_calloc(n, sizeof(int))};

    for (int i = 0; i < n; i++) {
        walk.rank[i] = mtlm_box_rank(boxes, i);
        walk.time[i] = mtlm_box_time(boxes, i);
        walk.growth[i] = mtlm_box_growth(boxes, i);
        walk.before[i] = mtlm_box_before(boxes, i, &walk.hop[i]);
    }
    for (int i = 0; i < n; i++)
        if (walk.before[i] >= 0)
            walk.after[walk.before[i]][walk.n_after[walk.before[i]]++] = i;
    return walk;
}

void mtlm_walk_free(struct mtlm_walk *walk)
{
    free(walk->rank);
    free(walk->before);
    free(walk->time);
    free(walk->hop);
    free(walk->growth);
    free(walk->after);
    free(walk->n_after);
    free(walk->start);
    free(walk->end);
    free(walk->place);
    free(walk->run);
    free(walk->missing);
}

/* Neighbours of the boxes in their lanes: [boxes]; -1: none. */
struct lane_links {
    int *previous, *next;
};

/* Returns the predecessors in the order of the box at place j of its rank.
 * links: NULL: each rank has one lane. */
static inline int count_before(const struct mtlm_walk *walk,
                               const struct lane_links *links, int box, int j)
{
    return links ? (j > 0 && !walk->apart) + (links->previous[box] >= 0)
                 : j > 0;
}

/* Finds the boxes that wait for nothing. */
static inline void begin_walk(struct mtlm_walk *walk,
                              const struct mtlm_box_order *order,
                              const struct lane_links *links)
{
    walk->n_run = 0;
    for (int i = 0; i < walk->n; i++)
        walk->missing[i] = NEVER;
    for (int r = 0; r < order->ranks; r++)
        for (int j = 0; j < order->n[r]; j++) {
            const int box = order->box[r][j];

            walk->place[box] = j;
            walk->missing[box] =
                count_before(walk, links, box, j) + (walk->before[box] >= 0);
            if (walk->missing[box] == 0)
                walk->run[walk->n_run++] = box;
        }
}

/* One more predecessor of the box has run. */
static void release(struct mtlm_walk *walk, int box)
{
    if (--walk->missing[box] == 0)
        walk->run[walk->n_run++] = box;
}

/* ---- one lane on each rank ---- */

static void run_box(struct mtlm_walk *walk, const struct mtlm_box_order *order,
                    int box)
{
    const int r = walk->rank[box], j = walk->place[box];
    const int before = walk->before[box];
    double start = j > 0 ? walk->end[order->box[r][j - 1]] : 0;

    if (before >= 0)
        start = fmax(start, walk->end[before] + walk->hop[box]);
    walk->start[box] = start;
    walk->end[box] = start + walk->time[box];
    if (j + 1 < order->n[r])
        release(walk, order->box[r][j + 1]);
    for (int i = 0; i < walk->n_after[box]; i++)
        release(walk, walk->after[box][i]);
}

/* ---- several lanes ---- */

static struct lane_links link_lanes(const struct mtlm_walk *walk,
                                    const struct mtlm_box_order *order)
{
    struct lane_links links = {mtlm_calloc(walk->n, sizeof(int)),
                               mtlm_calloc(walk->n, sizeof(int))};

    for (int r = 0; r < order->ranks; r++) {
        const int lanes = mtlm_order_lanes(order, r);
        int *last = mtlm_calloc(lanes, sizeof(*last));

        for (int lane = 0; lane < lanes; lane++)
            last[lane] = -1;
        for (int j = 0; j < order->n[r]; j++) {
            const int box = order->box[r][j];
            int *before = &last[order->lane[box]];

            links.previous[box] = *before;
            links.next[box] = -1;
            if (*before >= 0)
                links.next[*before] = box;
            *before = box;
        }
        free(last);
    }
    return links;
}

static void run_in_lane(struct mtlm_walk *walk,
                        const struct mtlm_box_order *order,
                        const struct lane_links *links, int box)
{
    const int r = walk->rank[box], j = walk->place[box];
    const int before = walk->before[box], previous = links->previous[box];
    double start = previous >= 0 ? walk->end[previous] : 0;

    if (before >= 0)
        start = fmax(start, walk->end[before] + walk->hop[box]);
    if (j > 0 && !walk->apart)
        start = fmax(start, walk->start[order->box[r][j - 1]]);
    walk->start[box] = start;
    walk->end[box] = start + walk->time[box];
    if (j + 1 < order->n[r] && !walk->apart)
        release(walk, order->box[r][j + 1]);
    if (links->next[box] >= 0)
        release(walk, links->next[box]);
    for (int i = 0; i < walk->n_after[box]; i++)
        release(walk, walk->after[box][i]);
}

static double walk_lanes(struct mtlm_walk *walk,
                         const struct mtlm_box_order *order)
{
    const struct lane_links links = link_lanes(walk, order);
    double makespan = 0;

    begin_walk(walk, order, &links);
    for (int i = 0; i < walk->n_run; i++) {
        run_in_lane(walk, order, &links, walk->run[i]);
        makespan = fmax(makespan, walk->end[walk->run[i]]);
    }
    free(links.previous);
    free(links.next);
    return walk->n_run == walk->n ? makespan : INFINITY;
}

/* ---- the walk ---- */

double mtlm_walk(struct mtlm_walk *walk, const struct mtlm_box_order *order)
{
    double makespan = 0;

    if (order->lane)
        return walk_lanes(walk, order);
    begin_walk(walk, order, NULL);
    for (int i = 0; i < walk->n_run; i++) {
        run_box(walk, order, walk->run[i]);
        makespan = fmax(makespan, walk->end[walk->run[i]]);
    }
    return walk->n_run == walk->n ? makespan : INFINITY;
}

int mtlm_walk_stuck(const struct mtlm_walk *walk,
                    const struct mtlm_box_order *order, int rank)
{
    for (int j = 0; j < order->n[rank]; j++)
        if (walk->missing[order->box[rank][j]] > 0)
            return j;
    return -1;
}
