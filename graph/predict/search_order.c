/* Searches the best order of each kind of stages. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/build/order_build.h"
#include "graph/build/ring.h"
#include "graph/order/best.h"
#include "graph/order/rounding.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/bound.h"
#include "graph/predict/evaluated_order.h"
#include "graph/predict/hold.h"
#include "graph/predict/late.h"
#include "graph/predict/limits.h"
#include "graph/predict/search.h"
#include "graph/predict/search_limit.h"
#include "graph/predict/search_order.h"
#include "graph/predict/stage_kind.h"
#include "graph/predict/work.h"
#include "graph/schedule/schedule.h"

/* The kinds of stages share the steps of one search.  FLOPs are no durations:
 * without times, no step. */
static const double effort = .3 / MTLM_STAGE_KINDS;

/* Workers never wait for messages, or may wait. */
enum { NEVER, WAITS, POLICIES };

struct order_search {
    bool wanted[POLICIES]; /* searched for */
    bool ignores_given;    /* the share of MTLM_HOLD does not count */
    double most_memory;    /* as mtlm_ring_memory() counts */
    struct mtlm_found_orders orders[POLICIES];
};

/* Evaluations with messages as given, and behind late ones. */
enum { MOST_KNOWN = 8 };

/* What ranks make of a config. */
struct follower {
    const struct mtlm_program_config *config;
    const struct mtlm_evaluate *pipeline;
    bool waits;         /* workers may wait for messages */
    bool ignores_given; /* as in struct order_search */
    /* Evaluations without waits, by how late messages are. */
    struct {
        double more, seconds;
    } known[MOST_KNOWN];
    int n_known;
};

static double evaluate_pipeline(const struct mtlm_evaluate *pipeline,
                                double share)
{
    struct mtlm_evaluate one = *pipeline;

    one.hold = share;
    return mtlm_evaluate_seconds(&one);
}

static double evaluate_chain(const struct mtlm_evaluate *pipeline,
                             const struct mtlm_box_order *order)
{
    struct mtlm_evaluation e = mtlm_evaluate_order(pipeline, order);

    mtlm_evaluation_free(&e);
    return e.makespan_s;
}

/* Returns the seconds of an iteration without waits.  The latencies differ:
 * where messages arrive at the same time by plan, any of them may be the first.
 */
static double evaluate_never(struct follower *f, double more)
{
    const struct mtlm_evaluate late = mtlm_late_pipeline(f->pipeline, more);
    double seconds;

    for (int i = 0; i < f->n_known; i++)
        if (f->known[i].more == more)
            return f->known[i].seconds;
    seconds = mtlm_program_is_chained(f->config)
                  ? evaluate_chain(&late, f->config->order)
                  : evaluate_pipeline(&late, 0);
    if (f->n_known < MOST_KNOWN) {
        f->known[f->n_known].more = more;
        f->known[f->n_known++].seconds = seconds;
    }
    return seconds;
}

/* Sets the shares of the hold rule that are evaluated, and returns how many. */
static int searched_shares(const struct follower *f,
                           double share[MTLM_HOLD_SEARCHED])
{
    const int n = mtlm_hold_searched_shares(f->config, f->waits, share);

    if (!f->ignores_given || !f->waits || mtlm_program_is_chained(f->config))
        return n;
    share[0] = 0;
    share[1] = MTLM_HOLD_SHARE;
    return 2;
}

/* Returns the seconds of an iteration whose messages take `more` seconds more
 * than given, on average. */
static double evaluate_follower(void *arg, double more)
{
    struct follower *f = arg;
    const struct mtlm_evaluate late = mtlm_late_pipeline(f->pipeline, more);
    double share[MTLM_HOLD_SEARCHED], seconds = INFINITY;
    const int n = searched_shares(f, share);

    for (int i = 0; i < n; i++)
        seconds =
            fmin(seconds, share[i] > 0 ? evaluate_pipeline(&late, share[i])
                                       : evaluate_never(f, more));
    return seconds;
}

/* Sets the seconds of what ranks make of config under each wanted policy;
 * behind late messages, only if the choice depends on them. */
static void evaluate(const struct mtlm_program_config *config,
                     const struct order_search *s,
                     struct mtlm_found_order found[POLICIES])
{
    struct mtlm_work work = mtlm_work_create(config);
    const double forward = mtlm_evaluate_shortest_forward(&work.pipeline);
    struct follower follower = {.config = config,
                                .pipeline = &work.pipeline,
                                .ignores_given = s->ignores_given};

    for (int i = 0; i < POLICIES; i++) {
        if (!s->wanted[i])
            continue;
        follower.waits = i == WAITS;
        found[i].seconds = evaluate_follower(&follower, 0);
        if (mtlm_found_orders_want(&s->orders[i], found[i].seconds))
            found[i].late_seconds =
                mtlm_late_seconds(evaluate_follower, &follower, forward);
    }
    mtlm_work_free(&work);
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

/* Adds the order, which a program of config would follow, if the order fits;
 * else frees the order. */
static void note(const struct mtlm_program_config *config,
                 struct mtlm_box_order order, enum mtlm_follow follow,
                 struct order_search *s)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);
    struct mtlm_program_config one = *config;
    struct mtlm_found_order found[POLICIES];

    one.order = &order;
    one.follow = follow;
    for (int i = 0; i < POLICIES; i++)
        found[i] = (struct mtlm_found_order){.follow = follow,
                                             .schedule = config->schedule,
                                             .layout = config->layout};
    if (mtlm_ring_memory(&one) <= s->most_memory * (1 + MTLM_MEMORY_ROUNDING)) {
        evaluate(&one, s, found);
        for (int i = 0; i < POLICIES; i++) {
            if (!s->wanted[i])
                continue;
            found[i].order = mtlm_order_duplicate(&order, &boxes);
            mtlm_found_orders_add(&s->orders[i], &found[i]);
        }
    }
    mtlm_order_free(&order);
}

/* Notes an order with each W in one piece, at the place of the first and of the
 * last piece.  Early W need few slots, late W fill the last waits. */
static void note_joined(const struct mtlm_program_config *config,
                        const struct mtlm_boxes *boxes,
                        const struct mtlm_box_order *order,
                        struct order_search *s)
{
    const int last = boxes->pieces - 1;

    for (int piece = 0; piece <= last; piece += last > 0 ? last : 1) {
        note(config, join_pieces(boxes, order, piece), MTLM_FOLLOW_HINT, s);
        note(config, join_pieces(boxes, order, piece), MTLM_FOLLOW_WINDOWS, s);
        note(config, join_pieces(boxes, order, piece), MTLM_FOLLOW_STRICT, s);
    }
}

/* Notes the published orders that need no more than the memory of config. */
static void try_published(const struct mtlm_program_config *config,
                          struct order_search *s)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);

    for (int i = 0; i < MTLM_PUBLISHED_COUNT; i++) {
        const struct mtlm_published *published = &mtlm_published[i];
        struct mtlm_program_config one = *config;

        if (mtlm_published_lacks(published, &boxes))
            continue;
        if (published->fused)
            one.schedule = mtlm_schedule_find(published->name);
        note(&one, mtlm_order_build(published, &one), MTLM_FOLLOW_HINT, s);
        if (!published->fused)
            note(&one, mtlm_order_build(published, &one), MTLM_FOLLOW_WINDOWS,
                 s);
        note(&one, mtlm_order_build(published, &one), MTLM_FOLLOW_STRICT, s);
    }
}

/* Notes the orders that arise from the windows of the other schedules. */
static void try_schedules(const struct mtlm_program_config *config,
                          struct order_search *s)
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
        note_joined(config, &boxes, &order, s);
        mtlm_evaluation_free(&e);
        mtlm_order_free(&order);
        mtlm_work_free(&work);
    }
}

/* Searches the order of config's stages, of so many pieces of W, within the
 * memory of slots, and notes the order. */
static void try_memory(const struct mtlm_program_config *config,
                       const struct mtlm_work *work, bool pooled, int pieces,
                       struct order_search *s)
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
        .effort = config->times ? effort : 0};
    struct mtlm_box_order order;
    struct mtlm_walk walk;

    boxes.pieces = pieces;
    order = mtlm_order_create(&boxes);
    walk = mtlm_walk_create(&boxes);
    if (mtlm_best_order(&best, &walk, &order) < INFINITY)
        note_joined(config, &boxes, &order, s);
    mtlm_walk_free(&walk);
    mtlm_order_free(&order);
}

/* Stages share slots where ranks follow places of the order, and have rings of
 * their own where ranks follow its windows.  Without waits for messages, a W
 * that begins just before a B arrives delays ready passes, but no chain, in
 * which a W is one piece. */
static void try_stages(struct mtlm_program_config *config,
                       struct order_search *s)
{
    struct mtlm_program_config unlimited = *config;
    struct mtlm_work work;

    /* Times and pieces do not depend on windows. */
    unlimited.window = 1;
    unlimited.act_mem = 0;
    work = mtlm_work_create(&unlimited);
    mtlm_activation_memory_measure(config);
    try_memory(config, &work, true, work.pipeline.pieces, s);
    try_memory(config, &work, true, 1, s);
    try_memory(config, &work, false, work.pipeline.pieces, s);
    try_published(config, s);
    try_schedules(config, s);
    mtlm_activation_memory_free(&config->activation);
    mtlm_work_free(&work);
}

/* Like try_stages(), with the times of the machine. */
static void try_kind(const struct mtlm_program_config *config,
                     const struct mtlm_stage_cost *machine,
                     struct order_search *s)
{
    struct mtlm_program_config one = *config;
    struct mtlm_stage_times times;

    mtlm_stage_cost_take(machine, &one, &times);
    try_stages(&one, s);
    mtlm_stage_times_free(&times);
}

/* Sets the seconds of config's windows, with the best slots of gradients. */
static void evaluate_windows(const struct mtlm_program_config *config,
                             const struct mtlm_stage_cost *machine,
                             const struct order_search *s,
                             struct mtlm_found_order windows[POLICIES])
{
    struct mtlm_program_config one = *config;
    struct mtlm_stage_times times;

    mtlm_stage_cost_take(machine, &one, &times);
    if (one.times)
        mtlm_search_gradients(&one);
    mtlm_activation_memory_measure(&one);
    evaluate(&one, s, windows);
    mtlm_activation_memory_free(&one.activation);
    mtlm_stage_times_free(&times);
}

/* Searches for the wanted policies. */
static void search(const struct mtlm_program_config *config, unsigned kinds,
                   const struct mtlm_stage_cost *machine,
                   struct order_search *s,
                   struct mtlm_found_order windows[POLICIES],
                   struct mtlm_found_order found[POLICIES])
{
    for (int i = 0; i < POLICIES; i++)
        windows[i] = found[i] =
            (struct mtlm_found_order){.follow = MTLM_FOLLOW_WINDOWS,
                                      .schedule = config->schedule,
                                      .layout = config->layout};
    if (!mtlm_search_limit_takes_any(config, kinds))
        return;
    evaluate_windows(config, machine, s, windows);
    for (int i = 0; i < POLICIES; i++)
        if (s->wanted[i])
            mtlm_found_orders_add(&s->orders[i], &windows[i]);
    if (kinds == MTLM_KINDS_GIVEN)
        try_kind(config, machine, s);
    for (int i = 0; i < MTLM_STAGE_KINDS; i++) {
        struct mtlm_program_config one;

        if ((kinds >> i & 1)
            && mtlm_stage_kind_place(config, &mtlm_stage_kinds[i], &one)
            && mtlm_search_limit_takes(&one))
            try_kind(&one, machine, s);
    }
    for (int i = 0; i < POLICIES; i++)
        if (s->wanted[i])
            found[i] = mtlm_found_orders_choose(&s->orders[i]);
}

bool mtlm_search_order(const struct mtlm_program_config *config, unsigned kinds,
                       const struct mtlm_stage_cost *machine, bool waits,
                       struct mtlm_found_order *windows,
                       struct mtlm_found_order *found)
{
    struct order_search s = {.most_memory = config->act_mem};
    struct mtlm_found_order all[POLICIES], best[POLICIES];

    s.wanted[waits ? WAITS : NEVER] = true;
    search(config, kinds, machine, &s, all, best);
    *windows = all[waits ? WAITS : NEVER];
    *found = best[waits ? WAITS : NEVER];
    return found->order.ranks > 0;
}

void mtlm_search_order_both(const struct mtlm_program_config *config,
                            unsigned kinds,
                            const struct mtlm_stage_cost *machine,
                            struct mtlm_found_order windows[2],
                            struct mtlm_found_order found[2])
{
    struct order_search s = {.wanted = {true, true},
                             .most_memory = config->act_mem};

    search(config, kinds, machine, &s, windows, found);
}

/* ---- the order of the windows ---- */

/* Notes, as priorities, the order that config's windows make by evaluation, and
 * the published one. */
static void try_own(const struct mtlm_program_config *config,
                    struct order_search *s)
{
    const struct mtlm_published *published =
        mtlm_published_find(config->schedule->name);
    const struct mtlm_boxes whole = mtlm_program_boxes(config);
    struct mtlm_work work = mtlm_work_create(config);
    const struct mtlm_boxes boxes = mtlm_evaluate_boxes(&work.pipeline, NULL);
    struct mtlm_box_order order = mtlm_order_create(&boxes);
    struct mtlm_evaluation e;

    s->most_memory = mtlm_ring_memory(config);
    work.pipeline.hold =
        s->ignores_given ? MTLM_HOLD_SHARE : mtlm_hold_searched();
    e = mtlm_evaluate(&work.pipeline);
    mtlm_evaluated_order(&e, &boxes, &order);
    note(config, join_pieces(&boxes, &order, 0), MTLM_FOLLOW_HINT, s);
    note(config, join_pieces(&boxes, &order, boxes.pieces - 1),
         MTLM_FOLLOW_HINT, s);
    if (published && !mtlm_published_lacks(published, &whole))
        note(config, mtlm_order_build(published, config), MTLM_FOLLOW_HINT, s);
    mtlm_evaluation_free(&e);
    mtlm_order_free(&order);
    mtlm_work_free(&work);
}

bool mtlm_search_order_own(const struct mtlm_program_config *config, bool waits,
                           struct mtlm_found_order *windows,
                           struct mtlm_found_order *found)
{
    struct order_search s = {.wanted[WAITS] = true, .ignores_given = !waits};
    struct mtlm_program_config one = *config;
    struct mtlm_found_order all[POLICIES];

    *windows = *found = (struct mtlm_found_order){.follow = MTLM_FOLLOW_WINDOWS,
                                                  .schedule = config->schedule,
                                                  .layout = config->layout};
    if (!mtlm_search_limit_takes(config) || config->schedule->fused)
        return false;
    mtlm_activation_memory_measure(&one);
    all[WAITS] = *windows;
    evaluate(&one, &s, all);
    *windows = all[WAITS];
    mtlm_found_orders_add(&s.orders[WAITS], windows);
    try_own(&one, &s);
    mtlm_activation_memory_free(&one.activation);
    *found = mtlm_found_orders_choose(&s.orders[WAITS]);
    return found->order.ranks > 0;
}
