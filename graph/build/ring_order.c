/* Slots for an order of boxes: from a walk, how long microbatches keep their
 * slots. */

#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "graph/build/ring_life.h"
#include "graph/build/ring_order.h"
#include "graph/order/order_memory.h"
#include "graph/order/walk.h"
#include "graph/schedule/order_window.h"
#include "runtime/base/memory.h"

struct mtlm_boxes mtlm_ring_order_boxes(
    const struct mtlm_program_config *config,
    const struct mtlm_window_model *model)
{
    struct mtlm_boxes boxes = mtlm_program_boxes(config);

    boxes.forward = model->forward;
    boxes.backward = model->backward;
    boxes.weight = model->weight;
    boxes.hop = model->hop;
    boxes.memory = model->memory;
    return boxes;
}

struct mtlm_slot_rules mtlm_ring_order_rules(
    const struct mtlm_program_config *config)
{
    const struct mtlm_activation_memory *activation = &config->activation;
    struct mtlm_slot_rules rules = {.pooled = mtlm_program_is_ordered(config)};

    if (activation->stage) {
        rules.weight_share = activation->waiting_share;
        rules.gradient_share =
            activation->gradient_share
            - (rules.pooled ? activation->exchanged_share : 0);
    }
    return rules;
}

double mtlm_ring_order_memory(const struct mtlm_program_config *config,
                              const struct mtlm_window_model *model)
{
    const struct mtlm_boxes boxes = mtlm_ring_order_boxes(config, model);
    const struct mtlm_slot_rules rules = mtlm_ring_order_rules(config);
    double fullest = 0;

    for (int r = 0; r < config->layout.pp; r++)
        fullest =
            fmax(fullest, mtlm_order_memory(config->order, &boxes, r, &rules));
    return fullest;
}

/* Gives time to each box.  Slots follow from times that overlap, and a box
 * without time, as of a stage without layers, overlaps with nothing.  A smaller
 * share would vanish in the sums of a long walk. */
static void give_time(struct mtlm_walk *walk)
{
    const double share = 1e-6;
    double longest = 0;

    for (int i = 0; i < walk->n; i++)
        longest = fmax(longest, walk->time[i]);
    for (int i = 0; i < walk->n; i++)
        walk->time[i] = fmax(walk->time[i], share * longest);
}

struct mtlm_walk mtlm_ring_order_walk(const struct mtlm_program_config *config,
                                      const struct mtlm_boxes *boxes)
{
    struct mtlm_walk walk = mtlm_walk_create(boxes);
    double makespan;

    give_time(&walk);
    makespan = mtlm_walk(&walk, config->order);
    assert(makespan < INFINITY);
    (void) makespan;
    return walk;
}

/* ---- windows ---- */

void mtlm_ring_order_windows(const struct mtlm_program_config *config,
                             const struct mtlm_window_model *model,
                             struct mtlm_window *window)
{
    const int stages = mtlm_layout_stages(&config->layout);
    const int workers = config->layout.workers;
    const struct mtlm_boxes boxes = mtlm_ring_order_boxes(config, model);
    struct mtlm_walk walk = mtlm_ring_order_walk(config, &boxes);

    mtlm_order_window_set(&walk, window);
    for (int k = 0; k < stages; k++) {
        struct mtlm_window *w = &window[k];
        const int until_weight = w->w + w->q;

        if (config->follow != MTLM_FOLLOW_STRICT) {
            w->w = mtlm_window_clamp(model, w->w);
            w->q = mtlm_window_clamp(model, until_weight) - w->w;
        }
        w->g = fmax(fmax(w->g, 2), workers);
    }
    mtlm_walk_free(&walk);
}

/* ---- rings ---- */

/* Widens begin .. end by a box.  A received tensor is in use from the end of
 * the box that sends the tensor. */
static void widen(const struct mtlm_walk *walk, int box, bool received,
                  double *begin, double *end)
{
    const double start =
        received ? walk->end[walk->before[box]] : walk->start[box];

    *begin = fmin(*begin, start);
    *end = fmax(*end, walk->end[box]);
}

/* Returns the slots that the life needs.  time [2 m] is for work. */
static int slots_of(const struct mtlm_walk *walk,
                    const struct mtlm_ring_life *life,
                    const struct mtlm_tensor *t, double *time)
{
    const int m = walk->boxes->microbatches;

    for (int i = 0; i < m; i++) {
        double begin = INFINITY, end = 0;

        for (int b = 0; b < life->n; b++) {
            struct mtlm_box box = life->box[b];

            box.microbatch = i;
            widen(walk, mtlm_box_number(walk->boxes, box),
                  t->received && box.phase == t->first_use, &begin, &end);
        }
        time[i] = begin;
        time[m + i] = end;
    }
    return mtlm_order_window_slots(time, time + m, m);
}

void mtlm_ring_order_lengthen(struct mtlm_program *program,
                              const struct mtlm_window_model *model)
{
    const struct mtlm_graph *graph = program->graph;
    struct mtlm_ring_life *life = mtlm_ring_life_find(program);
    double *time = mtlm_calloc(2 * program->config.microbatches, sizeof(*time));
    const struct mtlm_boxes boxes =
        mtlm_ring_order_boxes(&program->config, model);
    struct mtlm_walk walk = mtlm_ring_order_walk(&program->config, &boxes);

    for (int i = 0; i < graph->n_tensors; i++) {
        struct mtlm_tensor *t = graph->tensor[i];

        if (life[i].n > 0)
            t->slots = fmax(t->slots, slots_of(&walk, &life[i], t, time));
    }
    mtlm_walk_free(&walk);
    free(time);
    mtlm_ring_life_free(life, graph->n_tensors);
}
