/* Estimates iterations from the times of a layer. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/predict/message_cost.h"
#include "graph/predict/stage_cost.h"
#include "launch/simulate/layout_estimate.h"
#include "runtime/base/memory.h"

/* Seconds of F, B and W of a microbatch. */
struct passes {
    double f, b, w;
};

/* The times of a layer, and of embedding and output layer together, with a
 * tensor-parallel size, a micro batch and a recomputation. */
struct layer {
    int tp, granularity;
    int64_t micro_batch;
    struct passes layer, ends;
};

struct mtlm_layout_estimate {
    const struct mtlm_wish *wish;
    struct mtlm_stage_cost machine;
    struct layer *known; /* [n] */
    int n;
};

struct mtlm_layout_estimate *mtlm_layout_estimate_create(
    const struct mtlm_wish *wish, const struct mtlm_cluster *cluster)
{
    struct mtlm_layout_estimate *e = mtlm_calloc(1, sizeof(*e));

    e->wish = wish;
    e->machine = (struct mtlm_stage_cost){
        .cluster = cluster, .stretch = 1, .slow_rank = -1};
    return e;
}

/* Returns the times of a model of so many layers on one stage. */
static struct passes measure_model(const struct mtlm_layout_estimate *e,
                                   const struct mtlm_program_config *like,
                                   int64_t layers)
{
    struct mtlm_program_config config = *like;
    struct mtlm_stage_times times;
    struct passes passes;

    config.schedule = &mtlm_schedules[0];
    config.layout.pp = config.layout.dp = config.layout.virtual_stages = 1;
    config.layout.stage_layers = NULL;
    config.layout.placement = MTLM_PLACEMENT_LOOP;
    config.microbatches = 1;
    config.model.num_layers = layers;
    times = mtlm_stage_cost_times(&e->machine, &config);
    passes =
        (struct passes){times.forward[0], times.backward[0], times.weight[0]};
    mtlm_stage_times_free(&times);
    return passes;
}

/* Returns the times of a layer of config. */
static struct layer find_layer(struct mtlm_layout_estimate *e,
                               const struct mtlm_program_config *config)
{
    struct layer one = {.tp = config->layout.tp,
                        .granularity = config->recompute.granularity,
                        .micro_batch = config->micro_batch};
    struct passes two;

    for (int i = 0; i < e->n; i++)
        if (e->known[i].tp == one.tp
            && e->known[i].granularity == one.granularity
            && e->known[i].micro_batch == one.micro_batch)
            return e->known[i];
    one.ends = measure_model(e, config, 1);
    two = measure_model(e, config, 2);
    one.layer = (struct passes){two.f - one.ends.f, two.b - one.ends.b,
                                two.w - one.ends.w};
    one.ends.f -= one.layer.f;
    one.ends.b -= one.layer.b;
    one.ends.w -= one.layer.w;
    e->known = mtlm_realloc(e->known, e->n + 1, sizeof(*e->known));
    return e->known[e->n++] = one;
}

static double sum(const struct passes *p)
{
    return p->f + p->b + p->w;
}

/* Returns the seconds of the message of a microbatch to the next stage. */
static double hop_seconds(const struct mtlm_cluster *cluster,
                          const struct mtlm_program_config *config)
{
    const struct mtlm_layout *l = &config->layout;
    const double element =
        config->value == MTLM_REAL ? cluster->element_bytes : 2;

    return l->pp == 1 ? 0
                      : mtlm_message_cost_send(cluster, 0, l->tp * l->dp,
                                               element * config->micro_batch
                                                   * config->model.seq_length
                                                   * config->model.hidden_size);
}

/* Returns the seconds of an all-reduce of a rank's gradients. */
static double reduce_seconds(const struct mtlm_cluster *cluster,
                             const struct mtlm_program_config *config)
{
    struct mtlm_layout layout = config->layout;
    struct mtlm_message_group group;

    if (layout.dp == 1)
        return 0;
    mtlm_layout_place(&layout, 0);
    group = mtlm_message_cost_group(cluster, &layout, MTLM_GROUP_DP);
    return mtlm_message_cost_all_reduce(
        cluster, &group,
        sizeof(float) * mtlm_model_padded_parameters(&config->model, layout.tp)
            / (layout.tp * layout.pp));
}

double mtlm_layout_estimate_seconds(struct mtlm_layout_estimate *e,
                                    const struct mtlm_program_config *config)
{
    const struct mtlm_layout *l = &config->layout;
    const struct layer layer = find_layer(e, config);
    const int64_t layers = config->model.num_layers;
    const int stages = mtlm_layout_stages(l), v = l->virtual_stages;
    const int64_t most = (layers + stages - 1) / stages;
    const double body = sum(&layer.layer), ends = sum(&layer.ends);
    /* The last rank has the output layer, and the smaller stages. */
    const double last = (most * (v - 1) + layers / stages) * body + ends;
    const double busiest =
        l->pp == 1 ? layers * body + ends : fmax(most * v * body, last);
    const double fill = most
                        * (layer.layer.f + layer.layer.b
                           + (config->schedule->fused ? layer.layer.w : 0));

    return config->microbatches * busiest
           + (l->pp - 1) * (fill + 2 * hop_seconds(e->machine.cluster, config))
           + reduce_seconds(e->machine.cluster, config);
}

void mtlm_layout_estimate_destroy(struct mtlm_layout_estimate *estimate)
{
    free(estimate->known);
    free(estimate);
}
