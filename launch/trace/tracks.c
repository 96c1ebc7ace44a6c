/* Divides overlapping records into tracks. */
#include "config.h"

#include <stdlib.h>

#include "launch/trace/tracks.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

/* A track while it is filled. */
struct filled {
    struct mtlm_trace_track track;
    int64_t free_ns; /* end of its last record */
    size_t made;     /* its number in order of creation */
};

static int by_place(const void *pa, const void *pb)
{
    const struct mtlm_trace_track *a = &((const struct filled *) pa)->track;
    const struct mtlm_trace_track *b = &((const struct filled *) pb)->track;

    if (a->rank != b->rank)
        return a->rank - b->rank;
    if ((a->worker < 0) != (b->worker < 0))
        return (a->worker < 0) - (b->worker < 0);
    if (a->lane != b->lane)
        return a->lane - b->lane;
    return a->worker != b->worker ? a->worker - b->worker
                                  : a->number - b->number;
}

static bool is_of(const struct mtlm_trace_track *track,
                  const struct mtlm_record *r)
{
    return track->lane == r->lane && track->worker == r->worker;
}

/* A record with its start, for sorting. */
struct begun {
    int64_t begin_ns;
    const struct mtlm_record *record;
};

static int by_begin(const void *pa, const void *pb)
{
    const struct begun *a = pa, *b = pb;
    const int c = mtlm_compare(a->begin_ns, b->begin_ns);

    return c ? c : mtlm_compare(a->record->end_ns, b->record->end_ns);
}

/* Index of a free track among the n of the rank; n: none. */
static size_t find_free(const struct filled *list, size_t n,
                        const struct begun *b, int *number)
{
    *number = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_of(&list[i].track, b->record))
            continue;
        if (list[i].free_ns <= b->begin_ns)
            return i;
        ++*number;
    }
    return n;
}

/* The rank's records [n] by begin; the caller frees them. */
static struct begun *sort_rank(const struct mtlm_trace_records *records,
                               const int64_t *begin_ns, int rank, size_t *n)
{
    const size_t first = records->first[rank];
    struct begun *list;

    *n = records->first[rank + 1] - first;
    list = mtlm_calloc(*n, sizeof(*list));
    for (size_t i = 0; i < *n; i++)
        list[i] =
            (struct begun){begin_ns[first + i], &records->record[first + i]};
    if (*n)
        qsort(list, *n, sizeof(*list), by_begin);
    return list;
}

struct mtlm_trace_tracks *mtlm_trace_tracks_create(
    const struct mtlm_trace_records *records, const int64_t *begin_ns)
{
    struct mtlm_trace_tracks *tracks = mtlm_calloc(1, sizeof(*tracks));
    struct filled *list = NULL;
    size_t n = 0, *place;

    tracks->of = mtlm_calloc(records->n, sizeof(*tracks->of));
    for (int rank = 0; rank < records->ranks; rank++) {
        const size_t first = n; /* of this rank's tracks */
        size_t here;
        struct begun *begun = sort_rank(records, begin_ns, rank, &here);

        for (size_t i = 0; i < here; i++) {
            const struct mtlm_record *r = begun[i].record;
            int number;
            const size_t at =
                first + find_free(list + first, n - first, &begun[i], &number);

            if (at == n) {
                list = mtlm_realloc(list, n + 1, sizeof(*list));
                list[n] = (struct filled){
                    {rank, r->lane, r->worker, number}, INT64_MIN, n};
                n++;
            }
            list[at].free_ns = r->end_ns;
            tracks->of[r - records->record] = at;
        }
        free(begun);
    }
    if (n)
        qsort(list, n, sizeof(*list), by_place);
    tracks->n_tracks = n;
    tracks->track = mtlm_calloc(n, sizeof(*tracks->track));
    place = mtlm_calloc(n, sizeof(*place));
    for (size_t k = 0; k < n; k++) {
        tracks->track[k] = list[k].track;
        place[list[k].made] = k;
    }
    for (size_t i = 0; i < records->n; i++)
        tracks->of[i] = place[tracks->of[i]];
    free(place);
    free(list);
    return tracks;
}

void mtlm_trace_tracks_destroy(struct mtlm_trace_tracks *tracks)
{
    if (!tracks)
        return;
    free(tracks->track);
    free(tracks->of);
    free(tracks);
}
