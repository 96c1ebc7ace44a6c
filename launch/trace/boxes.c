/* Merges consecutive operations into the boxes of the picture. */
#include "config.h"

#include <stdlib.h>

#include "launch/trace/boxes.h"
#include "runtime/base/memory.h"

/* A gap ends a box if the gap is longer than the box's busy time and than
 * LONG_GAP * gap_ns. */
enum { LONG_GAP = 8 };

/* Least number of alternating boxes of B and W that count as turns. */
enum { TURNS = 3 };

static void add_row(struct mtlm_trace_picture *picture, int rank, int lane,
                    int worker)
{
    picture->row =
        mtlm_realloc(picture->row, picture->n_rows + 1, sizeof(*picture->row));
    picture->row[picture->n_rows++] =
        (struct mtlm_trace_row){rank, lane, worker};
}

static void add_rows(struct mtlm_trace_picture *picture,
                     const struct mtlm_trace_records *records)
{
    bool used[MTLM_LANE_DISK + 1] = {false};

    for (size_t i = 0; i < records->n; i++)
        if (records->record[i].phase != MTLM_PHASE_INIT)
            used[records->record[i].lane] = true;
    for (int lane = MTLM_LANE_TP; lane <= MTLM_LANE_DISK; lane++)
        picture->lanes += used[lane];
    for (int rank = 0; rank < records->ranks; rank++) {
        const size_t first = records->first_worker[rank];
        const size_t end = records->first_worker[rank + 1];

        for (size_t w = first; w < end; w++)
            add_row(picture, rank, MTLM_LANE_COMPUTE, records->worker[w]);
        if (picture->max_workers < (int) (end - first))
            picture->max_workers = end - first;
        for (int lane = MTLM_LANE_TP; lane <= MTLM_LANE_DISK; lane++)
            if (used[lane])
                add_row(picture, rank, lane, -1);
    }
}

static struct mtlm_trace_box box_of(const struct mtlm_record *r,
                                    const struct mtlm_trace_info *info)
{
    struct mtlm_trace_box box = {
        .class = mtlm_trace_class(r),
        .host = mtlm_trace_is_host(r),
        .iteration = r->iteration,
        .microbatch = r->microbatch,
        .stage = r->stage,
        .chunk = mtlm_trace_chunk(info, r),
        .peer = r->peer,
        .op = r->op,
        .layer = r->layer,
        .ops = 0,
    };

    /* The optimizer's nodes form one box. */
    if (r->phase == MTLM_PHASE_OPTIMIZER)
        box.microbatch = box.stage = box.chunk = -1;
    return box;
}

static bool belongs(const struct mtlm_trace_box *a,
                    const struct mtlm_trace_box *b)
{
    return a->class == b->class && a->iteration == b->iteration
           && a->microbatch == b->microbatch && a->stage == b->stage
           && a->peer == b->peer;
}

static struct mtlm_trace_box *add_box(struct mtlm_trace_picture *picture,
                                      size_t *capacity,
                                      const struct mtlm_trace_box *box)
{
    picture->box = mtlm_make_room(picture->box, capacity, picture->n_boxes + 1,
                                  sizeof(*picture->box));
    picture->box[picture->n_boxes] = *box;
    return &picture->box[picture->n_boxes++];
}

static void extend(struct mtlm_trace_box *box,
                   const struct mtlm_trace_records *records, size_t i,
                   int64_t gap_ns)
{
    const struct mtlm_record *r = &records->record[i];
    int64_t begin = r->start_ns;

    if (!box->ops++) {
        box->begin_ns = begin;
        box->end_ns = r->end_ns;
    } else if (begin > box->end_ns && begin - box->end_ns < gap_ns) {
        begin = box->end_ns;
    }
    mtlm_trace_spans_add(&box->busy, begin, r->end_ns);
    box->busy_ns += r->end_ns - r->start_ns;
    if (r->lane != MTLM_LANE_COMPUTE) {
        box->bytes += r->bytes;
        box->wait_ns += records->met_ns[i] - records->issue_ns[i];
        box->transfer_ns += r->end_ns - records->met_ns[i];
        if (records->met_ns[i] < r->end_ns)
            mtlm_trace_spans_insert(&box->moving, records->met_ns[i],
                                    r->end_ns);
    }
    if (box->end_ns < r->end_ns)
        box->end_ns = r->end_ns;
}

/* Whether r is visible in the row between begin and end. */
static bool is_in(const struct mtlm_record *r, const struct mtlm_trace_row *row,
                  int64_t begin_ns, int64_t end_ns)
{
    return r->phase != MTLM_PHASE_INIT && r->lane == row->lane
           && (row->worker < 0 || r->worker == row->worker)
           && r->start_ns < end_ns && r->end_ns > begin_ns
           && r->start_ns < r->end_ns;
}

/* Returns whether the box is of nodes that end no other box. */
static bool is_aside(const struct mtlm_trace_box *box)
{
    return box->host || box->class == MTLM_TRACE_OPT;
}

/* Whether the new record r continues the box. */
static bool goes_on(const struct mtlm_trace_box *box,
                    const struct mtlm_trace_box *new,
                    const struct mtlm_record *r, int64_t gap_ns)
{
    const int64_t gap = r->start_ns - box->end_ns;

    return belongs(box, new)
           && (gap <= box->busy_ns || gap <= LONG_GAP * gap_ns);
}

/* Adds the boxes of row k. */
static void add_boxes(struct mtlm_trace_picture *picture, size_t *capacity,
                      const struct mtlm_trace_records *records,
                      const struct mtlm_trace_info *info, size_t k,
                      int64_t begin_ns, int64_t end_ns, int64_t gap_ns)
{
    const int rank = picture->row[k].rank;
    /* Open boxes: [0] the optimizer's, [1] the other nodes'.  Other nodes end
     * the optimizer's box; the optimizer ends no other box. */
    size_t grows[2] = {SIZE_MAX, SIZE_MAX};

    for (size_t i = records->first[rank]; i < records->first[rank + 1]; i++) {
        const struct mtlm_record *r = &records->record[i];
        struct mtlm_trace_box new, *box = NULL;
        size_t *mine;

        if (!is_in(r, &picture->row[k], begin_ns, end_ns))
            continue;
        new = box_of(r, info);
        new.row = k;
        mine = &grows[!is_aside(&new)];
        if (!is_aside(&new))
            grows[0] = SIZE_MAX;
        if (!info->svg_ops && !new.host &&*mine != SIZE_MAX
            && goes_on(&picture->box[*mine], &new, r, gap_ns))
            box = &picture->box[*mine];
        if (!box) {
            box = add_box(picture, capacity, &new);
            if (!new.host)
                *mine = picture->n_boxes - 1;
        }
        extend(box, records, i, gap_ns);
    }
}

/* Whether other boxes may alternate with the box: its nodes are of B or W. */
static bool may_take_turns(const struct mtlm_trace_box *box)
{
    return (box->class == MTLM_TRACE_B || box->class == MTLM_TRACE_W)
           && !box->host;
}

/* Whether b alternates with a: B and W of one microbatch. */
static bool takes_turns(const struct mtlm_trace_box *a,
                        const struct mtlm_trace_box *b, int64_t gap_ns)
{
    const int64_t gap = b->begin_ns - a->end_ns;

    return may_take_turns(a) && may_take_turns(b)
           && a->iteration == b->iteration && a->microbatch == b->microbatch
           && a->stage == b->stage
           && (gap <= a->busy_ns || gap <= LONG_GAP * gap_ns);
}

/* Merges the later box b into a. */
static void absorb(struct mtlm_trace_box *a, struct mtlm_trace_box *b,
                   int64_t gap_ns)
{
    for (size_t i = 0; i < b->busy.n; i++) {
        const struct mtlm_trace_span *s = &b->busy.span[i];
        const int64_t end = a->busy.span[a->busy.n - 1].end_ns;
        const bool seen = s->begin_ns - end >= gap_ns;

        mtlm_trace_spans_add(
            &a->busy, seen || s->begin_ns < end ? s->begin_ns : end, s->end_ns);
    }
    if (b->class == MTLM_TRACE_W)
        a->weight_ns += b->busy_ns;
    a->busy_ns += b->busy_ns;
    a->ops += b->ops;
    if (a->end_ns < b->end_ns)
        a->end_ns = b->end_ns;
    free(b->busy.span);
}

/* Counts the turns that begin at first in *turns; returns the end of the last
 * one. */
static size_t end_of_turns(const struct mtlm_trace_picture *picture,
                           size_t first, int64_t gap_ns, int *turns)
{
    size_t last = first;

    *turns = 1;
    if (!may_take_turns(&picture->box[first]))
        return first + 1; /* a row may have many boxes aside: look at none */
    for (size_t i = first + 1; i < picture->n_boxes; i++)
        if (takes_turns(&picture->box[last], &picture->box[i], gap_ns)) {
            last = i;
            ++*turns;
        } else if (!is_aside(&picture->box[i])) {
            break;
        }
    return last + 1;
}

/* Merges each run of turns from first on into one box. */
static void merge_turns(struct mtlm_trace_picture *picture, size_t first,
                        int64_t gap_ns)
{
    struct mtlm_trace_box *box = picture->box;
    size_t to = first;

    for (size_t i = first, end; i < picture->n_boxes; i = end) {
        struct mtlm_trace_box *whole = &box[to++];
        int turns;

        end = end_of_turns(picture, i, gap_ns, &turns);
        *whole = box[i];
        if (turns < TURNS) {
            end = i + 1;
            continue;
        }
        whole->weight_ns = whole->class == MTLM_TRACE_W ? whole->busy_ns : 0;
        whole->class = MTLM_TRACE_B;
        for (size_t k = i + 1; k < end; k++)
            if (is_aside(&box[k]))
                box[to++] = box[k];
            else
                absorb(whole, &box[k], gap_ns);
    }
    picture->n_boxes = to;
}

struct mtlm_trace_picture *mtlm_trace_picture_create(
    const struct mtlm_trace_records *records,
    const struct mtlm_trace_info *info, int64_t begin_ns, int64_t end_ns,
    int64_t gap_ns)
{
    struct mtlm_trace_picture *picture = mtlm_calloc(1, sizeof(*picture));
    size_t capacity = 0;

    add_rows(picture, records);
    for (size_t k = 0; k < picture->n_rows; k++) {
        const size_t first = picture->n_boxes;

        add_boxes(picture, &capacity, records, info, k, begin_ns, end_ns,
                  gap_ns);
        if (!info->svg_ops)
            merge_turns(picture, first, gap_ns);
    }
    return picture;
}

void mtlm_trace_picture_destroy(struct mtlm_trace_picture *picture)
{
    if (!picture)
        return;
    for (size_t i = 0; i < picture->n_boxes; i++) {
        free(picture->box[i].busy.span);
        free(picture->box[i].moving.span);
    }
    free(picture->box);
    free(picture->row);
    free(picture);
}
