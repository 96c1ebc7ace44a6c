/* Finds the middle of an iteration of many microbatches. */
#include "config.h"

#include <stdlib.h>

#include "launch/trace/export/cut.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

static int last_stage(const struct mtlm_trace_records *records)
{
    int last = -1;

    for (size_t i = 0; i < records->n; i++)
        if (records->record[i].stage > last)
            last = records->record[i].stage;
    return last;
}

/* Returns the sorted times of the phase on the stage, an end or a begin for
 * each microbatch; the caller frees the *n times. */
static int64_t *sorted_times(const struct mtlm_trace_records *records,
                             int microbatches, int stage, int phase, bool end,
                             size_t *n)
{
    int64_t *time = mtlm_calloc(microbatches, sizeof(*time));
    bool *known = mtlm_calloc(microbatches, sizeof(*known));

    for (size_t i = 0; i < records->n; i++) {
        const struct mtlm_record *r = &records->record[i];
        const int64_t t = end ? r->end_ns : r->start_ns;
        const int m = r->microbatch;

        if (r->phase != phase || r->stage != stage || m < 0
            || m >= microbatches)
            continue;
        if (!known[m] || (end ? t > time[m] : t < time[m]))
            time[m] = t;
        known[m] = true;
    }
    *n = 0;
    for (int m = 0; m < microbatches; m++)
        if (known[m])
            time[(*n)++] = time[m];
    free(known);
    qsort(time, *n, sizeof(*time), mtlm_compare_int64);
    return time;
}

struct mtlm_trace_span mtlm_cut_find(const struct mtlm_trace_records *records,
                                     const struct mtlm_trace_info *info)
{
    const int stage = last_stage(records), m = info->microbatches;
    struct mtlm_trace_span cut = {0, 0};
    int64_t *f, *b;
    size_t n_f, n_b;

    if (info->shown_first < 1 || info->shown_last < 1
        || info->shown_first + info->shown_last >= m)
        return cut;
    f = sorted_times(records, m, stage, MTLM_PHASE_FORWARD, true, &n_f);
    b = sorted_times(records, m, stage, MTLM_PHASE_BACKWARD, false, &n_b);
    if (n_f >= (size_t) info->shown_first && n_b >= (size_t) info->shown_last)
        cut = (struct mtlm_trace_span){f[info->shown_first - 1],
                                       b[n_b - info->shown_last]};
    free(f);
    free(b);
    return cut.begin_ns < cut.end_ns ? cut : (struct mtlm_trace_span){0, 0};
}

struct mtlm_trace_records *mtlm_cut_apply(
    const struct mtlm_trace_records *records,
    const struct mtlm_trace_info *info, struct mtlm_trace_span cut)
{
    struct mtlm_record *kept = mtlm_calloc(records->n, sizeof(*kept));
    struct mtlm_trace_records *result;
    size_t n = 0;

    for (size_t i = 0; i < records->n; i++)
        if (cut.begin_ns == cut.end_ns
            || records->record[i].start_ns < cut.begin_ns
            || records->record[i].end_ns > cut.end_ns)
            kept[n++] = records->record[i];
    result = mtlm_trace_records_create(kept, n, info);
    free(kept);
    return result;
}
