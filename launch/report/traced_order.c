/* The order of a traced iteration: passes by the starts of their nodes, in
 * lanes by worker. */

#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/order/order_write.h"
#include "launch/report/traced_order.h"
#include "launch/trace/records.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

/* A box, and when and where it started. */
struct started {
    int64_t start_ns; /* INT64_MAX: never */
    int box, worker;
};

/* Whether the record is a computation of F, B or W.  Nodes that read tokens may
 * run long before. */
static bool is_pass(const struct mtlm_record *r)
{
    return r->lane == MTLM_LANE_COMPUTE && r->microbatch >= 0
           && !mtlm_trace_is_input(r)
           && (r->phase == MTLM_PHASE_FORWARD || r->phase == MTLM_PHASE_BACKWARD
               || r->phase == MTLM_PHASE_WEIGHT);
}

/* Returns whether each stage has a layer; the caller frees the array. */
static bool *find_layered(const struct mtlm_layout *layout,
                          const struct mtlm_record *record, size_t n)
{
    const int stages = mtlm_layout_stages(layout);
    bool *layered = mtlm_calloc(stages, sizeof(*layered));

    for (size_t i = 0; i < n; i++)
        if (is_pass(&record[i]) && record[i].layer >= 0 && record[i].stage >= 0
            && record[i].stage < stages)
            layered[record[i].stage] = true;
    return layered;
}

/* Sets the last iteration with a pass, and its microbatches, up to most; 0:
 * none. */
static void find_iteration(const struct mtlm_record *record, size_t n, int most,
                           int *iteration, int *microbatches)
{
    *iteration = *microbatches = 0;
    for (size_t i = 0; i < n; i++)
        if (is_pass(&record[i]) && record[i].iteration >= *iteration) {
            if (record[i].iteration > *iteration)
                *microbatches = 0;
            *iteration = record[i].iteration;
            if (record[i].microbatch >= *microbatches
                && record[i].microbatch < most)
                *microbatches = record[i].microbatch + 1;
        }
}

/* Returns the first rank of the pipeline rank. */
static int first_rank(const struct mtlm_trace_info *info, int pp_rank)
{
    int r = 0;

    while (r < info->ranks - 1 && info->stage_of_rank[r] != pp_rank)
        r++;
    return r;
}

/* W of a stage whose layers are all recomputed runs with B: where a stage has
 * no W at all, its boxes start with B and, by their numbers, come behind B. */
static void start_with_backward(const struct mtlm_boxes *boxes,
                                struct started *started)
{
    const int count = mtlm_boxes_count(boxes);
    bool *has_w =
        mtlm_calloc(mtlm_layout_stages(boxes->layout), sizeof(*has_w));

    for (int i = 0; i < count; i++) {
        const struct mtlm_box box = mtlm_box_at(boxes, i);

        has_w[box.stage] |=
            box.phase == MTLM_PHASE_WEIGHT && started[i].start_ns < INT64_MAX;
    }
    for (int i = 0; i < count; i++) {
        struct mtlm_box box = mtlm_box_at(boxes, i);
        const struct started *b;

        if (box.phase != MTLM_PHASE_WEIGHT || has_w[box.stage])
            continue;
        box.phase = MTLM_PHASE_BACKWARD;
        b = &started[mtlm_box_number(boxes, box)];
        started[i].start_ns = b->start_ns;
        started[i].worker = b->worker;
    }
    free(has_w);
}

/* Returns when each box started: with its first node in a layer, or with its
 * first node in a stage without layers.  The caller frees the array. */
static struct started *find_starts(const struct mtlm_boxes *boxes,
                                   const struct mtlm_trace_info *info,
                                   const struct mtlm_record *record, size_t n,
                                   int iteration)
{
    const int count = mtlm_boxes_count(boxes);
    struct started *started = mtlm_calloc(count, sizeof(*started));
    bool *layered = find_layered(boxes->layout, record, n);

    for (int i = 0; i < count; i++)
        started[i] = (struct started){INT64_MAX, i, 0};
    for (size_t i = 0; i < n; i++) {
        const struct mtlm_record *r = &record[i];
        const struct mtlm_box box = {r->phase, r->stage, r->microbatch, 0};
        struct started *s;

        if (!is_pass(r) || r->iteration != iteration || r->stage < 0
            || r->stage >= mtlm_layout_stages(boxes->layout)
            || r->microbatch >= boxes->microbatches
            || (r->layer < 0 && layered[r->stage]))
            continue;
        s = &started[mtlm_box_number(boxes, box)];
        if (r->rank == first_rank(info, mtlm_box_rank(boxes, s->box))
            && r->start_ns < s->start_ns) {
            s->start_ns = r->start_ns;
            s->worker = r->worker;
        }
    }
    start_with_backward(boxes, started);
    free(layered);
    return started;
}

static int by_start(const void *a, const void *b)
{
    const struct started *x = a, *y = b;
    const int c = mtlm_compare(x->start_ns, y->start_ns);

    return c ? c : x->box - y->box;
}

/* Returns how many workers of the pipeline rank have smaller numbers. */
static int workers_before(const struct mtlm_trace_info *info, int pp_rank,
                          int worker)
{
    const int rank = first_rank(info, pp_rank);
    int n = 0;

    for (size_t i = 0; i < info->n_workers; i++)
        n += info->worker[i].rank == rank && info->worker[i].worker < worker;
    return n;
}

/* Appends a box in the lane of its worker. */
static void append(struct mtlm_box_order *order, const struct mtlm_boxes *boxes,
                   const struct mtlm_trace_info *info,
                   const struct started *started)
{
    order->lane[started->box] = workers_before(
        info, mtlm_box_rank(boxes, started->box), started->worker);
    mtlm_order_append(order, boxes, started->box);
}

/* Numbers the lanes of a rank from 0, in the order of its workers.  Workers
 * that start no box have no lane. */
static void number_lanes(struct mtlm_box_order *order, int rank)
{
    const int workers = mtlm_order_lanes(order, rank);
    int *lane = mtlm_calloc(workers + 1, sizeof(*lane));

    for (int j = 0; j < order->n[rank]; j++)
        lane[order->lane[order->box[rank][j]] + 1] = 1;
    for (int w = 0; w < workers; w++)
        lane[w + 1] += lane[w];
    for (int j = 0; j < order->n[rank]; j++) {
        int *of = &order->lane[order->box[rank][j]];

        *of = lane[*of];
    }
    free(lane);
}

static int write_started(const char *path, const struct mtlm_boxes *boxes,
                         const struct mtlm_trace_info *info,
                         struct started *started, struct mtlm_error *err)
{
    const int count = mtlm_boxes_count(boxes);
    struct mtlm_box_order order = mtlm_order_create(boxes);
    int rc;

    qsort(started, count, sizeof(*started), by_start);
    mtlm_order_add_lanes(&order, boxes);
    for (int i = 0; i < count; i++)
        append(&order, boxes, info, &started[i]);
    for (int r = 0; r < order.ranks; r++)
        number_lanes(&order, r);
    rc = started[count - 1].start_ns < INT64_MAX
             ? mtlm_order_write(path, boxes, &order, err)
             : mtlm_error_set(
                 err, MTLM_EXIT_INPUT,
                 "the last traced iteration lacks a pass of stage "
                 "%d, microbatch %d",
                 mtlm_box_at(boxes, started[count - 1].box).stage,
                 mtlm_box_at(boxes, started[count - 1].box).microbatch);
    mtlm_order_free(&order);
    return rc;
}

int mtlm_traced_order_write(const char *path,
                            const struct mtlm_trace_info *info,
                            const struct mtlm_record *record, size_t n,
                            struct mtlm_error *err)
{
    const struct mtlm_layout layout = {.tp = 1,
                                       .pp = info->stages,
                                       .dp = 1,
                                       .virtual_stages = info->virtual_stages,
                                       .placement = info->placement,
                                       .workers = 1};
    struct mtlm_boxes boxes = {.layout = &layout, .pieces = 1};
    struct started *started;
    int iteration, rc;

    find_iteration(record, n, info->microbatches, &iteration,
                   &boxes.microbatches);
    if (boxes.microbatches == 0 || !info->stage_of_rank
        || layout.placement == MTLM_PLACEMENT_POLICY)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "the trace has no order: no iteration on ranks "
                              "of a pipeline");
    started = find_starts(&boxes, info, record, n, iteration);
    rc = write_started(path, &boxes, info, started, err);
    if (rc == 0 && boxes.microbatches < info->microbatches)
        fprintf(stderr, "%s: %d of %d microbatches: the trace has no more\n",
                path, boxes.microbatches, info->microbatches);
    free(started);
    return rc;
}
