/* The iterations of a run, and those that the run traces or disturbs. */

#include "config.h"

#include <inttypes.h>

#include "launch/options/options_note.h"
#include "launch/options/options_trace.h"
#include "runtime/base/least.h"

int64_t mtlm_options_last_iteration(const struct mtlm_options *o, int64_t begin)
{
    const int64_t every = o->exit_interval;
    const int64_t next = every > 0 ? (begin / every + 1) * every : 0;

    if (next > 0 && next < o->train_iters)
        return next;
    return o->train_iters > begin ? o->train_iters : begin;
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

void mtlm_options_note_nan(struct mtlm_options *options, int64_t begin)
{
    const int64_t last = mtlm_options_last_iteration(options, begin);
    const int64_t nan = options->inject_nan;

    if (nan > 0 && (nan <= begin || nan > last))
        mtlm_options_note(options,
                          "--inject-nan %" PRId64
                          " is without effect: the run begins after iteration "
                          "%" PRId64 " and ends with %" PRId64,
                          nan, begin, last);
}
