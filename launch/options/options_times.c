/* --stage-times, --durations: the times by which a schedule is chosen. */

#include "config.h"

#include "launch/options/options_times.h"
#include "launch/options/stage_times_file.h"
#include "launch/trace/read/read_times.h"

int mtlm_options_times_resolve(struct mtlm_options *options,
                               struct mtlm_error *err)
{
    struct mtlm_options *o = options;

    if (!o->stage_times && !o->durations)
        return 0;
    if (o->stage_times && o->durations)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--stage-times and --durations both say how long "
                              "F, B and W take; give one of them");
    mtlm_stage_times_free(&o->times);
    if (o->stage_times)
        return mtlm_stage_times_file_read(&o->times, o->stage_times, err);
    if (mtlm_trace_read_times(o->durations, &o->times, err) == 0)
        return 0;
    err->code = MTLM_EXIT_USAGE;
    return mtlm_error_prefix(err, "--durations");
}
