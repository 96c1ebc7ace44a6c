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
        .n = n,
        .slow_rank = -1};

    for (int i = 0; i < n; i++) {
        mtlm_layout_place(&one.layout, i * per_stage);
        p.program[i] = mtlm_program_build(&one);
        p.cost[i] = mtlm_cost_create(cluster ? cluster : &mtlm_cluster_usual,
                                     p.program[i]);
        p.seconds[i] = unknown_seconds(p.program[i]);
    }
    return p;
}

void mtlm_pipeline_programs_slow(struct mtlm_pipeline_programs *p,
                                 const struct mtlm_stage_cost *machine)
{
    const struct mtlm_layout *layout = &p->program[0]->config.layout;

    p->slow_rank = machine->slow_rank < 0
                       ? -1
                       : machine->slow_rank / (layout->tp * layout->dp);
    p->speed = machine->speed;
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

/* Returns the factor of a pass on the slowest rank of the tensor-parallel
 * group. */
static double slowest_factor(const struct mtlm_noise_draws *draws,
                             const struct mtlm_layout *layout,
                             const struct mtlm_noise_pass *like)
{
    struct mtlm_noise_pass pass = *like;
    struct mtlm_layout at = *layout;
    double most = 0;

    at.dp_rank = pass.replica;
    for (pass.peer = 0; pass.peer < at.tp; pass.peer++) {
        at.tp_rank = pass.peer;
        most = fmax(most, mtlm_noise_of_pass(draws->noise, draws->seed, &pass)
                              * mtlm_noise_of_ranks(draws->noise,
                                                    mtlm_layout_rank(&at), 1));
    }
    return most;
}

/* Returns the noise of the item's pass. */
static double noise_of(struct mtlm_pipeline_programs *p,
                       const struct mtlm_layout *layout,
                       const struct mtlm_item *item)
{
    const struct mtlm_noise_pass pass = {.iteration = p->draws.iteration,
                                         .replica = p->draws.replica,
                                         .stage = item->node->stage,
                                         .microbatch = item->microbatch,
                                         .phase = mtlm_node_pass(item->node)};
    const bool known =
        p->last_factor > 0 && p->last_rank == layout->pp_rank
        && p->last.replica == pass.replica && p->last.stage == pass.stage
        && p->last.microbatch == pass.microbatch && p->last.phase == pass.phase;

    if (!known)
        p->last_factor = slowest_factor(&p->draws, layout, &pass);
    p->last = pass;
    p->last_rank = layout->pp_rank;
    return p->last_factor;
}

/* Returns the cost of the item's node, on the rank that runs it. */
static double cost_of(struct mtlm_pipeline_programs *p, int rank,
                      const struct mtlm_item *item)
{
    double *seconds = &p->seconds[rank][item->node->id];

    if (isnan(*seconds))
        *seconds = mtlm_cost_seconds(&p->cost[rank], item->node);
    if (item->node->call.kind == MTLM_OP_SEND)
        return *seconds + p->more_s;
    return rank == p->slow_rank && item->node->lane == MTLM_LANE_COMPUTE
               ? *seconds / p->speed
               : *seconds;
}

double mtlm_pipeline_programs_seconds(void *arg,
                                      const struct mtlm_program *program,
                                      const struct mtlm_item *item,
                                      int iteration)
{
    struct mtlm_pipeline_programs *p = arg;
    const double seconds = cost_of(p, program->config.layout.pp_rank, item);

    (void) iteration;
    if (!p->draws.noise
        || mtlm_ops[item->node->call.kind]->op_class != MTLM_CLASS_COMPUTE)
        return seconds;
    return seconds * noise_of(p, &program->config.layout, item);
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
        .devices = p->cost[0].cluster->devices,
        .first_come = true,
        .hold = hold,
        /* The policy leaves B for another task in pipelines only. */
        .leaves_backward = p->n > 1 && p->program[0]->place != NULL};
}

double mtlm_pipeline_programs_makespan(struct mtlm_pipeline_programs *p,
                                       double hold)
{
    const struct mtlm_evaluate_program job =
        mtlm_pipeline_programs_job(p, hold);
    struct mtlm_execution run = mtlm_evaluate_program(&job);
    const double seconds = 1e-9 * run.makespan_ns;

    mtlm_execution_free(&run);
    return seconds;
}

bool mtlm_pipeline_programs_chained(void *arg,
                                    const struct mtlm_program *program,
                                    const struct mtlm_item *item)
{
    const struct mtlm_pipeline_programs *p = arg;

    return mtlm_profile_chains(p->cost[0].cluster->profile, program, item);
}
