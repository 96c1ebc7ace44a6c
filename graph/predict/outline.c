/* Outlines: the plan of each pipeline rank, and sums over a machine. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/build/program_build.h"
#include "graph/predict/outline.h"

struct mtlm_plan mtlm_outline_stage(const struct mtlm_program_config *config,
                                    int stage, double process_bytes)
{
    struct mtlm_program_config mine = *config;
    struct mtlm_program *program;
    struct mtlm_plan plan;

    mine.outline = true;
    mtlm_layout_place(&mine.layout,
                      stage * config->layout.tp * config->layout.dp);
    program = mtlm_program_build(&mine);
    plan = mtlm_plan(program, process_bytes);
    mtlm_program_destroy(program);
    return plan;
}

struct mtlm_outline mtlm_outline_create(
    const struct mtlm_program_config *config, double process_bytes)
{
    struct mtlm_outline outline = {.layout = config->layout};
    const int pp = config->layout.pp;

    outline.plan = mtlm_calloc(pp, sizeof(*outline.plan));
    for (int i = 0; i < pp; i++)
        outline.plan[i] = mtlm_outline_stage(config, i, process_bytes);
    return outline;
}

void mtlm_outline_destroy(struct mtlm_outline *outline)
{
    free(outline->plan);
    outline->plan = NULL;
}

const struct mtlm_plan *mtlm_outline_plan(const struct mtlm_outline *outline,
                                          int rank)
{
    struct mtlm_layout layout = outline->layout;

    mtlm_layout_place(&layout, rank);
    return &outline->plan[layout.pp_rank];
}

int mtlm_outline_check_counts(const struct mtlm_outline *outline,
                              struct mtlm_error *err)
{
    for (int i = 0; i < outline->layout.pp; i++)
        if (mtlm_plan_check_counts(&outline->plan[i], err) < 0)
            return -1;
    return 0;
}

/* Returns the largest sum of bytes() over per_host ranks with consecutive
 * numbers. */
static double most_on_host(const struct mtlm_outline *outline, int per_host,
                           double (*bytes)(const struct mtlm_plan *plan))
{
    const int ranks = mtlm_layout_ranks(&outline->layout);
    double most = 0;

    for (int first = 0; first < ranks; first += per_host) {
        double host = 0;

        for (int r = first; r < ranks && r < first + per_host; r++)
            host += bytes(mtlm_outline_plan(outline, r));
        most = fmax(most, host);
    }
    return most;
}

double mtlm_outline_host_bytes(const struct mtlm_outline *outline, int per_host)
{
    return most_on_host(outline, per_host, mtlm_plan_more_bytes);
}

static double beside_gpu(const struct mtlm_plan *plan)
{
    return mtlm_plan_beside_gpu_bytes(plan, false);
}

double mtlm_outline_beside_bytes(const struct mtlm_outline *outline,
                                 int per_host)
{
    return most_on_host(outline, per_host, beside_gpu);
}

double mtlm_outline_gpu_bytes(const struct mtlm_outline *outline)
{
    double most = 0;

    for (int i = 0; i < outline->layout.pp; i++)
        most = fmax(most, mtlm_plan_gpu_bytes(&outline->plan[i]));
    return most;
}
