/* Programs of all pipeline ranks, with costs. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/build/program_build.h"
#include "graph/predict/pipeline_programs.h"
#include "graph/predict/profile.h"
#include "runtime/base/memory.h"

/* Returns an entry for each node of the program. */
static double *unknown_seconds(const struct mtlm_program *program)
{
    const int nodes = program->graph->all.n;
    double *seconds = mtlm_calloc(nodes, sizeof(*seconds));

    for (int i = 0; i < nodes; i++)
        seconds[i] = NAN;
    return seconds;
}

struct mtlm_pipeline_programs mtlm_pipeline_programs_create(
    const struct mtlm_program_config *config,
    const struct mtlm_cluster *cluster)
{
    const int n = config->layout.pp;
    const int per_stage = config->layout.tp * config->layout.dp;
    struct mtlm_program_config one = *config;
    struct mtlm_pipeline_programs p = {
        .program = mtlm_calloc(n, sizeof(struct mtlm_program *)),
        .cost = mtlm_calloc(n, sizeof(*p.cost)),
        .seconds = mtlm_calloc(n, sizeof(*p.seconds)),
        .n = n};

    for (int i = 0; i < n; i++) {
        mtlm_layout_place(&one.layout, i * per_stage);
        p.program[i] = mtlm_program_build(&one);
        p.cost[i] = mtlm_cost_create(cluster ? cluster : &mtlm_cluster_usual,
                                     p.program[i]);
        p.seconds[i] = unknown_seconds(p.program[i]);
    }
    return p;
}

void mtlm_pipeline_programs_free(struct mtlm_pipeline_programs *p)
{
    for (int i = 0; i < p->n; i++) {
        mtlm_program_destroy(p->program[i]);
        free(p->seconds[i]);
    }
    free(p->seconds);
    free(p->program);
    free(p->cost);
}

double mtlm_pipeline_programs_seconds(void *arg,
                                      const struct mtlm_program *program,
                                      const struct mtlm_item *item,
                                      int iteration)
{
    const struct mtlm_pipeline_programs *p = arg;
    const int rank = program->config.layout.pp_rank;
    double *seconds = &p->seconds[rank][item->node->id];

    (void) iteration;
    if (isnan(*seconds))
        *seconds = mtlm_cost_seconds(&p->cost[rank], item->node);
    return *seconds;
}

bool mtlm_pipeline_programs_chained(void *arg,
                                    const struct mtlm_program *program,
                                    const struct mtlm_item *item)
{
    const struct mtlm_pipeline_programs *p = arg;

    return mtlm_profile_chains(p->cost[0].cluster->profile, program, item);
}
