/* Names, labels, colours and uses of a node. */
#include "config.h"

#include <assert.h>
#include <inttypes.h>

#include <xxhash.h>

#include "launch/trace/node.h"
#include "launch/trace/palette.h"
#include "runtime/base/least.h"

void mtlm_trace_put_id(FILE *f, int rank, int64_t number)
{
    fprintf(f, "%d_%" PRId64, rank, number);
}

void mtlm_trace_put_label(FILE *f, const struct mtlm_record *r)
{
    const enum mtlm_trace_class class = mtlm_trace_class(r);

    fputs(mtlm_trace_class_name(class), f);
    if (r->microbatch >= 0)
        fprintf(f, "%d", r->microbatch);
    if (class == MTLM_TRACE_SEND)
        fprintf(f, " to %d", r->peer);
    else if (class == MTLM_TRACE_RECV)
        fprintf(f, " from %d", r->peer);
    else if (r->layer >= 0)
        fprintf(f, " L%d", r->layer);
    else
        fprintf(f, " %s", mtlm_trace_op_name(r));
}

uint32_t mtlm_trace_footprint(const struct mtlm_record *r)
{
    const double size[] = {r->op, r->flops, r->bytes};

    return XXH32(size, sizeof(size), 0);
}

/* Returns the index of r's first entry in a list [n] sorted by rank and job.
 * before: whether entry i belongs to an earlier node than r. */
static size_t first_of(size_t n, const struct mtlm_record *r,
                       bool (*before)(const void *list, size_t i,
                                      const struct mtlm_record *r),
                       const void *list)
{
    size_t low = 0;

    while (low < n) {
        const size_t middle = low + (n - low) / 2;

        if (before(list, middle, r))
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

static bool use_before(const void *list, size_t i, const struct mtlm_record *r)
{
    const struct mtlm_trace_use *use = list;

    return use[i].rank < r->rank
           || (use[i].rank == r->rank && use[i].job < r->job);
}

static bool edge_before(const void *list, size_t i, const struct mtlm_record *r)
{
    const struct mtlm_trace_edge *edge = list;

    return edge[i].rank < r->rank
           || (edge[i].rank == r->rank && edge[i].job < r->job);
}

const struct mtlm_trace_use *mtlm_trace_uses(const struct mtlm_trace_info *info,
                                             const struct mtlm_record *r,
                                             size_t *n)
{
    const size_t first = first_of(info->n_uses, r, use_before, info->use);
    size_t end = first;

    while (end < info->n_uses && info->use[end].rank == r->rank
           && info->use[end].job == r->job)
        end++;
    *n = end - first;
    return info->use + first;
}

const struct mtlm_trace_edge *mtlm_trace_edges(
    const struct mtlm_trace_info *info, const struct mtlm_record *r, size_t *n)
{
    const size_t first = first_of(info->n_edges, r, edge_before, info->edge);
    size_t end = first;

    while (end < info->n_edges && info->edge[end].rank == r->rank
           && info->edge[end].job == r->job)
        end++;
    *n = end - first;
    return info->edge + first;
}

const struct mtlm_record_data *mtlm_trace_used(
    const struct mtlm_trace_info *info, const struct mtlm_trace_use *use)
{
    size_t low = 0, n = info->n_data;

    while (low < n) {
        const size_t middle = low + (n - low) / 2;
        const struct mtlm_trace_data *d = &info->data[middle];

        if (d->rank < use->rank
            || (d->rank == use->rank && d->data < use->data))
            low = middle + 1;
        else
            n = middle;
    }
    assert(low < info->n_data && info->data[low].data == use->data);
    return &info->data[low].what;
}

const char *mtlm_trace_device(const struct mtlm_trace_info *info, int rank,
                              int worker)
{
    size_t low = 0, n = info->n_workers;

    while (low < n) {
        const size_t middle = low + (n - low) / 2;
        const struct mtlm_trace_worker *w = &info->worker[middle];

        if (w->rank < rank || (w->rank == rank && w->worker < worker))
            low = middle + 1;
        else
            n = middle;
    }
    return low < info->n_workers && info->worker[low].rank == rank
                   && info->worker[low].worker == worker
               ? info->worker[low].device
               : NULL;
}

int64_t mtlm_trace_first_ns(const struct mtlm_trace_records *records)
{
    int64_t first = records->n ? records->record[0].start_ns : 0;

    for (size_t i = 0; i < records->n; i++) {
        const struct mtlm_record *r = &records->record[i];

        first = mtlm_least(first, mtlm_least(r->submit_ns, r->ready_ns));
        first = mtlm_least(first, r->start_ns);
    }
    return first;
}

static enum mtlm_trace_kind kind_of(const struct mtlm_record *r)
{
    const struct mtlm_trace_box box = {.class = mtlm_trace_class(r),
                                       .host = mtlm_trace_is_host(r)};

    return mtlm_trace_kind(&box, r->lane);
}

void mtlm_trace_op_colors(const struct mtlm_trace_records *records,
                          uint32_t color[MTLM_OP_COUNT])
{
    const struct mtlm_record *first[MTLM_OP_COUNT] = {0};
    int shades[MTLM_KIND_COUNT] = {0}, shade[MTLM_KIND_COUNT] = {0};

    for (size_t i = 0; i < records->n; i++) {
        const struct mtlm_record *r = &records->record[i];

        if (!first[r->op]
            || mtlm_trace_class(r) < mtlm_trace_class(first[r->op]))
            first[r->op] = r;
    }
    for (int op = 0; op < MTLM_OP_COUNT; op++)
        if (first[op])
            shades[kind_of(first[op])]++;
    for (int op = 0; op < MTLM_OP_COUNT; op++) {
        enum mtlm_trace_kind kind;

        color[op] = 0;
        if (!first[op])
            continue;
        kind = kind_of(first[op]);
        color[op] = mtlm_trace_kind_color(kind, shade[kind]++, shades[kind]);
    }
}
