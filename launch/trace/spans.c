/* Sets of moments as disjoint spans in ascending order. */
#include "config.h"

#include <string.h>

#include "launch/trace/spans.h"
#include "runtime/base/memory.h"

static void make_room(struct mtlm_trace_spans *spans)
{
    spans->span = mtlm_make_room(spans->span, &spans->capacity, spans->n + 1,
                                 sizeof(*spans->span));
}

void mtlm_trace_spans_add(struct mtlm_trace_spans *spans, int64_t begin_ns,
                          int64_t end_ns)
{
    struct mtlm_trace_span *last = spans->n ? &spans->span[spans->n - 1] : NULL;

    if (last && begin_ns <= last->end_ns) {
        if (end_ns > last->end_ns)
            last->end_ns = end_ns;
        return;
    }
    make_room(spans);
    spans->span[spans->n++] = (struct mtlm_trace_span){begin_ns, end_ns};
}

void mtlm_trace_spans_insert(struct mtlm_trace_spans *spans, int64_t begin_ns,
                             int64_t end_ns)
{
    struct mtlm_trace_span new = {begin_ns, end_ns};
    size_t first = spans->n, after;

    while (first > 0 && spans->span[first - 1].end_ns >= begin_ns)
        first--;
    for (after = first;
         after < spans->n && spans->span[after].begin_ns <= end_ns; after++) {
        if (new.begin_ns > spans->span[after].begin_ns)
            new.begin_ns = spans->span[after].begin_ns;
        if (new.end_ns < spans->span[after].end_ns)
            new.end_ns = spans->span[after].end_ns;
    }
    make_room(spans);
    memmove(spans->span + first + 1, spans->span + after,
            (spans->n - after) * sizeof(*spans->span));
    spans->span[first] = new;
    spans->n += 1 - (after - first);
}

int64_t mtlm_trace_spans_length(const struct mtlm_trace_spans *spans)
{
    int64_t length = 0;

    for (size_t i = 0; i < spans->n; i++)
        length += spans->span[i].end_ns - spans->span[i].begin_ns;
    return length;
}

static struct mtlm_trace_span intersect_spans(struct mtlm_trace_span a,
                                              struct mtlm_trace_span b)
{
    return (struct mtlm_trace_span){
        a.begin_ns > b.begin_ns ? a.begin_ns : b.begin_ns,
        a.end_ns < b.end_ns ? a.end_ns : b.end_ns,
    };
}

/* Returns the index of the first span that ends after ns; n: none. */
static size_t first_after(const struct mtlm_trace_spans *spans, int64_t ns)
{
    size_t low = 0, high = spans->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (spans->span[middle].end_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t mtlm_trace_spans_inside(const struct mtlm_trace_spans *spans,
                                int64_t begin_ns, int64_t end_ns)
{
    const struct mtlm_trace_span a = {begin_ns, end_ns};
    int64_t length = 0;

    for (size_t i = first_after(spans, begin_ns);
         i < spans->n && spans->span[i].begin_ns < end_ns; i++) {
        const struct mtlm_trace_span c = intersect_spans(a, spans->span[i]);

        if (c.begin_ns < c.end_ns)
            length += c.end_ns - c.begin_ns;
    }
    return length;
}

struct mtlm_trace_spans mtlm_trace_spans_intersect(
    const struct mtlm_trace_spans *a, const struct mtlm_trace_spans *b)
{
    struct mtlm_trace_spans result = {0};
    size_t i = 0, j = 0;

    while (i < a->n && j < b->n) {
        const struct mtlm_trace_span c =
            intersect_spans(a->span[i], b->span[j]);

        if (c.begin_ns < c.end_ns)
            mtlm_trace_spans_add(&result, c.begin_ns, c.end_ns);
        if (a->span[i].end_ns < b->span[j].end_ns)
            i++;
        else
            j++;
    }
    return result;
}
