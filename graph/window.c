#include "config.h"

#include <math.h>

#include "graph/program.h"
#include "graph/window.h"

bool mtlm_pipeline_fused(enum mtlm_pipeline pipeline)
{
    return pipeline == MTLM_PIPELINE_GPIPE || pipeline == MTLM_PIPELINE_1F1B
           || pipeline == MTLM_PIPELINE_INTERLEAVED;
}

static double layers_of(const struct mtlm_layout *layout, int64_t num_layers,
                        int stage)
{
    int64_t first, count;

    mtlm_layout_layers(layout, num_layers, stage, &first, &count);
    return count;
}

static int stage_on(const struct mtlm_layout *layout, int pp_rank, int chunk)
{
    struct mtlm_layout there = *layout;

    there.pp_rank = pp_rank;
    return mtlm_layout_stage(&there, chunk);
}

/* Work per microbatch of the busiest rank, per worker. */
static double period(const struct mtlm_layout *layout, int64_t num_layers)
{
    double busiest = 0;

    for (int r = 0; r < layout->pp; r++) {
        double work = 0;

        for (int c = 0; c < layout->virtual_stages; c++)
            work += 3 * layers_of(layout, num_layers, stage_on(layout, r, c));
        busiest = fmax(busiest, work / layout->workers);
    }
    return busiest;
}

static int slots(const struct mtlm_layout *layout, int64_t num_layers,
                 int64_t m, double alpha, int stage)
{
    const int stages = mtlm_layout_stages(layout);
    double residence = 0, n;

    for (int k = stage; k < stages; k++)
        residence += 2 * layers_of(layout, num_layers, k);
    n = ceil(alpha * residence / period(layout, num_layers) - 1e-9);
    n = fmin(n, m);
    return fmax(n, layout->workers);
}

struct mtlm_window mtlm_window(const struct mtlm_layout *layout,
                               int64_t num_layers, int64_t m, double alpha,
                               int stage)
{
    const int w = slots(layout, num_layers, m, alpha, stage);
    const int w0 = slots(layout, num_layers, m, alpha, 0);

    return (struct mtlm_window){w, layout->virtual_stages == 1 ? w0 - w : 0};
}

/* By the phases between which the tensor lives. */
static int window_slots(const struct mtlm_tensor *t, struct mtlm_window window,
                        int workers)
{
    /* What lives within one phase: one in use, one being written. */
    const int least = workers > 2 ? workers : 2;

    if (t->first_use == MTLM_PHASE_FORWARD
        && t->last_use == MTLM_PHASE_BACKWARD)
        return window.w;
    if (t->first_use == MTLM_PHASE_FORWARD && t->last_use == MTLM_PHASE_WEIGHT)
        return window.w + window.q;
    if (t->last_use == MTLM_PHASE_WEIGHT && window.q + 1 > least)
        return window.q + 1;
    return least;
}

static int ring(const struct mtlm_tensor *t, struct mtlm_window window,
                int workers)
{
    return window_slots(t, window, workers) + t->received;
}

void mtlm_window_apply(struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    const struct mtlm_graph *graph = program->graph;

    for (int i = 0; i < graph->n_tensors; i++) {
        struct mtlm_tensor *t = graph->tensor[i];

        if ((t->storage == MTLM_STORE_ACTIVATION
             || t->storage == MTLM_STORE_CONTROL)
            && !t->same)
            t->slots = ring(
                t,
                mtlm_window(&config->layout, config->model.num_layers,
                            config->microbatches, config->window, t->stage),
                config->layout.workers);
    }
}
