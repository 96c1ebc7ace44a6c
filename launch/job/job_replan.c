/* Decides whether the job makes its plan again, and after which iteration. */
#include "config.h"

#include <inttypes.h>

#include "launch/job/job_replan.h"
#include "launch/options/options_note.h"
#include "launch/options/options_schedule.h"
#include "launch/options/options_trace.h"
#include "runtime/base/plural.h"

/* Without the option: iterations before the second plan, the first of which
 * warms up; and how many times as many the run must have. */
enum { USUAL = 3, WORTH = 10 };

/* Iterations that are measured, at most: records stay in memory, and medians
 * need no more passes. */
enum { MEASURED = 8 };

/* Returns the iterations of the run. */
static int64_t iterations(const struct mtlm_job *job)
{
    const int64_t begin = job->begin.iteration;

    return mtlm_options_last_iteration(&job->options, begin) - begin;
}

static bool traces_before(const struct mtlm_job *job, int64_t n)
{
    return mtlm_job_traces(job)
           && mtlm_options_given(&job->options, MTLM_OPT_TRACE_ITERATIONS)
           && job->options.trace_iterations.first <= job->begin.iteration + n;
}

/* Returns whether a job without the option makes its plan again. */
static bool is_worth(const struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;

    return mtlm_options_schedule(o)->sizing == MTLM_SIZING_SEARCH
           && !o->schedule_file && o->times.stages == 0 && job->layout.pp > 1
           && iterations(job) >= WORTH * USUAL && !traces_before(job, USUAL);
}

static int decide_given(struct mtlm_job *job, struct mtlm_error *err)
{
    struct mtlm_options *o = &job->options;
    const int64_t n = o->replan_after;

    if (n > 0 && job->layout.pp == 1)
        mtlm_options_note(o, "--replan-after: without effect, the pipeline has "
                             "one rank");
    else if (n > 0 && iterations(job) <= n)
        mtlm_options_note(o,
                          "--replan-after %" PRId64 ": without effect, the run "
                          "has %" PRId64 " iteration%s",
                          n, iterations(job), mtlm_plural(iterations(job)));
    else if (n > 0 && traces_before(job, n))
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--trace-iterations %" PRId64 ":%" PRId64
            " begins before the second plan, which --replan-after %" PRId64
            " makes after iteration %" PRId64,
            o->trace_iterations.first, o->trace_iterations.last, n,
            job->begin.iteration + n);
    else
        job->replan_after = n;
    return 0;
}

int mtlm_job_replan_decide(struct mtlm_job *job, struct mtlm_error *err)
{
    struct mtlm_options *o = &job->options;

    if (o->eval_only || o->offload != MTLM_OFFLOAD_NONE)
        return 0;
    if (mtlm_options_given(o, MTLM_OPT_REPLAN_AFTER)) {
        if (decide_given(job, err) < 0)
            return -1;
    } else if (is_worth(job)) {
        job->replan_after = USUAL;
    }
    if (job->replan_after > 0)
        mtlm_options_trace_place(o, job->begin.iteration + job->replan_after);
    return 0;
}

int64_t mtlm_job_replan_first(const struct mtlm_job *job)
{
    const int64_t n = job->replan_after;
    const int64_t skipped = n > MEASURED ? n - MEASURED : n > 1;

    return job->begin.iteration + skipped;
}

bool mtlm_job_replan_measures(const struct mtlm_job *job, int64_t iteration)
{
    return iteration >= mtlm_job_replan_first(job)
           && iteration < job->begin.iteration + job->replan_after;
}

bool mtlm_job_replan_follows(const struct mtlm_job *job, int64_t iteration)
{
    return job->replan_after > 0
           && iteration + 1 == job->begin.iteration + job->replan_after;
}
