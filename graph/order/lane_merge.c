/* Merges the lanes of each rank into one order of starts. */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/order/lane_merge.h"
#include "graph/order/walk.h"
#include "runtime/base/memory.h"

/* A box with its keys. */
struct lane_start {
    double start;
    int column, box;
};

static int by_start(const void *a, const void *b)
{
    const struct lane_start *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->column != y->column ? x->column - y->column : x->box - y->box;
}

/* Sorts the boxes of each rank by start [boxes], then by column, then by
 * number.  NULL: no start. */
static void sort_boxes(struct mtlm_box_order *order, const double *start,
                       const int *column)
{
    for (int r = 0; r < order->ranks; r++) {
        struct lane_start *keys = mtlm_calloc(order->n[r], sizeof(*keys));

        for (int j = 0; j < order->n[r]; j++) {
            const int box = order->box[r][j];

            keys[j] =
                (struct lane_start){start ? start[box] : 0, column[box], box};
        }
        qsort(keys, order->n[r], sizeof(*keys), by_start);
        for (int j = 0; j < order->n[r]; j++)
            order->box[r][j] = keys[j].box;
        free(keys);
    }
}

/* Whether each column of a rank has boxes of one lane.  The boxes are sorted by
 * column. */
static bool columns_are_apart(const struct mtlm_box_order *order,
                              const int *column)
{
    for (int r = 0; r < order->ranks; r++)
        for (int j = 1; j < order->n[r]; j++) {
            const int x = order->box[r][j - 1], y = order->box[r][j];

            if (column[x] == column[y] && order->lane[x] != order->lane[y])
                return false;
        }
    return true;
}

/* ---- ascending microbatches ---- */

/* A rank's boxes, as they come to stand in ascending order. */
struct ascent {
    const struct mtlm_walk *walk;
    const struct mtlm_box_order *order;
    int rank;
    int *next;    /* [lanes] the place of the lane's next box; n: none */
    bool *stands; /* [boxes] */
};

/* Moves next[lane] to the lane's first box from the place on. */
static void find_next(struct ascent *a, int lane, int place)
{
    const int *box = a->order->box[a->rank];

    while (place < a->order->n[a->rank] && a->order->lane[box[place]] != lane)
        place++;
    a->next[lane] = place;
}

/* Whether the boxes of this rank stand that the box comes behind: what the box
 * waits for, and the microbatch before. */
static bool may_stand(const struct ascent *a, int number)
{
    struct mtlm_box box = mtlm_box_at(a->walk->boxes, number);
    const int before = a->walk->before[number];

    if (before >= 0 && a->walk->rank[before] == a->rank && !a->stands[before])
        return false;
    return box.microbatch-- == 0
           || a->stands[mtlm_box_number(a->walk->boxes, box)];
}

/* Returns the lane whose next box is the first one that may stand; -1: none. */
static int find_lane(const struct ascent *a, int lanes)
{
    const int n = a->order->n[a->rank];
    int found = -1;

    for (int lane = 0; lane < lanes; lane++)
        if (a->next[lane] < n && (found < 0 || a->next[lane] < a->next[found])
            && may_stand(a, a->order->box[a->rank][a->next[lane]]))
            found = lane;
    return found;
}

/* Sets box[n] to the boxes of a rank, as near to their order as lanes, what
 * boxes wait for and ascending microbatches allow.  Returns false if a lane
 * descends. */
static bool ascend(const struct mtlm_walk *walk,
                   const struct mtlm_box_order *order, int rank, int *box)
{
    const int lanes = mtlm_order_lanes(order, rank);
    struct ascent a = {walk, order, rank, mtlm_calloc(lanes, sizeof(int)),
                       mtlm_calloc(walk->n, sizeof(bool))};
    int n = 0;

    for (int lane = 0; lane < lanes; lane++)
        find_next(&a, lane, 0);
    for (int lane; (lane = find_lane(&a, lanes)) >= 0; n++) {
        box[n] = order->box[rank][a.next[lane]];
        a.stands[box[n]] = true;
        find_next(&a, lane, a.next[lane] + 1);
    }
    free(a.next);
    free(a.stands);
    return n == order->n[rank];
}

/* Lets microbatches ascend on each stage, where lanes and ranks can start them
 * so. */
static void let_ascend(struct mtlm_walk *walk, struct mtlm_box_order *order)
{
    struct mtlm_box_order other = {order->ranks, order->n,
                                   mtlm_calloc(order->ranks, sizeof(int *)),
                                   order->lane};
    bool ascends = true;

    for (int r = 0; r < order->ranks; r++) {
        other.box[r] = mtlm_calloc(order->n[r], sizeof(int));
        ascends = ascends && ascend(walk, order, r, other.box[r]);
    }
    if (ascends && mtlm_walk(walk, &other) < INFINITY)
        for (int r = 0; r < order->ranks; r++)
            memcpy(order->box[r], other.box[r], order->n[r] * sizeof(int));
    for (int r = 0; r < order->ranks; r++)
        free(other.box[r]);
    free(other.box);
}

/* ---- the order of starts ---- */

void mtlm_lane_merge(struct mtlm_box_order *order,
                     const struct mtlm_boxes *boxes, const int *column)
{
    const int stages = mtlm_layout_stages(boxes->layout);
    const int n = mtlm_boxes_count(boxes);
    double *one = mtlm_calloc(stages, sizeof(*one));
    double *start = mtlm_calloc(n, sizeof(*start));
    struct mtlm_boxes equal = *boxes;
    struct mtlm_walk walk;

    for (int k = 0; k < stages; k++)
        one[k] = 1;
    equal.forward = equal.backward = equal.weight = equal.memory = one;
    equal.hop = 0;
    walk = mtlm_walk_create(&equal);
    walk.apart = true;
    mtlm_walk(&walk, order);
    memcpy(start, walk.start, n * sizeof(*start));
    walk.apart = false;
    sort_boxes(order, NULL, column);
    if (!columns_are_apart(order, column) || isinf(mtlm_walk(&walk, order)))
        sort_boxes(order, start, column);
    let_ascend(&walk, order);
    mtlm_walk_free(&walk);
    free(start);
    free(one);
}
