/* Sums up the records of each operation and class. */
#include "config.h"

#include <stdlib.h>

#include "codelets/op_list.h"
#include "launch/trace/operations.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

struct call {
    int op;
    int64_t ns;
};

static int by_op_and_time(const void *pa, const void *pb)
{
    const struct call *a = pa, *b = pb;

    return a->op != b->op ? a->op - b->op : mtlm_compare(a->ns, b->ns);
}

static int most_time_first(const void *pa, const void *pb)
{
    const struct mtlm_trace_op *a = pa, *b = pb;
    const int c = mtlm_compare(b->total_ns, a->total_ns);

    return c ? c : a->op - b->op;
}

void mtlm_trace_find_ops(const struct mtlm_trace_records *records,
                         struct mtlm_trace_summary *summary)
{
    struct mtlm_trace_op all[MTLM_OP_COUNT] = {0};
    struct call *call = mtlm_calloc(records->n, sizeof(*call));
    size_t first = 0;

    for (size_t i = 0; i < records->n; i++) {
        const struct mtlm_record *r = &records->record[i];

        call[i] = (struct call){r->op, r->end_ns - r->start_ns};
        all[r->op].count++;
        all[r->op].total_ns += call[i].ns;
        all[r->op].flops += r->flops;
        all[r->op].bytes += r->bytes;
    }
    if (records->n)
        qsort(call, records->n, sizeof(*call), by_op_and_time);
    summary->op = mtlm_calloc(MTLM_OP_COUNT, sizeof(*summary->op));
    for (int op = 0; op < MTLM_OP_COUNT; op++) {
        struct mtlm_trace_op *o = &all[op];

        if (!o->count)
            continue;
        o->op = op;
        o->mean_ns = (double) o->total_ns / o->count;
        o->p50_ns = call[first + (o->count - 1) / 2].ns;
        if (o->total_ns)
            o->gflops = o->flops / o->total_ns;
        first += o->count;
        summary->op[summary->n_ops++] = *o;
    }
    qsort(summary->op, summary->n_ops, sizeof(*summary->op), most_time_first);
    free(call);
}

void mtlm_trace_find_classes(const struct mtlm_trace_records *records,
                             const struct mtlm_trace_spans *window,
                             struct mtlm_trace_summary *summary)
{
    for (size_t i = 0; i < records->n; i++) {
        const struct mtlm_record *r = &records->record[i];
        struct mtlm_trace_class_time *c = &summary->class[mtlm_trace_class(r)];
        const int64_t ns =
            mtlm_trace_spans_inside(&window[r->rank], r->start_ns, r->end_ns);

        if (ns <= 0
            || (r->lane == MTLM_LANE_COMPUTE
                && !mtlm_trace_is_busy(records, r)))
            continue;
        c->count++;
        c->ns += ns;
        c->total_ns += r->end_ns - r->start_ns;
        c->flops += r->flops;
        c->bytes += r->bytes;
    }
}
