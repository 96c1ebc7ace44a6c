/* Programs of all pipeline ranks, with costs. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/program_build.h"
#include "graph/predict/pipeline_programs.h"
#include "runtime/base/memory.h"

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
        .n = n};

    for (int i = 0; i < n; i++) {
        mtlm_layout_place(&one.layout, i * per_stage);
        p.program[i] = mtlm_program_build(&one);
        p.cost[i] = mtlm_cost_create(cluster ? cluster : &mtlm_cluster_usual,
                                     p.program[i]);
    }
    return p;
}

void mtlm_pipeline_programs_free(struct mtlm_pipeline_programs *p)
{
    for (int i = 0; i < p->n; i++)
        mtlm_program_destroy(p->program[i]);
    free(p->program);
    free(p->cost);
}

double mtlm_pipeline_programs_seconds(void *arg,
                                      const struct mtlm_program *program,
                                      const struct mtlm_item *item,
                                      int iteration)
{
    const struct mtlm_pipeline_programs *p = arg;

    (void) iteration;
    return mtlm_cost_seconds(&p->cost[program->config.layout.pp_rank],
                             item->node);
}
