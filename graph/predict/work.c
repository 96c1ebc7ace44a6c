/* The work of each virtual stage, counted on the outlines of all ranks. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/pool.h"
#include "graph/build/program_build.h"
#include "graph/build/ring.h"
#include "graph/predict/work.h"
#include "runtime/base/memory.h"

enum { PIECES = 8 }; /* of W, at the most */

/* Returns the FLOPs of the list's nodes that run with the phase: with
 * recomputation, some weight gradients run with B. */
static double flops_of(const struct mtlm_list *list, enum mtlm_phase phase)
{
    double flops = 0;

    for (int i = 0; i < list->n; i++)
        if (mtlm_pool_phase(list->node[i]) == phase)
            flops += list->node[i]->flops;
    return flops;
}

/* Scales times[3 stages]: forward passes take a millisecond a rank on average.
 * Returns the FLOPs of a second. */
static double scale_times(double *times, int stages, int ranks)
{
    double forward = 0;

    for (int k = 0; k < stages; k++)
        forward += times[k];
    for (int i = 0; i < 3 * stages; i++)
        times[i] *= 1e-3 * ranks / forward;
    return forward / (1e-3 * ranks);
}

struct mtlm_work mtlm_work_create(const struct mtlm_program_config *config)
{
    const int stages = mtlm_layout_stages(&config->layout);
    double *times = mtlm_calloc(3 * stages, sizeof(*times));
    struct mtlm_work work = {.window = mtlm_ring_windows(config),
                             .times = times};
    int64_t pieces = 1;

    for (int r = 0; r < config->layout.pp; r++) {
        struct mtlm_program_config mine = *config;
        struct mtlm_program *program;

        mine.outline = true;
        mine.eval_only = false;
        mtlm_layout_place(&mine.layout,
                          r * config->layout.tp * config->layout.dp);
        program = mtlm_program_build(&mine);
        for (int c = 0; c < config->layout.virtual_stages; c++) {
            const struct mtlm_stage *stage = &program->stage[c];
            double *time = &times[stage->stage];

            time[0] = flops_of(&stage->forward, MTLM_PHASE_FORWARD);
            time[stages] = flops_of(&stage->backward, MTLM_PHASE_BACKWARD);
            time[2 * stages] = flops_of(&stage->weight, MTLM_PHASE_WEIGHT)
                               + flops_of(&stage->backward, MTLM_PHASE_WEIGHT);
            pieces = stage->n_layers > pieces ? stage->n_layers : pieces;
        }
        mtlm_program_destroy(program);
    }
    work.flops_per_s =
        scale_times(times, stages, mtlm_layout_pipeline(&config->layout));
    work.pipeline =
        (struct mtlm_evaluate){.layout = &config->layout,
                               .schedule = config->schedule,
                               .microbatches = config->microbatches,
                               .forward = times,
                               .backward = times + stages,
                               .weight = times + 2 * stages,
                               .pieces = pieces < PIECES ? pieces : PIECES,
                               .window = work.window};
    return work;
}

void mtlm_work_free(struct mtlm_work *work)
{
    free(work->times);
    free(work->window);
}
