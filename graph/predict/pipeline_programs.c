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

int64_t mtlm_pipeline_programs_nodes(const struct mtlm_program_config *config)
{
    const struct mtlm_layout *layout = &config->layout;
    struct mtlm_program_config one = *config;
    struct mtlm_program *program;
    int64_t nodes = 0;

    one.outline = true;
    one.eval_only = false;
    one.order = NULL;
    one.act_mem = 0; /* the nodes do not depend on windows */
    one.window = 1;
    mtlm_layout_place(&one.layout, layout->pp / 2 * layout->tp * layout->dp);
    program = mtlm_program_build(&one);
    for (int c = 0; c < layout->virtual_stages; c++) {
        const struct mtlm_stage *stage = &program->stage[c];

        nodes += stage->forward.n + stage->backward.n + stage->weight.n;
    }
    mtlm_program_destroy(program);
    return layout->pp * nodes;
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

struct mtlm_evaluate_program mtlm_pipeline_programs_job(
    struct mtlm_pipeline_programs *p, double hold)
{
    return (struct mtlm_evaluate_program){
        .program = (const struct mtlm_program *const *) p->program,
        .n = p->n,
        .iterations = 1,
        .seconds = mtlm_pipeline_programs_seconds,
        .arg = p,
        .turns = MTLM_TURNS_LANE,
        .first_come = true,
        .hold = hold,
        .leaves_backward = p->program[0]->place != NULL};
}

bool mtlm_pipeline_programs_chained(void *arg,
                                    const struct mtlm_program *program,
                                    const struct mtlm_item *item)
{
    const struct mtlm_pipeline_programs *p = arg;

    return mtlm_profile_chains(p->cost[0].cluster->profile, program, item);
}
