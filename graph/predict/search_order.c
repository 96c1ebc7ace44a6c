/* Searches the best order of each kind of stages. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/build/ring.h"
#include "graph/order/best.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/bound.h"
#include "graph/predict/evaluated_order.h"
#include "graph/predict/search.h"
#include "graph/predict/search_order.h"
#include "graph/predict/stage_kind.h"
#include "graph/predict/work.h"
#include "graph/schedule/schedule.h"

enum { MOST_BOXES = 100000 };

/* The kinds of stages share the steps of one search. */
static const double effort = .3 / MTLM_STAGE_KINDS;

/* An order must gain this share: times are never exact.  So must a chain beside
 * priorities: a chain cannot run a ready pass while a late one is next. */
static const double worth = 0.999;

/* The share of the hold rule that stands for all: a policy chooses its own. */
static const double hold = .5;

static double evaluate_pipeline(const struct mtlm_evaluate *pipeline,
                                double share)
{
    struct mtlm_evaluate one = *pipeline;
    struct mtlm_evaluation e;

    one.hold = share;
    e = mtlm_evaluate(&one);
    mtlm_evaluation_free(&e);
    return e.makespan_s;
}

static double evaluate_chain(const struct mtlm_evaluate *pipeline,
                             const struct mtlm_box_order *order)
{
    struct mtlm_evaluation e = mtlm_evaluate_order(pipeline, order);

    mtlm_evaluation_free(&e);
    return e.makespan_s;
}

/* Returns the seconds of an iteration.  waits: workers may wait for messages.
 */
static double evaluate(const struct mtlm_program_config *config, bool waits)
{
    struct mtlm_work work = mtlm_work_create(config);
    double seconds;

    if (mtlm_program_is_chained(config))
        seconds = evaluate_chain(&work.pipeline, config->order);
    else
        seconds = evaluate_pipeline(&work.pipeline, 0);
    if (waits && !mtlm_program_is_chained(config))
        seconds = fmin(seconds, evaluate_pipeline(&work.pipeline, hold));
    mtlm_work_free(&work);
    return seconds;
}

/* Returns the order with each W in one piece, at the place of this piece. */
static struct mtlm_box_order join_pieces(const struct mtlm_boxes *boxes,
                                         const struct mtlm_box_order *order,
                                         int piece)
{
    struct mtlm_boxes one = *boxes;
    struct mtlm_box_order joined;

    one.pieces = 1;
    joined = mtlm_order_create(&one);
    for (int r = 0; r < order->ranks; r++)
        for (int j = 0; j < order->n[r]; j++) {
            struct mtlm_box box = mtlm_box_at(boxes, order->box[r][j]);

            if (box.phase == MTLM_PHASE_WEIGHT && box.piece != piece)
                continue;
            box.piece = 0;
            mtlm_order_append(&joined, &one, mtlm_box_number(&one, box));
        }
    return joined;
}

/* Seconds to compare with. */
static double cost_of(double seconds, enum mtlm_follow follow)
{
    return follow == MTLM_FOLLOW_STRICT ? seconds / worth : seconds;
}

/* Keeps the order, which a program of config would follow, if it fits and is
 * shorter than `found`; else frees the order. */
static void note(const struct mtlm_program_config *config,
                 struct mtlm_box_order order, enum mtlm_follow follow,
                 struct mtlm_found_order *found)
{
    struct mtlm_program_config one = *config;
    double seconds;

    one.order = &order;
    one.follow = follow;
    seconds = mtlm_ring_memory(&one) <= config->act_mem * (1 + 1e-9)
                  ? evaluate(&one, found->waits)
                  : INFINITY;
    if (cost_of(seconds, follow) >= cost_of(found->seconds, found->follow)) {
        mtlm_order_free(&order);
        return;
    }
    mtlm_found_order_free(found);
    *found =
        (struct mtlm_found_order){.seconds = seconds,
                                  .windows_seconds = found->windows_seconds,
                                  .waits = found->waits,
                                  .order = order,
                                  .follow = follow,
                                  .layout = config->layout};
}

/* Notes an order with each W in one piece, at the place of the first and of the
 * last piece.  Early W need few slots, late W fill the last waits. */
static void note_joined(const struct mtlm_program_config *config,
                        const struct mtlm_boxes *boxes,
                        const struct mtlm_box_order *order,
                        struct mtlm_found_order *found)
{
    const int last = boxes->pieces - 1;

    for (int piece = 0; piece <= last; piece += last > 0 ? last : 1) {
        note(config, join_pieces(boxes, order, piece), MTLM_FOLLOW_HINT, found);
        note(config, join_pieces(boxes, order, piece), MTLM_FOLLOW_WINDOWS,
             found);
        note(config, join_pieces(boxes, order, piece), MTLM_FOLLOW_STRICT,
             found);
    }
}

/* Notes the orders that arise from the windows of the other schedules. */
static void try_schedules(const struct mtlm_program_config *config,
                          struct mtlm_found_order *found)
{
    for (int i = 0; i < MTLM_SCHEDULE_COUNT; i++) {
        struct mtlm_program_config one = *config;
        struct mtlm_work work;
        struct mtlm_boxes boxes;
        struct mtlm_evaluation e;
        struct mtlm_box_order order;

        one.schedule = &mtlm_schedules[i];
        one.act_mem = 0;
        if (one.schedule->fused || one.schedule->sizing != MTLM_SIZING_STAGES
            || !mtlm_schedule_fits(one.schedule, &one.layout))
            continue;
        work = mtlm_work_create(&one);
        boxes = mtlm_evaluate_boxes(&work.pipeline, NULL);
        order = mtlm_order_create(&boxes);
        e = mtlm_evaluate(&work.pipeline);
        mtlm_evaluated_order(&e, &boxes, &order);
        note_joined(config, &boxes, &order, found);
        mtlm_evaluation_free(&e);
        mtlm_order_free(&order);
        mtlm_work_free(&work);
    }
}

/* Searches the order of config's stages, of so many pieces of W, within the
 * memory of slots, and notes the order. */
static void try_memory(const struct mtlm_program_config *config,
                       const struct mtlm_work *work, bool pooled, int pieces,
                       struct mtlm_found_order *found)
{
    const struct mtlm_activation_memory *activation = &config->activation;
    struct mtlm_boxes boxes =
        mtlm_evaluate_boxes(&work->pipeline, activation->stage);
    const struct mtlm_best best = {
        .most_memory = config->act_mem,
        .slots = {.weight_share = activation->waiting_share,
                  .gradient_share =
                      activation->gradient_share
                      - (pooled ? activation->exchanged_share : 0),
                  .pooled = pooled},
        .enough = mtlm_bound_makespan(&work->pipeline),
        .effort = effort};
    struct mtlm_box_order order;
    struct mtlm_walk walk;

    boxes.pieces = pieces;
    order = mtlm_order_create(&boxes);
    walk = mtlm_walk_create(&boxes);
    if (mtlm_best_order(&best, &walk, &order) < INFINITY)
        note_joined(config, &boxes, &order, found);
    mtlm_walk_free(&walk);
    mtlm_order_free(&order);
}

/* Stages share slots where ranks follow places of the order, and have rings of
 * their own where ranks follow its windows.  Without waits for messages, a W
 * that begins just before a B arrives delays ready passes, but no chain, in
 * which a W is one piece. */
static void try_stages(struct mtlm_program_config *config,
                       struct mtlm_found_order *found)
{
    struct mtlm_program_config unlimited = *config;
    struct mtlm_work work;

    /* Times and pieces do not depend on windows. */
    unlimited.window = 1;
    unlimited.act_mem = 0;
    work = mtlm_work_create(&unlimited);
    mtlm_activation_memory_measure(config);
    try_memory(config, &work, true, work.pipeline.pieces, found);
    try_memory(config, &work, true, 1, found);
    try_memory(config, &work, false, work.pipeline.pieces, found);
    try_schedules(config, found);
    mtlm_activation_memory_free(&config->activation);
    mtlm_work_free(&work);
}

/* Gives config the times of the machine if it has a cluster.  The caller frees
 * *times. */
static void take_times(struct mtlm_program_config *config,
                       const struct mtlm_stage_cost *machine,
                       struct mtlm_stage_times *times)
{
    *times = (struct mtlm_stage_times){0};
    if (!machine->cluster)
        return;
    *times = mtlm_stage_cost_times(machine, config);
    config->times = times;
}

/* Like try_stages(), with the times of the machine. */
static void try_kind(const struct mtlm_program_config *config,
                     const struct mtlm_stage_cost *machine,
                     struct mtlm_found_order *found)
{
    struct mtlm_program_config one = *config;
    struct mtlm_stage_times times;

    take_times(&one, machine, &times);
    try_stages(&one, found);
    mtlm_stage_times_free(&times);
}

/* Returns the seconds of config's windows, with the best slots of gradients. */
static double evaluate_windows(const struct mtlm_program_config *config,
                               const struct mtlm_stage_cost *machine,
                               bool waits)
{
    struct mtlm_program_config one = *config;
    struct mtlm_stage_times times;
    double seconds;

    take_times(&one, machine, &times);
    mtlm_search_gradients(&one);
    mtlm_activation_memory_measure(&one);
    seconds = evaluate(&one, waits);
    mtlm_activation_memory_free(&one.activation);
    mtlm_stage_times_free(&times);
    return seconds;
}

/* Whether the pipeline is one of boxes, and not of too many. */
static bool has_boxes(const struct mtlm_program_config *config,
                      const struct mtlm_stage_cost *machine)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);

    return (machine->cluster || config->times) && config->layout.pp > 1
           && config->layout.workers == 1
           && config->layout.placement != MTLM_PLACEMENT_POLICY
           && mtlm_boxes_count(&boxes) <= MOST_BOXES;
}

bool mtlm_search_order(const struct mtlm_program_config *config, int chunks,
                       const struct mtlm_stage_cost *machine, bool waits,
                       struct mtlm_found_order *found)
{
    *found = (struct mtlm_found_order){.waits = waits,
                                       .follow = MTLM_FOLLOW_WINDOWS};
    if (!has_boxes(config, machine))
        return false;
    found->windows_seconds = evaluate_windows(config, machine, waits);
    found->seconds = found->windows_seconds * worth;
    if (chunks > 0)
        try_kind(config, machine, found);
    for (int i = 0; chunks == 0 && i < MTLM_STAGE_KINDS; i++) {
        struct mtlm_program_config one;

        if (mtlm_stage_kind_place(config, &mtlm_stage_kinds[i], &one))
            try_kind(&one, machine, found);
    }
    return found->order.ranks > 0;
}

void mtlm_found_order_free(struct mtlm_found_order *found)
{
    if (found->order.ranks > 0)
        mtlm_order_free(&found->order);
    found->order.ranks = 0;
}
