/* The programs of a folded job, their memory and their evaluation. */

#include "config.h"

#include <math.h>
#include <string.h>

#include "graph/predict/hold.h"
#include "graph/predict/outline.h"
#include "launch/simulate/folded_run.h"
#include "runtime/base/memory.h"
#include "runtime/machine/plugin.h"

struct mtlm_folded_run mtlm_folded_run_create(
    const struct mtlm_program_config *config,
    const struct mtlm_cluster *cluster)
{
    return (struct mtlm_folded_run){
        .cluster = cluster,
        .programs = mtlm_pipeline_programs_create(config, cluster),
        .policy = mtlm_plugin_wanted()};
}

void mtlm_folded_run_add_noise(struct mtlm_folded_run *run,
                               const struct mtlm_noise *noise, uint64_t seed)
{
    run->programs.draws =
        (struct mtlm_noise_draws){.noise = noise, .seed = seed};
}

double mtlm_folded_run_memory(const struct mtlm_folded_run *run)
{
    double most = 0;

    for (int i = 0; i < run->programs.n; i++) {
        const struct mtlm_plan plan = mtlm_plan(run->programs.program[i], 0);

        most = fmax(most, mtlm_plan_gpu_bytes(&plan));
    }
    return most;
}

double mtlm_folded_run_host_memory(const struct mtlm_folded_run *run,
                                   int per_host)
{
    const struct mtlm_pipeline_programs *p = &run->programs;
    struct mtlm_outline outline = {
        .layout = p->program[0]->config.layout,
        .plan = mtlm_calloc(p->n, sizeof(*outline.plan))};
    double bytes;

    for (int i = 0; i < p->n; i++)
        outline.plan[i] = mtlm_plan(p->program[i], 0);
    bytes = mtlm_outline_host_bytes(&outline, per_host);
    mtlm_outline_destroy(&outline);
    return bytes;
}

bool mtlm_folded_run_chains(const struct mtlm_folded_run *run)
{
    return run->cluster->profile && !run->cluster->overlaps;
}

struct mtlm_evaluate_program mtlm_folded_run_job(struct mtlm_folded_run *run,
                                                 bool serial)
{
    struct mtlm_evaluate_program job =
        mtlm_pipeline_programs_job(&run->programs, run->hold);

    if (mtlm_folded_run_chains(run))
        job.chained = mtlm_pipeline_programs_chained;
    if (serial)
        job.turns = MTLM_TURNS_ALL;
    return job;
}

/* Returns the share of a task that workers wait for others under the run's
 * policy. */
static double hold_of(const struct mtlm_folded_run *run)
{
    const struct mtlm_program_config *config =
        &run->programs.program[0]->config;

    if (strcmp(run->policy, MTLM_HOLD_POLICY) != 0 || !mtlm_plugin_may_hold())
        return 0;
    if (config->layout.pp == 1)
        return mtlm_hold_alone(config);
    if (mtlm_program_is_chained(config))
        return 0;
    return mtlm_hold_choose_program(
        config,
        &(struct mtlm_stage_cost){.cluster = run->cluster, .slow_rank = -1});
}

/* Evaluates the replicas, whose noise differs, and keeps the slowest one.  The
 * others wait for it at the sum of gradients. */
static void evaluate_replicas(struct mtlm_folded_run *run, bool serial)
{
    const int replicas = run->programs.program[0]->config.layout.dp;
    int slowest = 0;

    for (int r = 0; r < replicas; r++) {
        struct mtlm_evaluate_program job;
        struct mtlm_execution execution;

        run->programs.draws.replica = r;
        job = mtlm_folded_run_job(run, serial);
        execution = mtlm_evaluate_program(&job);
        if (r == 0 || execution.makespan_ns > run->execution.makespan_ns) {
            mtlm_execution_free(&run->execution);
            run->execution = execution;
            slowest = r;
        } else {
            mtlm_execution_free(&execution);
        }
    }
    run->programs.draws.replica = slowest;
}

void mtlm_folded_run_evaluate(struct mtlm_folded_run *run, bool serial)
{
    struct mtlm_evaluate_program job;

    if (!run->hold_given)
        run->hold = hold_of(run);
    if (run->programs.draws.noise) {
        evaluate_replicas(run, serial);
        return;
    }
    job = mtlm_folded_run_job(run, serial);
    run->execution = mtlm_evaluate_program(&job);
}

bool mtlm_folded_run_is_exact(const struct mtlm_folded_run *run)
{
    const struct mtlm_layout *l = &run->programs.program[0]->config.layout;
    const int64_t devices = run->cluster->devices;
    const int64_t stage = (int64_t) l->tp * l->dp;

    return mtlm_message_cost_is_alike(run->cluster, l)
           && (devices == 0 || mtlm_layout_ranks(l) <= devices
               || stage >= devices || devices % stage == 0);
}

void mtlm_folded_run_free(struct mtlm_folded_run *run)
{
    mtlm_execution_free(&run->execution);
    mtlm_pipeline_programs_free(&run->programs);
}
