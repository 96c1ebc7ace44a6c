/* Sums the modelled times of each stage's nodes, on the outlines of all
 * pipeline ranks. */

#include "config.h"

#include <math.h>

#include "graph/build/pool.h"
#include "graph/build/program_build.h"
#include "graph/predict/stage_cost.h"

/* Messages between stages. */
struct hops {
    double seconds;
    int n;
};

/* Returns the phase that the node's time belongs to. */
static enum mtlm_phase phase_of(const struct mtlm_cost *cost,
                                const struct mtlm_node *node)
{
    return cost->program->config.schedule->fused ? node->phase
                                                 : mtlm_pool_phase(node);
}

/* Returns the seconds of the list's nodes that run in the phase.  speed: of the
 * computation. */
static double pass_seconds(const struct mtlm_cost *cost,
                           const struct mtlm_list *list, enum mtlm_phase phase,
                           double speed)
{
    double seconds = 0;

    for (int i = 0; i < list->n; i++) {
        const struct mtlm_node *node = list->node[i];
        const enum mtlm_op_class class = mtlm_ops[node->call.kind]->op_class;

        if (phase_of(cost, node) != phase)
            continue;
        if (class == MTLM_CLASS_COMPUTE)
            seconds += mtlm_cost_seconds(cost, node) / speed;
        else if (class == MTLM_CLASS_COLLECTIVE)
            seconds += mtlm_cost_seconds(cost, node);
    }
    return seconds;
}

/* Adds the list's message to the next rank, if any.  Parts go at once. */
static void add_hop(const struct mtlm_cost *cost, const struct mtlm_list *list,
                    struct hops *hops)
{
    double longest = -1;

    for (int i = 0; i < list->n; i++)
        if (list->node[i]->call.kind == MTLM_OP_SEND)
            longest = fmax(longest, mtlm_cost_seconds(cost, list->node[i]));
    if (longest >= 0) {
        hops->seconds += longest;
        hops->n++;
    }
}

static void add_stage(const struct mtlm_cost *cost,
                      const struct mtlm_stage *stage, double speed,
                      struct mtlm_stage_times *times, struct hops *hops)
{
    const int k = stage->stage;

    times->forward[k] =
        pass_seconds(cost, &stage->forward, MTLM_PHASE_FORWARD, speed);
    times->backward[k] =
        pass_seconds(cost, &stage->backward, MTLM_PHASE_BACKWARD, speed)
        + pass_seconds(cost, &stage->weight, MTLM_PHASE_BACKWARD, speed);
    times->weight[k] =
        pass_seconds(cost, &stage->backward, MTLM_PHASE_WEIGHT, speed)
        + pass_seconds(cost, &stage->weight, MTLM_PHASE_WEIGHT, speed);
    add_hop(cost, &stage->forward, hops);
    add_hop(cost, &stage->backward, hops);
}

struct mtlm_stage_times mtlm_stage_cost_times(
    const struct mtlm_stage_cost *machine,
    const struct mtlm_program_config *config)
{
    const int stages = mtlm_layout_stages(&config->layout);
    const int each = config->layout.tp * config->layout.dp;
    struct mtlm_stage_times times = mtlm_stage_times_create(stages);
    struct hops hops = {0};

    for (int r = 0; r < config->layout.pp; r++) {
        const bool slow =
            machine->slow_rank >= 0 && machine->slow_rank / each == r;
        struct mtlm_program_config mine = *config;
        struct mtlm_program *program;
        struct mtlm_cost cost;

        mine.outline = true;
        mine.eval_only = false;
        mine.times = NULL;
        mine.order = NULL;
        mine.act_mem = 0; /* the times do not depend on windows */
        mine.window = 1;
        mtlm_layout_place(&mine.layout, r * each);
        program = mtlm_program_build(&mine);
        cost = mtlm_cost_create(machine->cluster, program);
        for (int c = 0; c < config->layout.virtual_stages; c++)
            add_stage(&cost, &program->stage[c], slow ? machine->speed : 1,
                      &times, &hops);
        mtlm_program_destroy(program);
    }
    for (int i = 0; i < 3 * stages; i++)
        times.forward[i] *= machine->stretch;
    if (hops.n > 0)
        times.hop = machine->stretch * hops.seconds / hops.n;
    return times;
}

void mtlm_stage_cost_take(const struct mtlm_stage_cost *machine,
                          struct mtlm_program_config *config,
                          struct mtlm_stage_times *times)
{
    *times = (struct mtlm_stage_times){0};
    if (!machine->cluster)
        return;
    *times = mtlm_stage_cost_times(machine, config);
    config->times = times;
}
