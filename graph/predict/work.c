/* The work of each virtual stage: given times, or FLOPs as times. */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build/ring.h"
#include "graph/predict/stage_cost.h"
#include "graph/predict/work.h"

enum { PIECES = 8 }; /* of W, at the most */

/* A machine on which a FLOP takes a second, and nothing else takes time. */
static const struct mtlm_cluster flop_machine = {.flops_per_s = 1,
                                                 .efficiency = 1,
                                                 .bytes_per_s = INFINITY,
                                                 .memory_efficiency = 1,
                                                 .element_bytes = 1};

/* Scales the times: forward passes take a millisecond a rank on average.
 * Returns the FLOPs of a second. */
static double scale_times(struct mtlm_stage_times *times, int ranks)
{
    double forward = 0;

    for (int k = 0; k < times->stages; k++)
        forward += times->forward[k];
    for (int i = 0; i < 3 * times->stages; i++)
        times->forward[i] *= 1e-3 * ranks / forward;
    return forward / (1e-3 * ranks);
}

/* Sets the times to those of config, or to the FLOPs of the stages. */
static void find_times(struct mtlm_work *work,
                       const struct mtlm_program_config *config)
{
    const struct mtlm_stage_cost machine = {
        .cluster = &flop_machine, .stretch = 1, .slow_rank = -1};
    const struct mtlm_stage_times *given = mtlm_ring_times(config);

    if (!given) {
        work->times = mtlm_stage_cost_times(&machine, config);
        work->flops_per_s =
            scale_times(&work->times, mtlm_layout_pipeline(&config->layout));
        return;
    }
    work->times = mtlm_stage_times_create(given->stages);
    memcpy(work->times.forward, given->forward,
           3 * given->stages * sizeof(*given->forward));
    work->times.hop = given->hop;
}

/* Returns the layers of the stage with most layers. */
static int64_t most_layers(const struct mtlm_program_config *config)
{
    int64_t most = 1;

    for (int k = 0; k < mtlm_layout_stages(&config->layout); k++) {
        const int64_t count = mtlm_layout_layer_count(
            &config->layout, config->model.num_layers, k);

        most = count > most ? count : most;
    }
    return most;
}

/* Returns how often the longest task of W fits into W, on the stage with most
 * layers.  W of a layer has a task for each weight matrix: [h, 3 h], [h, h],
 * [h, f], [f, h]. */
static int weight_pieces(const struct mtlm_program_config *config)
{
    const double h = config->model.hidden_size;
    const double f = config->model.ffn_hidden_size;
    const double pieces =
        round(most_layers(config) * (4 * h + 2 * f) / fmax(3 * h, f));

    return pieces < PIECES ? (int) pieces : PIECES;
}

struct mtlm_work mtlm_work_create(const struct mtlm_program_config *config)
{
    const int pieces = weight_pieces(config);
    struct mtlm_work work = {.window = mtlm_ring_windows(config)};

    find_times(&work, config);
    work.pipeline = (struct mtlm_evaluate){
        .layout = &config->layout,
        .schedule = config->schedule,
        .microbatches = config->microbatches,
        .forward = work.times.forward,
        .backward = work.times.backward,
        .weight = work.times.weight,
        .hop = work.times.hop,
        .pieces = pieces,
        .steps = pieces,
        .window = work.window,
        .order = config->follow == MTLM_FOLLOW_HINT ? config->order : NULL,
        .pooled = config->follow == MTLM_FOLLOW_HINT
                  && mtlm_program_is_ordered(config)};
    return work;
}

struct mtlm_evaluation mtlm_work_evaluate(
    const struct mtlm_work *work, const struct mtlm_program_config *config)
{
    return mtlm_program_is_chained(config)
               ? mtlm_evaluate_order(&work->pipeline, config->order)
               : mtlm_evaluate(&work->pipeline);
}

double mtlm_work_seconds(const struct mtlm_work *work,
                         const struct mtlm_program_config *config)
{
    struct mtlm_evaluation e = mtlm_work_evaluate(work, config);

    mtlm_evaluation_free(&e);
    return e.makespan_s;
}

void mtlm_work_free(struct mtlm_work *work)
{
    mtlm_stage_times_free(&work->times);
    free(work->window);
}
