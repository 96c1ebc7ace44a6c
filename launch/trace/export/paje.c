/* paje.trace, for ViTE, pj_dump and StarVZ: the states of workers and of lanes
 * of communication, and how many tasks were submitted and ready.
 *
 * Readers require lines in order of time, and times with equally many
 * decimals.  Times are in milliseconds from mtlm_trace_first_ns(). */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "launch/trace/export/paje_header.h"
#include "launch/trace/export/writer.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

/* Events of a record, in their order at equal times: the end of a node comes
 * before the begin of the next. */
enum what { END, SUBMIT, READY, BEGIN };

struct paje_event {
    int64_t ns;
    uint32_t record;
    uint32_t what;   /* enum what */
    int64_t then_ns; /* end of the record: of records that begin together, the
                      * shortest comes first */
};

/* Counters of a rank's scheduler. */
struct counts {
    int64_t submitted, ready;
};

struct paje {
    FILE *f;
    const struct mtlm_trace_info *info;
    const struct mtlm_trace_records *records;
    int64_t *begin_ns; /* [records->n] */
    struct mtlm_trace_tracks *tracks;
    /* Workers without a node. */
    struct mtlm_trace_track *idle; /* [n_idle] */
    size_t n_idle;
    int64_t first_ns, last_ns;
    struct counts *counts; /* [ranks] */
};

static void begin_line(const struct paje *p, enum mtlm_paje_event event,
                       int64_t ns)
{
    ns -= p->first_ns;
    fprintf(p->f, "%d\t%" PRId64 ".%06d\t", event, ns / 1000000,
            (int) (ns % 1000000));
}

/* ---- containers ---- */

static void create(const struct paje *p, const struct mtlm_trace_track *track)
{
    begin_line(p, MTLM_PAJE_CREATE, p->first_ns);
    mtlm_paje_header_put_track(p->f, p->info, track);
    fprintf(p->f, "\t%s\t", mtlm_paje_header_type(track));
    mtlm_paje_header_put_program(p->f, track->rank);
    putc('\t', p->f);
    mtlm_paje_header_put_track(p->f, p->info, track);
    putc('\n', p->f);
}

static void create_rank(const struct paje *p, int rank)
{
    begin_line(p, MTLM_PAJE_CREATE, p->first_ns);
    mtlm_paje_header_put_program(p->f, rank);
    fputs("\tP\tMPIroot\t", p->f);
    mtlm_paje_header_put_program(p->f, rank);
    putc('\n', p->f);
    begin_line(p, MTLM_PAJE_CREATE, p->first_ns);
    mtlm_paje_header_put_scheduler(p->f, rank);
    fputs("\tSc\t", p->f);
    mtlm_paje_header_put_program(p->f, rank);
    putc('\t', p->f);
    mtlm_paje_header_put_scheduler(p->f, rank);
    putc('\n', p->f);
}

static void put_destroy(const struct paje *p,
                        const struct mtlm_trace_track *track)
{
    begin_line(p, MTLM_PAJE_DESTROY, p->last_ns);
    mtlm_paje_header_put_track(p->f, p->info, track);
    fprintf(p->f, "\t%s\n", mtlm_paje_header_type(track));
}

static void destroy_rank(const struct paje *p, int rank)
{
    begin_line(p, MTLM_PAJE_DESTROY, p->last_ns);
    mtlm_paje_header_put_scheduler(p->f, rank);
    fputs("\tSc\n", p->f);
    begin_line(p, MTLM_PAJE_DESTROY, p->last_ns);
    mtlm_paje_header_put_program(p->f, rank);
    fputs("\tP\n", p->f);
}

/* ---- variables and states ---- */

static void set_count(const struct paje *p, int64_t ns, const char *variable,
                      int rank, int64_t value)
{
    begin_line(p, MTLM_PAJE_VARIABLE, ns);
    fprintf(p->f, "%s\t", variable);
    mtlm_paje_header_put_scheduler(p->f, rank);
    fprintf(p->f, "\t%" PRId64 ".000000\n", value);
}

static void set_gflops(const struct paje *p, int64_t ns,
                       const struct mtlm_trace_track *track, double gflops)
{
    if (track->lane != MTLM_LANE_COMPUTE)
        return;
    begin_line(p, MTLM_PAJE_VARIABLE, ns);
    fputs("gf\t", p->f);
    mtlm_paje_header_put_track(p->f, p->info, track);
    fprintf(p->f, "\t%.6f\n", gflops);
}

static void begin_state(const struct paje *p, enum mtlm_paje_event event,
                        int64_t ns, const struct mtlm_trace_track *track)
{
    begin_line(p, event, ns);
    fprintf(p->f, "%s\t", mtlm_paje_header_state_type(track));
    mtlm_paje_header_put_track(p->f, p->info, track);
    putc('\t', p->f);
}

static void set_idle(const struct paje *p, int64_t ns,
                     const struct mtlm_trace_track *track)
{
    begin_state(p, MTLM_PAJE_STATE, ns, track);
    fputs(track->lane == MTLM_LANE_COMPUTE ? "I\n" : "CI\n", p->f);
}

static void put_task(const struct paje *p, const struct mtlm_record *r)
{
    size_t uses;
    const struct mtlm_trace_use *use = mtlm_trace_uses(p->info, r, &uses);
    double bytes = 0;

    for (size_t i = 0; i < uses; i++)
        bytes += mtlm_trace_used(p->info, &use[i])->bytes;
    fprintf(p->f, "%s\t%.0f\t\"", mtlm_trace_op_name(r), bytes);
    mtlm_trace_put_label(p->f, r);
    fprintf(p->f, "\"\t%08x\t0\t", mtlm_trace_footprint(r));
    mtlm_trace_put_id(p->f, r->rank, r->job);
    fprintf(p->f, "\t%" PRId64 "\t%.6f\t%d\t%d\t%d\t%d\t-1\n", r->job,
            r->flops / 1e9, r->layer, r->microbatch, r->iteration + 1,
            r->microbatch);
}

/* Writes waiting time and transfer time in ms. */
static void put_message(const struct paje *p, size_t i,
                        const struct mtlm_trace_track *track)
{
    const struct mtlm_record *r = &p->records->record[i];
    const int64_t met_ns = p->records->met_ns[i];

    begin_line(p, MTLM_PAJE_MESSAGE, p->begin_ns[i]);
    fputs("M\t", p->f);
    mtlm_paje_header_put_track(p->f, p->info, track);
    fprintf(p->f, "\t%s\t", mtlm_trace_op_name(r));
    mtlm_trace_put_id(p->f, r->rank, r->job);
    fprintf(p->f, "\t%d\t%.0f\t%.6f\t%.6f\n", r->peer, r->bytes,
            1e-6 * (met_ns - r->start_ns), 1e-6 * (r->end_ns - met_ns));
}

static void set_busy(const struct paje *p, size_t i)
{
    const struct mtlm_record *r = &p->records->record[i];
    const struct mtlm_trace_track *track = &p->tracks->track[p->tracks->of[i]];
    const int64_t took_ns = r->end_ns - r->start_ns;

    if (r->lane != MTLM_LANE_COMPUTE) {
        begin_state(p, MTLM_PAJE_STATE, p->begin_ns[i], track);
        fprintf(p->f, "%s\n", mtlm_trace_op_name(r));
        put_message(p, i, track);
        return;
    }
    begin_state(p, MTLM_PAJE_TASK, p->begin_ns[i], track);
    put_task(p, r);
    set_gflops(p, p->begin_ns[i], track, took_ns > 0 ? r->flops / took_ns : 0);
}

static void put_event(const struct paje *p, const struct paje_event *e)
{
    const struct mtlm_record *r = &p->records->record[e->record];
    const struct mtlm_trace_track *track =
        &p->tracks->track[p->tracks->of[e->record]];
    struct counts *c = &p->counts[r->rank];
    const bool task = r->lane == MTLM_LANE_COMPUTE;
    /* An empty state is one event. */
    const bool moment = p->begin_ns[e->record] == r->end_ns;

    if (e->what == SUBMIT && task)
        set_count(p, e->ns, "nsub", r->rank, ++c->submitted);
    if (e->what == READY && task)
        set_count(p, e->ns, "nready", r->rank, ++c->ready);
    if (e->what == BEGIN) {
        set_busy(p, e->record);
        if (task)
            set_count(p, e->ns, "nready", r->rank, --c->ready);
    }
    if (e->what == END || (e->what == BEGIN && moment)) {
        set_idle(p, e->ns, track);
        set_gflops(p, e->ns, track, 0);
        if (task)
            set_count(p, e->ns, "nsub", r->rank, --c->submitted);
    }
}

/* ---- the whole ---- */

static int by_time(const void *pa, const void *pb)
{
    const struct paje_event *a = pa, *b = pb;
    int c = mtlm_compare(a->ns, b->ns);

    if (!c)
        c = mtlm_compare(a->what, b->what);
    if (!c)
        c = mtlm_compare(a->then_ns, b->then_ns);
    return c ? c : mtlm_compare(a->record, b->record);
}

static struct paje_event *events_of(const struct paje *p, size_t *n)
{
    struct paje_event *event = mtlm_calloc(4 * p->records->n, sizeof(*event));

    *n = 0;
    for (size_t i = 0; i < p->records->n; i++) {
        const struct mtlm_record *r = &p->records->record[i];

        if (r->lane == MTLM_LANE_COMPUTE) {
            event[(*n)++] = (struct paje_event){r->submit_ns, i, SUBMIT, 0};
            event[(*n)++] = (struct paje_event){r->ready_ns, i, READY, 0};
        }
        event[(*n)++] =
            (struct paje_event){p->begin_ns[i], i, BEGIN, r->end_ns};
        if (r->end_ns > p->begin_ns[i])
            event[(*n)++] = (struct paje_event){r->end_ns, i, END, 0};
    }
    if (*n)
        qsort(event, *n, sizeof(*event), by_time);
    return event;
}

static bool ran_something(const struct paje *p,
                          const struct mtlm_trace_worker *w)
{
    for (size_t k = 0; k < p->tracks->n_tracks; k++) {
        const struct mtlm_trace_track *t = &p->tracks->track[k];

        if (t->rank == w->rank && t->worker == w->worker
            && t->lane == MTLM_LANE_COMPUTE)
            return true;
    }
    return false;
}

static void sort_events(struct paje *p)
{
    const size_t n = p->records->n;

    p->begin_ns = mtlm_calloc(n, sizeof(*p->begin_ns));
    /* A receive begins with its send. */
    for (size_t i = 0; i < n; i++) {
        const struct mtlm_record *r = &p->records->record[i];

        p->begin_ns[i] =
            r->op == MTLM_OP_RECV ? p->records->met_ns[i] : r->start_ns;
    }
    p->tracks = mtlm_trace_tracks_create(p->records, p->begin_ns);
    p->idle = mtlm_calloc(p->info->n_workers, sizeof(*p->idle));
    for (size_t i = 0; i < p->info->n_workers; i++) {
        const struct mtlm_trace_worker *w = &p->info->worker[i];

        if (!ran_something(p, w))
            p->idle[p->n_idle++] = (struct mtlm_trace_track){
                w->rank, MTLM_LANE_COMPUTE, w->worker, 0};
    }
    p->counts = mtlm_calloc(p->info->ranks, sizeof(*p->counts));
}

static void put_begin(const struct paje *p)
{
    begin_line(p, MTLM_PAJE_CREATE, p->first_ns);
    fputs("MPIroot\tMPIP\t0\troot\n", p->f);
    for (int rank = 0; rank < p->info->ranks; rank++)
        create_rank(p, rank);
    for (size_t k = 0; k < p->tracks->n_tracks; k++)
        create(p, &p->tracks->track[k]);
    for (size_t k = 0; k < p->n_idle; k++)
        create(p, &p->idle[k]);
    for (int rank = 0; rank < p->info->ranks; rank++) {
        set_count(p, p->first_ns, "nsub", rank, 0);
        set_count(p, p->first_ns, "nready", rank, 0);
    }
    for (size_t k = 0; k < p->tracks->n_tracks; k++)
        set_idle(p, p->first_ns, &p->tracks->track[k]);
    for (size_t k = 0; k < p->n_idle; k++)
        set_idle(p, p->first_ns, &p->idle[k]);
}

static void put_end(const struct paje *p)
{
    for (size_t k = 0; k < p->n_idle; k++)
        put_destroy(p, &p->idle[k]);
    for (size_t k = 0; k < p->tracks->n_tracks; k++)
        put_destroy(p, &p->tracks->track[k]);
    for (int rank = 0; rank < p->info->ranks; rank++)
        destroy_rank(p, rank);
    begin_line(p, MTLM_PAJE_DESTROY, p->last_ns);
    fputs("MPIroot\tMPIP\n", p->f);
}

void mtlm_trace_write_paje(FILE *f, const struct mtlm_trace *trace)
{
    struct paje p = {.f = f, .info = trace->info, .records = trace->records};
    uint32_t color[MTLM_OP_COUNT];
    struct paje_event *event;
    size_t n;

    sort_events(&p);
    event = events_of(&p, &n);
    p.first_ns = mtlm_trace_first_ns(trace->records);
    p.last_ns = n ? event[n - 1].ns : p.first_ns;
    mtlm_trace_op_colors(trace->records, color);
    mtlm_paje_header_put(f, trace->records, color);
    put_begin(&p);
    for (size_t i = 0; i < n; i++)
        put_event(&p, &event[i]);
    put_end(&p);
    free(event);
    free(p.counts);
    free(p.idle);
    free(p.begin_ns);
    mtlm_trace_tracks_destroy(p.tracks);
}
