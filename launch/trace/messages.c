/* Matches the nodes of one message by their numbers. */
#include "config.h"

#include <stdlib.h>

#include "codelets/op_list.h"
#include "launch/trace/messages.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

enum { KEYS = 4 };

static int compare_keys(const struct mtlm_trace_end *a,
                        const struct mtlm_trace_end *b)
{
    int c = 0;

    for (int i = 0; i < KEYS && !c; i++)
        c = mtlm_compare(a->key[i], b->key[i]);
    return c;
}

static int by_message(const void *pa, const void *pb)
{
    const struct mtlm_trace_end *a = pa, *b = pb;
    const int c = compare_keys(a, b);

    return c ? c : mtlm_compare(a->record->rank, b->record->rank);
}

static struct mtlm_trace_end end_of(const struct mtlm_record *r)
{
    const bool send = r->op == MTLM_OP_SEND;

    if (r->group >= 0)
        return (struct mtlm_trace_end){{r->group, r->group_root, 0, r->match},
                                       r};
    return (struct mtlm_trace_end){
        {-1, send ? r->rank : r->peer, send ? r->peer : r->rank, r->match}, r};
}

struct mtlm_trace_end *mtlm_trace_ends_create(const struct mtlm_record *record,
                                              size_t n, size_t *n_ends)
{
    struct mtlm_trace_end *end = mtlm_calloc(n, sizeof(*end));

    *n_ends = 0;
    for (size_t i = 0; i < n; i++)
        if (record[i].match >= 0)
            end[(*n_ends)++] = end_of(&record[i]);
    if (*n_ends)
        qsort(end, *n_ends, sizeof(*end), by_message);
    return end;
}

bool mtlm_trace_same_message(const struct mtlm_record *a,
                             const struct mtlm_record *b)
{
    const struct mtlm_trace_end one = end_of(a), other = end_of(b);

    return a->match >= 0 && !compare_keys(&one, &other);
}

size_t mtlm_trace_ends_next(const struct mtlm_trace_end *end, size_t n_ends,
                            size_t first)
{
    size_t next = first + 1;

    while (next < n_ends && !compare_keys(&end[first], &end[next]))
        next++;
    return next;
}

int64_t *mtlm_trace_meetings(const struct mtlm_record *record, size_t n)
{
    int64_t *met = mtlm_calloc(n, sizeof(*met));
    size_t n_ends;
    struct mtlm_trace_end *end = mtlm_trace_ends_create(record, n, &n_ends);

    for (size_t i = 0; i < n; i++)
        met[i] = record[i].start_ns;
    for (size_t i = 0, next; i < n_ends; i = next) {
        int64_t last = INT64_MIN;

        next = mtlm_trace_ends_next(end, n_ends, i);
        for (size_t k = i; k < next; k++)
            if (last < end[k].record->start_ns)
                last = end[k].record->start_ns;
        /* Clocks of different ranks agree to about 1 us only. */
        for (size_t k = i; k < next; k++)
            met[end[k].record - record] =
                last < end[k].record->end_ns ? last : end[k].record->end_ns;
    }
    free(end);
    return met;
}
