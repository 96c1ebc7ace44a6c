/* Times of the stages in a running job: rank 0 takes the medians of all ranks'
 * records, and tells the others. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "launch/report/measured_times.h"
#include "launch/trace/stage_medians.h"
#include "runtime/base/memory.h"

/* Records travel as numbers. */
enum { NUMBERS = sizeof(struct mtlm_record) / sizeof(int64_t) };
_Static_assert(NUMBERS * sizeof(int64_t) == sizeof(struct mtlm_record),
               "a record is a whole count of numbers");

/* Returns the records of F, B and W and their messages from `first` on, by rank
 * 0's clock.  The caller frees them. */
static struct mtlm_record *own_records(const struct mtlm_job *job,
                                       int64_t first, size_t *n)
{
    size_t all;
    struct mtlm_record *record = mtlm_recorder_copy(job->recorder, first, &all);

    *n = 0;
    for (size_t i = 0; i < all; i++) {
        struct mtlm_record r = record[i];

        if (r.phase > MTLM_PHASE_WEIGHT)
            continue;
        r.start_ns += mtlm_clock_offset(&job->clock_offsets, r.start_ns);
        r.end_ns += mtlm_clock_offset(&job->clock_offsets, r.end_ns);
        record[(*n)++] = r;
    }
    return record;
}

/* Sends the records [*n] to rank 0.  On rank 0, appends those of the others to
 * *record and *n. */
static void gather_records(struct mtlm_ranks *ranks,
                           struct mtlm_record **record, size_t *n)
{
    const bool collects = mtlm_ranks_rank(ranks) == 0;
    const int peers = collects ? mtlm_ranks_size(ranks) - 1 : 1;
    struct mtlm_swap *swap = mtlm_calloc(peers, sizeof(*swap));

    for (int i = 0; i < peers; i++)
        swap[i].peer = collects ? i + 1 : 0;
    if (!collects) {
        swap[0].out = (int64_t *) *record;
        swap[0].n_out = (int64_t) *n * NUMBERS;
    }
    mtlm_ranks_swap(ranks, swap, peers);
    for (int i = 0; i < peers; i++) {
        const size_t more = swap[i].n_in / NUMBERS;

        *record = mtlm_realloc(*record, *n + more + 1, sizeof(**record));
        memcpy(*record + *n, swap[i].in, more * sizeof(**record));
        *n += more;
        free(swap[i].in);
    }
    free(swap);
}

static void take_medians(const struct mtlm_job *job,
                         const struct mtlm_record *record, size_t n,
                         struct mtlm_measured_times *times)
{
    const struct mtlm_trace_info info = {.ranks = mtlm_ranks_size(job->ranks)};
    const int stages = mtlm_layout_stages(&job->layout);
    struct mtlm_trace_records *records =
        mtlm_trace_records_create(record, n, &info);

    times->stage = mtlm_trace_stage_medians(records, stages);
    times->in_layers = mtlm_trace_layer_medians(records, stages);
    mtlm_trace_records_destroy(records);
}

/* Gives all ranks the times of rank 0; the others' are 0. */
static void share_times(struct mtlm_ranks *ranks,
                        struct mtlm_stage_times *times)
{
    mtlm_ranks_max_all(ranks, times->forward, 3 * times->stages);
    mtlm_ranks_max_all(ranks, &times->hop, 1);
}

int mtlm_measured_times(struct mtlm_job *job, int64_t first,
                        struct mtlm_measured_times *times,
                        struct mtlm_error *err)
{
    const int stages = mtlm_layout_stages(&job->layout);
    size_t n;
    struct mtlm_record *record = own_records(job, first, &n);

    gather_records(job->ranks, &record, &n);
    if (mtlm_ranks_rank(job->ranks) == 0)
        take_medians(job, record, n, times);
    else
        *times = (struct mtlm_measured_times){mtlm_stage_times_create(stages),
                                              mtlm_stage_times_create(stages)};
    free(record);
    share_times(job->ranks, &times->stage);
    share_times(job->ranks, &times->in_layers);
    /* Layers may move unless their stages are given. */
    if (mtlm_trace_stage_medians_check(&times->stage, err) == 0
        && (mtlm_options_given(&job->options, MTLM_OPT_STAGE_LAYERS)
            || mtlm_trace_stage_medians_check(&times->in_layers, err) == 0))
        return 0;
    mtlm_stage_times_free(&times->stage);
    mtlm_stage_times_free(&times->in_layers);
    return -1;
}
