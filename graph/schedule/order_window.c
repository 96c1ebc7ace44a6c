/* Windows of an order, from the times of a walk. */

#include "config.h"

#include <stdlib.h>

#include "graph/order/task_heap.h"
#include "graph/schedule/order_window.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

static bool ascends(const double *begin, int n)
{
    for (int i = 1; i < n; i++)
        if (begin[i] < begin[i - 1])
            return false;
    return true;
}

/* A microbatch that needs its slot from begin to end. */
struct slot_need {
    double begin, end;
    int number;
};

static int by_begin(const void *a, const void *b)
{
    const struct slot_need *x = a, *y = b;

    return mtlm_compare_real(x->begin, y->begin);
}

/* Returns one more than the greatest difference sign * (j - i) of microbatches
 * that meet, where i does not begin after j; at least 1.  need [n] is by begin.
 */
static int longest(const struct slot_need *need, int n, int sign)
{
    struct mtlm_task_heap open = {0}; /* has the farthest one that has not ended
                                       * first */
    int slots = 1;

    for (int i = 0; i < n; i++) {
        const int key = sign * need[i].number;

        while (open.n > 0 && need[open.at[0].task].end <= need[i].begin)
            mtlm_task_heap_take(&open);
        mtlm_task_heap_add(&open, (struct mtlm_heap_task){key, i, i, 0});
        if (slots <= key - mtlm_task_heap_key(&open))
            slots = key - mtlm_task_heap_key(&open) + 1;
    }
    mtlm_task_heap_free(&open);
    return slots;
}

/* As mtlm_order_window_slots(), of microbatches that do not ascend. */
static int slots_of_any(const double *begin, const double *end, int n)
{
    struct slot_need *need = mtlm_calloc(n, sizeof(*need));
    int up, down;

    for (int i = 0; i < n; i++)
        need[i] = (struct slot_need){begin[i], end[i], i};
    qsort(need, n, sizeof(*need), by_begin);
    up = longest(need, n, 1);
    down = longest(need, n, -1);
    free(need);
    return up > down ? up : down;
}

int mtlm_order_window_slots(const double *begin, const double *end, int n)
{
    int slots = 1;

    if (!ascends(begin, n))
        return slots_of_any(begin, end, n);
    for (int i = 0; i < n; i++)
        while (i + slots < n && begin[i + slots] < end[i])
            slots++;
    return slots;
}

/* Returns the slots of a stage from the start of a phase to the end of another
 * one.  time [2 m] is for work. */
static int slots_between(const struct mtlm_walk *walk, int stage,
                         enum mtlm_phase from, enum mtlm_phase to, double *time)
{
    const struct mtlm_boxes *boxes = walk->boxes;
    const int m = boxes->microbatches;
    const int last = to == MTLM_PHASE_WEIGHT ? boxes->pieces - 1 : 0;

    for (int i = 0; i < m; i++) {
        const struct mtlm_box first = {from, stage, i, 0};
        const struct mtlm_box end = {to, stage, i, last};

        time[i] = walk->start[mtlm_box_number(boxes, first)];
        time[m + i] = walk->end[mtlm_box_number(boxes, end)];
    }
    return mtlm_order_window_slots(time, time + m, m);
}

void mtlm_order_window_set(const struct mtlm_walk *walk,
                           struct mtlm_window *window)
{
    const int stages = mtlm_layout_stages(walk->boxes->layout);
    double *time = mtlm_calloc(2 * walk->boxes->microbatches, sizeof(*time));

    for (int k = 0; k < stages; k++) {
        struct mtlm_window *w = &window[k];

        w->w = slots_between(walk, k, MTLM_PHASE_FORWARD, MTLM_PHASE_BACKWARD,
                             time);
        w->q =
            slots_between(walk, k, MTLM_PHASE_FORWARD, MTLM_PHASE_WEIGHT, time)
            - w->w;
        w->g = slots_between(walk, k, MTLM_PHASE_BACKWARD, MTLM_PHASE_WEIGHT,
                             time);
    }
    free(time);
}
