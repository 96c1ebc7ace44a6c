/* Windows of an order, from the times of a walk. */

#include "config.h"

#include <stdlib.h>

#include "graph/schedule/order_window.h"
#include "runtime/base/memory.h"

static bool ascends(const double *begin, int n)
{
    for (int i = 1; i < n; i++)
        if (begin[i] < begin[i - 1])
            return false;
    return true;
}

static bool meet(const double *begin, const double *end, int i, int j)
{
    return begin[j] < end[i] && begin[i] < end[j];
}

int mtlm_order_window_slots(const double *begin, const double *end, int n)
{
    int slots = 1;

    if (ascends(begin, n)) {
        for (int i = 0; i < n; i++)
            while (i + slots < n && begin[i + slots] < end[i])
                slots++;
        return slots;
    }
    for (int i = 0; i < n; i++)
        for (int j = n - 1; j >= i + slots; j--)
            if (meet(begin, end, i, j))
                slots = j - i + 1;
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
