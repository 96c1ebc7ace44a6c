/* --simulate-engine starpu: the evaluated tasks under a real policy. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "graph/predict/virtual_program.h"
#include "launch/plan/step.h"
#include "launch/simulate/starpu_run.h"

static void show_progress(void *arg, int64_t ended, int64_t all)
{
    char text[100];

    snprintf(text, sizeof(text), "%s: %" PRId64 " of %" PRId64 " tasks",
             (const char *) arg, ended, all);
    mtlm_step_show(text);
}

int mtlm_starpu_run(struct mtlm_folded_run *run, struct mtlm_error *err)
{
    const struct mtlm_evaluate_program job = mtlm_folded_run_job(run, false);
    const struct mtlm_virtual_config config = {.progress = show_progress,
                                               .clear = mtlm_step_clear,
                                               .arg = (void *) run->policy};
    struct mtlm_execution execution;
    char policy[64]; /* run->policy: mtlm_virtual_run() refuses others */

    if (mtlm_virtual_program(&job, &run->execution, &config, &execution, policy,
                             err)
        < 0)
        return -1;
    run->evaluated_s = 1e-9 * run->execution.makespan_ns;
    mtlm_execution_free(&run->execution);
    run->execution = execution;
    return 0;
}
