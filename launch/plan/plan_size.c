/* Estimates the memory of an evaluated schedule from its tasks. */

#include "config.h"

#include <inttypes.h>
#include <limits.h>

#include "launch/plan/plan_size.h"
#include "runtime/base/memory.h"
#include "runtime/base/units.h"

/* Measured: 183 to 202.  Edges have numbers of type int; a task has 2 to 4. */
enum { BYTES_OF_TASK = 200, MOST_TASKS = INT_MAX / 8 };

int mtlm_plan_size_check(const struct mtlm_program_config *config, int pieces,
                         struct mtlm_error *err)
{
    const int stages = mtlm_layout_stages(&config->layout);
    const double tasks = 3.0 * pieces * stages * config->microbatches;
    const double have = mtlm_memory_available();

    if (tasks <= MOST_TASKS && tasks * BYTES_OF_TASK <= have)
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_RESOURCE,
        "a plan of %" PRId64
        " microbatches on %d stages evaluates %.3g tasks, which take %.1f GiB, "
        "and this machine has %.1f GiB available for at most %d tasks; a "
        "smaller --global-batch-size, or a larger --micro-batch-size, makes "
        "fewer microbatches",
        config->microbatches, stages, tasks, tasks * BYTES_OF_TASK / MTLM_GIB,
        have / MTLM_GIB, MOST_TASKS);
}
