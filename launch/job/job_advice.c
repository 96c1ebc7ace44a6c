/* Advice for the policy, by evaluation of the job's programs. */

#include "config.h"

#include "graph/predict/hold.h"
#include "launch/job/job_advice.h"
#include "launch/options/options_synthetic.h"
#include "runtime/comm/policy_nodes.h"

void mtlm_job_advise_policy(const struct mtlm_job *job)
{
    const struct mtlm_program_config *config = &job->program->config;
    struct mtlm_stage_cost machine;
    struct mtlm_policy_advice advice = {0};

    if (!mtlm_policy_nodes_wanted() || config->layout.pp == 1
        || config->eval_only)
        return;
    if (!mtlm_program_is_chained(config)) {
        machine = mtlm_options_machine(
            &job->options, job->options.cluster_file ? &job->cluster : NULL);
        advice.share = mtlm_hold_choose_program(config, &machine);
        advice.leaves_backward = job->program->place != NULL;
    }
    mtlm_policy_nodes_advise(&advice);
}
