/* The iterations of a run, and the iterations that the run traces. */

#include "config.h"

#include "launch/options/options_trace.h"
#include "runtime/base/least.h"

int64_t mtlm_options_last_iteration(const struct mtlm_options *o, int64_t begin)
{
    const int64_t every = o->exit_interval;
    const int64_t next = every > 0 ? (begin / every + 1) * every : 0;

    return next > 0 && next < o->train_iters ? next : o->train_iters;
}

void mtlm_options_trace_place(struct mtlm_options *options, int64_t begin)
{
    const int64_t last = mtlm_options_last_iteration(options, begin);
    struct mtlm_range *trace = &options->trace_iterations;

    if (mtlm_options_given(options, MTLM_OPT_TRACE_ITERATIONS))
        return;
    trace->last = mtlm_least(begin + 5, last);
    trace->first = mtlm_least(begin + 3, trace->last);
}
