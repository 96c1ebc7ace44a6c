/* The order of DualPipeV, step by step as its authors describe the steps. */

#include "config.h"

#include <stdlib.h>

#include "graph/order/dualpipe_v.h"
#include "runtime/base/memory.h"

/* A rank's order while it grows. */
struct dual_rank {
    const struct mtlm_boxes *boxes;
    struct mtlm_box_order *order;
    int rank;
    int forward[2], backward[2]; /* microbatches that each chunk has run */
    struct dual_weight {
        int stage, microbatch;
    } * waiting; /* [2 m] W to run later, oldest first */
    int first, end;
};

static void run_forward(struct dual_rank *r, int chunk)
{
    mtlm_order_append_phase(r->order, r->boxes, MTLM_PHASE_FORWARD,
                            mtlm_box_stage(r->boxes, r->rank, chunk),
                            r->forward[chunk]++);
}

/* A B; its W waits. */
static void run_input(struct dual_rank *r, int chunk)
{
    const int stage = mtlm_box_stage(r->boxes, r->rank, chunk);

    mtlm_order_append_phase(r->order, r->boxes, MTLM_PHASE_BACKWARD, stage,
                            r->backward[chunk]);
    r->waiting[r->end++] = (struct dual_weight){stage, r->backward[chunk]++};
}

/* A B and its W. */
static void run_both(struct dual_rank *r, int chunk)
{
    run_input(r, chunk);
    r->end--;
    mtlm_order_append_phase(r->order, r->boxes, MTLM_PHASE_WEIGHT,
                            r->waiting[r->end].stage,
                            r->waiting[r->end].microbatch);
}

static void run_backward(struct dual_rank *r, int chunk, bool apart)
{
    if (apart)
        run_input(r, chunk);
    else
        run_both(r, chunk);
}

/* The W that has waited longest, if there is one. */
static void run_weight(struct dual_rank *r)
{
    if (r->first == r->end)
        return;
    mtlm_order_append_phase(r->order, r->boxes, MTLM_PHASE_WEIGHT,
                            r->waiting[r->first].stage,
                            r->waiting[r->first].microbatch);
    r->first++;
}

/* Up to the first pair of F and B. */
static void begin(struct dual_rank *r, int behind)
{
    for (int i = 0; i < 2 * behind; i++)
        run_forward(r, 0);
    for (int i = 0; i <= r->rank; i++) {
        run_forward(r, 0);
        run_forward(r, 1);
    }
    for (int i = 0; i < behind; i++) {
        run_input(r, 1);
        run_weight(r);
        run_forward(r, 1);
    }
}

/* The pairs of F and B. */
static void pair(struct dual_rank *r, int behind)
{
    const int n = r->boxes->microbatches;

    while (r->forward[0] < n) {
        run_forward(r, 0);
        run_both(r, 1);
        run_forward(r, 1);
        run_both(r, 0);
    }
    for (int i = 0; i < behind; i++) {
        run_both(r, 1);
        run_forward(r, 1);
        run_both(r, 0);
    }
}

/* B without F; in the second half, W waits for a gap. */
static void end(struct dual_rank *r, int behind)
{
    const int n = r->rank + 1;
    bool apart = false;

    for (int i = 0; i < n; i++) {
        apart |= i == n / 2 && r->rank % 2 == 1;
        run_backward(r, 1, apart);
        apart |= i == n / 2 && r->rank % 2 == 0;
        run_backward(r, 0, apart);
    }
    for (int i = 0; i < behind; i++) {
        run_weight(r);
        run_backward(r, 0, apart);
    }
    for (int i = 0; i < n; i++)
        run_weight(r);
}

void mtlm_dualpipe_v_build(const struct mtlm_boxes *boxes,
                           struct mtlm_box_order *order)
{
    const int p = boxes->layout->pp;

    for (int i = 0; i < p; i++) {
        struct dual_rank r = {.boxes = boxes,
                              .order = order,
                              .rank = i,
                              .waiting =
                                  mtlm_calloc(2 * boxes->microbatches,
                                              sizeof(struct dual_weight))};

        begin(&r, p - i - 1);
        pair(&r, p - i - 1);
        end(&r, p - i - 1);
        free(r.waiting);
    }
}
