#include "config.h"

#include "graph/predict/activation_memory.h"
#include "graph/predict/work.h"
#include "graph/schedule/schedule.h"
#include "tests/graph/search_scene.h"

struct mtlm_program_config search_scene_create(struct mtlm_stage_times *times,
                                               int v)
{
    struct mtlm_program_config config = small_config(1, 4, 8);

    config.model.num_layers = SEARCH_SCENE_LAYERS;
    config.schedule = mtlm_schedule_find("auto");
    config.layout.virtual_stages = v;
    config.layout.placement = v > 1 ? MTLM_PLACEMENT_V : MTLM_PLACEMENT_LOOP;
    *times = mtlm_stage_times_create(4 * v);
    for (int k = 0; k < times->stages; k++) {
        const bool slow = mtlm_layout_pp_rank(&config.layout, k) == 1;
        const double one = (slow ? 1.25 : 1) / v;

        times->forward[k] = one;
        times->backward[k] = one * 1.3;
        times->weight[k] = one * .8;
    }
    times->hop = .2;
    config.times = times;
    return config;
}

double search_scene_two(const struct mtlm_program_config *config)
{
    struct mtlm_activation_memory memory = mtlm_activation_memory(config);
    double most = 0;

    for (int k = 0; k < mtlm_layout_stages(&config->layout); k++)
        most = memory.stage[k] > most ? memory.stage[k] : most;
    mtlm_activation_memory_free(&memory);
    return 2 * most;
}

double search_scene_seconds(const struct mtlm_program_config *config)
{
    struct mtlm_work work = mtlm_work_create(config);
    const double seconds = mtlm_work_seconds(&work, config);

    mtlm_work_free(&work);
    return seconds;
}
