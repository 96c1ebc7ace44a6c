/* Estimates the memory of a simulation from its tasks. */

#include "config.h"

#include <inttypes.h>
#include <limits.h>

#include "graph/predict/activation_memory.h"
#include "graph/predict/outline.h"
#include "launch/simulate/simulate_size.h"
#include "runtime/base/memory.h"
#include "runtime/base/units.h"

/* Bytes a task, measured: 250 to 330 by the evaluator, 500 with a trace or a
 * graph, 3800 under StarPU. */
enum { EVALUATED = 330, WRITTEN = 500, UNDER_STARPU = 3800 };

/* Edges have numbers of type int; a task has 3 to 5. */
enum { MOST_TASKS = INT_MAX / 8 };

static double bytes_of(const struct mtlm_options *o, double tasks)
{
    if (o->simulate_engine == MTLM_ENGINE_STARPU)
        return tasks * UNDER_STARPU;
    return tasks * (o->trace_dir || o->graph_out ? WRITTEN : EVALUATED);
}

double mtlm_simulate_size_tasks(const struct mtlm_program_config *config)
{
    struct mtlm_program_config measured = *config;
    struct mtlm_outline outline;
    double tasks = 0;

    mtlm_activation_memory_measure(&measured);
    outline = mtlm_outline_create(&measured, 0);
    for (int i = 0; i < config->layout.pp; i++)
        tasks += outline.plan[i].tasks;
    mtlm_outline_destroy(&outline);
    mtlm_activation_memory_free(&measured.activation);
    return tasks;
}

bool mtlm_simulate_size_evaluates(double tasks)
{
    return tasks <= MOST_TASKS && tasks * EVALUATED <= mtlm_memory_available();
}

bool mtlm_simulate_size_fits(const struct mtlm_options *options, double tasks)
{
    return tasks <= MOST_TASKS
           && bytes_of(options, tasks) <= mtlm_memory_available();
}

int mtlm_simulate_size_check(const struct mtlm_options *options,
                             const struct mtlm_program_config *config,
                             struct mtlm_error *err)
{
    static const char advice[] =
        "a smaller --global-batch-size, or a larger --micro-batch-size, makes "
        "fewer microbatches";
    const double tasks = mtlm_simulate_size_tasks(config);
    const double have = mtlm_memory_available();

    if (mtlm_simulate_size_fits(options, tasks))
        return 0;
    if (bytes_of(options, tasks) > have)
        return mtlm_error_set(
            err, MTLM_EXIT_RESOURCE,
            "an iteration of %" PRId64
            " microbatches has about %.3g tasks, whose simulation takes %.1f "
            "GiB, and this machine has %.1f GiB available; %s",
            config->microbatches, tasks, bytes_of(options, tasks) / MTLM_GIB,
            have / MTLM_GIB, advice);
    return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                          "an iteration of %" PRId64
                          " microbatches has about %.3g tasks, and a "
                          "simulation can have %d; %s",
                          config->microbatches, tasks, MOST_TASKS, advice);
}
