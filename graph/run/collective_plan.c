/* Plans the order of collectives from an evaluation of all pipeline stages. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "graph/build/program_build.h"
#include "graph/predict/evaluate_program.h"
#include "graph/run/collective_plan.h"
#include "runtime/base/memory.h"

/* The programs of one pipeline, and what their nodes cost: those of the first
 * rank of each tensor-parallel group and replica, which say as much as all. */
struct planned_pipeline {
    struct mtlm_program **program; /* [n] */
    struct mtlm_cost *cost;        /* [n] */
    int n;
};

static void create_pipeline(struct planned_pipeline *p,
                            const struct mtlm_program *program,
                            const struct mtlm_cluster *cluster)
{
    struct mtlm_program_config config = program->config;
    const int per_stage = config.layout.tp * config.layout.dp;

    p->n = config.layout.pp;
    p->program = mtlm_calloc(p->n, sizeof(struct mtlm_program *));
    p->cost = mtlm_calloc(p->n, sizeof(*p->cost));
    for (int i = 0; i < p->n; i++) {
        mtlm_layout_place(&config.layout, i * per_stage);
        p->program[i] = mtlm_program_build(&config);
        p->cost[i] = mtlm_cost_create(cluster, p->program[i]);
    }
}

static void destroy_pipeline(struct planned_pipeline *p)
{
    for (int i = 0; i < p->n; i++)
        mtlm_program_destroy(p->program[i]);
    free(p->program);
    free(p->cost);
}

static double get_seconds(void *arg, const struct mtlm_program *program,
                          const struct mtlm_item *item, int iteration)
{
    const struct planned_pipeline *p = arg;

    (void) iteration;
    return mtlm_cost_seconds(&p->cost[program->config.layout.pp_rank],
                             item->node);
}

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
    struct planned_pipeline p;
    struct mtlm_execution run;
    int n = 0;

    create_pipeline(&p, program, cluster ? cluster : &mtlm_cluster_usual);
    run = mtlm_evaluate_program(&(struct mtlm_evaluate_program){
        .program = (const struct mtlm_program *const *) p.program,
        .n = p.n,
        .iterations = 1,
        .seconds = get_seconds,
        .arg = &p,
        .serial = serial});
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
    destroy_pipeline(&p);
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
