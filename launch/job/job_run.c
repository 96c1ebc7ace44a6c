/* Builds the program of this rank and creates its run. */
#include "config.h"

#include "graph/build/program_build.h"
#include "graph/build/stage.h"
#include "graph/predict/activation_memory.h"
#include "launch/job/job_advice.h"
#include "launch/job/job_run.h"
#include "launch/job/job_synthetic.h"
#include "launch/log/progress.h"
#include "runtime/base/memory.h"
#include "runtime/machine/environment.h"

int mtlm_job_run_build(struct mtlm_job *job, struct mtlm_error *err)
{
    struct mtlm_program_config config =
        mtlm_wish_config(&job->wish, job->layout.tp, job->layout.pp,
                         job->layout.dp, job->options.micro_batch_size);
    const double process_bytes =
        job->run ? job->plan.process_bytes : mtlm_memory_resident();

    config.layout = job->layout;
    config.train = &job->train.source;
    config.valid = &job->valid.source;
    config.decoding = job->decoding;
    mtlm_activation_memory_measure(&config);
    job->activation = config.activation;
    job->program = mtlm_program_build(&config);
    job->plan = mtlm_plan(job->program, process_bytes);
    job->synthetic = mtlm_job_synthetic_of_rank(job, job->program,
                                                mtlm_ranks_rank(job->ranks));
    if (mtlm_stage_check_tags(job->program, mtlm_ranks_max_tag(job->ranks), err)
            < 0
        || mtlm_plan_check_counts(&job->plan, err) < 0)
        return -1;
    return job->options.cluster_file || job->gpu >= 0
               ? 0
               : mtlm_environment_check_memory(job->plan.total_bytes, err);
}

void mtlm_job_run_free_program(struct mtlm_job *job)
{
    mtlm_program_destroy(job->program);
    job->program = NULL;
    mtlm_activation_memory_free(&job->activation);
}

void mtlm_job_run_create(struct mtlm_job *job,
                         const struct mtlm_ramp_place *begin)
{
    const struct mtlm_options *o = &job->options;
    const bool shows_progress =
        mtlm_ranks_rank(job->ranks) == 0 && !job->prompts;
    const bool planned =
        o->collective_order == MTLM_ORDER_PLANNED && !o->eval_only;

    if (planned)
        mtlm_collective_plan_create(&job->collective_plan, job->program,
                                    o->cluster_file ? &job->cluster : NULL,
                                    o->transport == MTLM_USE_SERIAL);
    mtlm_job_advise_policy(job);
    job->run = mtlm_run_create(&(struct mtlm_run_config){
        .program = job->program,
        .engine = job->engine,
        .pieces = job->offload,
        .io = job->io,
        .recorder = job->recorder,
        .rank = mtlm_ranks_rank(job->ranks),
        .workers = mtlm_job_computing_workers(job),
        .iteration = begin->iteration,
        .samples = begin->samples,
        .submitted = job->submitted_before,
        .max_tag = mtlm_ranks_max_tag(job->ranks),
        .done = shows_progress ? mtlm_progress_add : NULL,
        .synthetic = o->cluster_file ? &job->synthetic : NULL,
        .plan = planned ? &job->collective_plan : NULL});
    if (o->inject_nan > 0)
        mtlm_run_poison(job->run, o->inject_nan - 1);
}

void mtlm_job_run_destroy(struct mtlm_job *job)
{
    if (job->run) {
        job->submitted_before = mtlm_run_submitted(job->run);
        mtlm_run_destroy(job->run);
    }
    job->run = NULL;
    mtlm_collective_plan_destroy(&job->collective_plan);
    job->collective_plan = (struct mtlm_collective_plan){0};
}
