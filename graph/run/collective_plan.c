/* Plans the order of collectives from an evaluation of all pipeline stages. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "graph/predict/pipeline_programs.h"
#include "graph/run/collective_plan.h"
#include "runtime/base/memory.h"

static bool is_collective(const struct mtlm_item *item)
{
    return mtlm_ops[item->node->call.kind]->op_class == MTLM_CLASS_COLLECTIVE;
}

void mtlm_collective_plan_create(struct mtlm_collective_plan *plan,
                                 const struct mtlm_program *program,
                                 const struct mtlm_cluster *cluster,
                                 bool serial)
{
    const struct mtlm_items *items = &program->train;
    struct mtlm_pipeline_programs p =
        mtlm_pipeline_programs_create(&program->config, cluster);
    struct mtlm_execution run;
    int n = 0;

    run = mtlm_evaluate_program(&(struct mtlm_evaluate_program){
        .program = (const struct mtlm_program *const *) p.program,
        .n = p.n,
        .iterations = 1,
        .seconds = mtlm_pipeline_programs_seconds,
        .arg = &p,
        .turns = serial ? MTLM_TURNS_ALL : MTLM_TURNS_LANE});
    plan->order = mtlm_execution_collectives(
        &run, program->config.layout.pp_rank, 0, &plan->n);
    plan->microbatch = mtlm_calloc(plan->n, sizeof(*plan->microbatch));
    for (int i = 0; i < items->n; i++)
        if (is_collective(&items->item[i])) {
            assert(n < plan->n);
            plan->microbatch[n++] = items->item[i].microbatch;
        }
    assert(n == plan->n);
    mtlm_execution_free(&run);
    mtlm_pipeline_programs_free(&p);
}

void mtlm_collective_plan_destroy(struct mtlm_collective_plan *plan)
{
    free(plan->order);
    free(plan->microbatch);
}

int mtlm_collective_plan_of(const struct mtlm_collective_plan *plan,
                            int64_t microbatches, int *order)
{
    int *number = mtlm_calloc(plan->n, sizeof(*number));
    int posted = 0, n = 0;

    for (int i = 0; i < plan->n; i++)
        number[i] = plan->microbatch[i] < microbatches ? posted++ : -1;
    for (int i = 0; i < plan->n; i++)
        if (number[plan->order[i]] >= 0)
            order[n++] = number[plan->order[i]];
    free(number);
    return n;
}
