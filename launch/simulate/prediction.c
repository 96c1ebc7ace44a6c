/* Numbers of a simulated iteration: rates, utilisation, idle time, memory. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/predict/cost.h"
#include "graph/predict/published_memory.h"
#include "launch/simulate/prediction.h"
#include "launch/simulate/simulate_offload.h"

/* Sets FLOPs, FLOP/s and utilisation. */
static void count_flops(struct mtlm_prediction *p,
                        const struct mtlm_options *options, double again)
{
    const double seconds = p->iteration_s * p->ranks;

    p->model_flops =
        mtlm_model_flops(&options->model, options->global_batch_size);
    p->hardware_flops = p->model_flops + again;
    p->model_flop_per_s = p->model_flops / seconds;
    p->hardware_flop_per_s = p->hardware_flops / seconds;
    p->mfu = p->model_flop_per_s / p->peak_flop_per_s;
    p->hfu = p->hardware_flop_per_s / p->peak_flop_per_s;
}

/* Sets bubbles, and the idle time of the busiest rank. */
static void find_idle_time(struct mtlm_prediction *p,
                           const struct mtlm_folded_run *run)
{
    double *busy = mtlm_exposure_busy(&run->execution, p->folded);
    const double room = p->layout.workers * p->iteration_s;
    double all = 0;

    for (int i = 0; i < p->folded; i++)
        all += busy[i];
    p->busiest = mtlm_exposure_busiest(busy, p->folded);
    p->bubble = fmax(0, 1 - all / (p->folded * room));
    p->busiest_bubble = fmax(0, 1 - busy[p->busiest] / room);
    p->exposure = mtlm_exposure_find(&run->execution, p->busiest);
    free(busy);
}

/* Sets the floor of an iteration, and the bytes of the disk. */
static void count_work(struct mtlm_prediction *p,
                       const struct mtlm_folded_run *run)
{
    const struct mtlm_program *program = run->programs.program[p->busiest];

    p->products_s = mtlm_cost_product_flops(program) / p->peak_flop_per_s;
    p->loaded_bytes = program->offloaded.loaded_bytes;
    p->stored_bytes = program->offloaded.stored_bytes;
}

/* Sets the memory of the fullest device.  Returns the FLOPs of an iteration
 * that all ranks compute again. */
static double plan_ranks(struct mtlm_prediction *p,
                         const struct mtlm_folded_run *run)
{
    double again = 0;

    for (int i = 0; i < p->folded; i++) {
        const struct mtlm_plan plan = mtlm_plan(run->programs.program[i], 0);
        const double bytes = mtlm_plan_gpu_bytes(&plan);

        again += (double) p->layout.tp * p->layout.dp * plan.recompute_flops;
        if (bytes > p->memory_bytes) {
            p->memory_bytes = bytes;
            p->fullest = i;
        }
    }
    return again;
}

/* Ranks that share the memory of a host need it together.  The host has
 * memory_gb for each, even if --ignore-memory lets the job take more. */
static void plan_host(struct mtlm_prediction *p,
                      const struct mtlm_folded_run *run,
                      const struct mtlm_hosts *hosts)
{
    const double host = mtlm_simulate_offload_host_bytes(hosts, p->limit_bytes);

    if (hosts->gpus)
        return;
    p->memory_bytes = mtlm_folded_run_host_memory(run, hosts->per_host);
    p->fullest = -1;
    if (host > 0)
        p->limit_bytes = fmin(host, hosts->available);
    else
        p->limit_bytes = isinf(hosts->available) ? 0 : hosts->available;
}

/* Sets what the memory of published code is made of. */
static void name_memory(struct mtlm_prediction *p,
                        const struct mtlm_program_config *config)
{
    struct mtlm_program_config whole = *config;
    struct mtlm_published_state state;

    if (!config->profile)
        return;
    whole.recompute.granularity = MTLM_RECOMPUTE_NONE;
    p->kept_whole = mtlm_published_memory_text(&whole);
    state = mtlm_published_memory_state(config);
    p->kept = mtlm_published_memory_text(config);
    p->parameter_bytes = state.weight + state.gradient + state.optimizer;
}

struct mtlm_prediction mtlm_prediction_make(const struct mtlm_folded_run *run,
                                            const struct mtlm_options *options,
                                            const struct mtlm_cluster *cluster,
                                            const struct mtlm_hosts *hosts)
{
    const struct mtlm_program_config *config =
        &run->programs.program[0]->config;
    const double seconds = 1e-9 * run->execution.makespan_ns;
    struct mtlm_prediction p = {
        .layout = config->layout,
        .ranks = mtlm_layout_ranks(&config->layout),
        .micro_batch = config->micro_batch,
        .microbatches = config->microbatches,
        .folded = run->programs.n,
        .exact = mtlm_folded_run_is_exact(run),
        .nodes = run->execution.n,
        .policy = run->policy,
        .hold = run->hold,
        .evaluated_s = run->evaluated_s,
        .iteration_s = seconds,
        .samples_per_s = options->global_batch_size / seconds,
        .tokens_per_s =
            options->global_batch_size * options->model.seq_length / seconds,
        .peak_flop_per_s = cluster->flops_per_s > 0
                               ? cluster->flops_per_s * config->layout.workers
                               : NAN,
        .narrow_bytes =
            config->value == MTLM_REAL && !cluster->timed
                    && cluster->element_bytes < mtlm_dtype_bytes(MTLM_REAL)
                ? cluster->element_bytes
                : 0,
        .limit_bytes = cluster->memory_bytes,
        .devices = cluster->devices,
        .hosts = cluster->hosts,
        .timed = cluster->timed};

    count_flops(&p, options, plan_ranks(&p, run));
    plan_host(&p, run, hosts);
    find_idle_time(&p, run);
    count_work(&p, run);
    name_memory(&p, config);
    return p;
}
