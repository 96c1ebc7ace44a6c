/* Quantities of a job that several subfolders read: microbatches, and the share
 * of a core that the communication thread takes. */
#include "config.h"

#include "launch/job/job.h"
#include "launch/job/job_offload.h"
#include "runtime/base/clock.h"

int64_t mtlm_job_microbatches_in(const struct mtlm_job *job, int64_t batch)
{
    return batch / (job->options.micro_batch_size * job->layout.dp);
}

int64_t mtlm_job_microbatches(const struct mtlm_job *job)
{
    return mtlm_job_microbatches_in(job, job->options.global_batch_size);
}

int64_t mtlm_job_microbatches_traced(const struct mtlm_job *job)
{
    const struct mtlm_ramp *ramp = &job->options.ramp;
    struct mtlm_ramp_place place = mtlm_ramp_begin(ramp);

    while (place.iteration + 1 < job->options.trace_iterations.last
           && place.batch < ramp->full)
        mtlm_ramp_next(ramp, &place);
    return mtlm_job_microbatches_in(job, place.batch);
}

bool mtlm_job_traces(const struct mtlm_job *job)
{
    return job->options.trace_dir || job->options.cluster_file;
}

bool mtlm_job_records(const struct mtlm_job *job, int64_t iteration)
{
    const struct mtlm_range *traced = &job->options.trace_iterations;

    return mtlm_job_traces(job) && iteration + 1 >= traced->first
           && iteration + 1 <= traced->last;
}

void mtlm_job_watch_engine(struct mtlm_job *job)
{
    job->engine_seconds = mtlm_engine_cpu_seconds(job->engine);
    job->engine_since_ns = mtlm_now_ns();
}

void mtlm_job_stop_engine(struct mtlm_job *job)
{
    if (!job->engine)
        return;
    mtlm_run_wait(job->run);
    if (job->engine_since_ns)
        job->engine_share =
            (mtlm_engine_cpu_seconds(job->engine) - job->engine_seconds) * 1e9
            / (mtlm_now_ns() - job->engine_since_ns);
    mtlm_job_offload_stop(job);
    mtlm_engine_stop(job->engine);
    job->engine = NULL;
}
