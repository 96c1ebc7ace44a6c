/* trace.json: Chrome's trace format, for ui.perfetto.dev.  One process per
 * rank, with tracks of its workers and communication lanes.
 *
 * Times start at the first event: Perfetto drops earlier ones.  Numbers start
 * at 1: Perfetto has its own process 0, and merged threads 0 and 1 until 2025.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include <jansson.h>

#include "codelets/op_list.h"
#include "launch/trace/export/writer.h"
#include "launch/trace/messages.h"
#include "launch/trace/node.h"
#include "launch/trace/tracks.h"
#include "runtime/base/memory.h"

/* Writes a JSON string; null: not UTF-8. */
static void put_text(FILE *f, const char *text)
{
    json_t *value = text ? json_string(text) : NULL;

    if (!value)
        value = json_null();
    json_dumpf(value, f, JSON_ENCODE_ANY);
    json_decref(value);
}

/* Writes microseconds with three decimals. */
static void put_us(FILE *f, const char *name, int64_t ns)
{
    fprintf(f, ",\"%s\":%s%" PRId64 ".%03d", name, ns < 0 ? "-" : "",
            (ns < 0 ? -ns : ns) / 1000, (int) ((ns < 0 ? -ns : ns) % 1000));
}

static int pid_of(int rank)
{
    return rank + 1;
}

static void put_process(FILE *f, const struct mtlm_trace_info *info, int rank)
{
    char name[64];

    if (info->stage_of_rank)
        snprintf(name, sizeof(name), "rank %d (stage %d)", rank,
                 info->stage_of_rank[rank]);
    else
        snprintf(name, sizeof(name), "rank %d", rank);
    /* A comma precedes each event except the first. */
    fprintf(f,
            "%s\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,"
            "\"args\":{\"name\":\"%s\"}}"
            ",\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,"
            "\"args\":{\"sort_index\":%d}}",
            rank ? "," : "", pid_of(rank), name, pid_of(rank), rank);
}

/* Name of a track: "CPU 0", "PP", a second one "PP (2)". */
static void put_track(FILE *f, const struct mtlm_trace_info *info,
                      const struct mtlm_trace_track *track, size_t tid)
{
    static const char *const lane[] = {[MTLM_LANE_COMPUTE] = "host",
                                       [MTLM_LANE_TP] = "TP",
                                       [MTLM_LANE_PP] = "PP",
                                       [MTLM_LANE_DP] = "DP",
                                       [MTLM_LANE_DISK] = "disk"};
    const char *text =
        track->worker < 0 ? lane[track->lane]
                          : mtlm_trace_device(info, track->rank, track->worker);
    char name[128], number[16] = "";

    if (track->number > 0)
        snprintf(number, sizeof(number), " (%d)", track->number + 1);
    if (text)
        snprintf(name, sizeof(name), "%.100s%s", text, number);
    else
        snprintf(name, sizeof(name), "worker %d%s", track->worker, number);
    fprintf(f,
            ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,"
            "\"tid\":%zu,\"args\":{\"name\":",
            pid_of(track->rank), tid);
    put_text(f, name);
    fprintf(f,
            "}},\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%d,"
            "\"tid\":%zu,\"args\":{\"sort_index\":%zu}}",
            pid_of(track->rank), tid, tid);
}

/* Input and state of the writer. */
struct drawn {
    const struct mtlm_trace *trace;
    const struct mtlm_record *record; /* [n] */
    const int64_t *met_ns;            /* [n] */
    int64_t *begin_ns;                /* [n] */
    int64_t zero_ns;                  /* zero of the file: the earliest begin */
    struct mtlm_trace_tracks *tracks;
};

/* Fields of both events and arrows. */
static void begin_event(FILE *f, const struct drawn *d, char phase, size_t i,
                        int64_t ns)
{
    fprintf(f, ",\n{\"ph\":\"%c\",\"pid\":%d,\"tid\":%zu", phase,
            pid_of(d->record[i].rank), d->tracks->of[i] + 1);
    put_us(f, "ts", ns - d->zero_ns);
}

/* wait: until the other ranks of the message were ready. */
static void put_message(FILE *f, const struct drawn *d, size_t i)
{
    const struct mtlm_record *r = &d->record[i];

    if (r->peer >= 0)
        fprintf(f, ",\"peer\":%d", r->peer);
    fprintf(f, ",\"bytes\":%.0f", r->bytes);
    put_us(f, "wait_us", d->met_ns[i] - r->start_ns);
    put_us(f, "transfer_us", r->end_ns - d->met_ns[i]);
}

/* Chrome's names of colours near those of schedule.svg; Perfetto chooses its
 * own colours. */
static const char *const colour[] = {
    [MTLM_TRACE_F] = "rail_response",    [MTLM_TRACE_B] = "rail_animation",
    [MTLM_TRACE_W] = "startup",          [MTLM_TRACE_OPT] = "rail_load",
    [MTLM_TRACE_INIT] = "rail_load",     [MTLM_TRACE_EVAL] = "rail_idle",
    [MTLM_TRACE_AR] = "generic_work",    [MTLM_TRACE_SEND] = "generic_work",
    [MTLM_TRACE_RECV] = "generic_work",  [MTLM_TRACE_DP] = "generic_work",
    [MTLM_TRACE_SAVE] = "rail_idle",     [MTLM_TRACE_LOAD] = "generic_work",
    [MTLM_TRACE_STORE] = "generic_work",
};

static void put_record(FILE *f, const struct drawn *d, size_t i)
{
    const struct mtlm_record *r = &d->record[i];

    begin_event(f, d, 'X', i, d->begin_ns[i]);
    put_us(f, "dur", r->end_ns - d->begin_ns[i]);
    fputs(",\"name\":\"", f);
    mtlm_trace_put_label(f, r);
    fprintf(f,
            "\",\"cat\":\"%s\",\"cname\":\"%s\",\"args\":{\"iteration\":%d,"
            "\"microbatch\":%d,"
            "\"layer\":%d,\"stage\":%d,\"chunk\":%d,\"job\":%" PRId64,
            mtlm_trace_op_name(r), colour[mtlm_trace_class(r)],
            r->iteration + 1, r->microbatch, r->layer, r->stage,
            mtlm_trace_chunk(d->trace->info, r), r->job);
    put_us(f, "ready_us", r->ready_ns - d->zero_ns);
    if (r->lane != MTLM_LANE_COMPUTE)
        put_message(f, d, i);
    fputs("}}", f);
}

static void put_arrow_end(FILE *f, const struct drawn *d, char phase, size_t i,
                          int64_t ns, size_t id)
{
    begin_event(f, d, phase, i, ns);
    fprintf(f, ",\"name\":\"message\",\"cat\":\"message\",\"id\":%zu%s}", id,
            phase == 'f' ? ",\"bp\":\"e\"" : "");
}

/* Arrows from the begin of a send to just before the end of its receive: an
 * event excludes its end. */
static void put_arrows(FILE *f, const struct drawn *d, size_t n)
{
    size_t n_ends, id = 0;
    struct mtlm_trace_end *end = mtlm_trace_ends_create(d->record, n, &n_ends);

    for (size_t i = 0, next; i < n_ends; i = next) {
        next = mtlm_trace_ends_next(end, n_ends, i);
        for (size_t s = i; s < next; s++)
            for (size_t r = i; r < next; r++)
                if (end[s].record->op == MTLM_OP_SEND
                    && end[r].record->op == MTLM_OP_RECV) {
                    const size_t from = end[s].record - d->record;
                    const size_t to = end[r].record - d->record;
                    const int64_t last = end[r].record->end_ns;

                    put_arrow_end(f, d, 's', from, d->begin_ns[from], ++id);
                    put_arrow_end(f, d, 'f', to,
                                  last > d->begin_ns[to] ? last - 1 : last, id);
                }
    }
    free(end);
}

/* origin_us: the zero of schedule.csv in this file. */
static void put_about(FILE *f, const struct drawn *d)
{
    const struct mtlm_trace_info *info = d->trace->info;
    const struct {
        const char *name, *value;
    } about[] = {{"model", info->model},
                 {"layout", info->layout},
                 {"policy", info->policy},
                 {"starpu_version", info->starpu_version}};

    fputs("{\"displayTimeUnit\":\"ms\",\n\"otherData\":{", f);
    for (size_t i = 0; i < sizeof(about) / sizeof(about[0]); i++) {
        fprintf(f, "%s\"%s\":", i ? "," : "", about[i].name);
        put_text(f, about[i].value);
    }
    put_us(f, "origin_us", d->trace->summary->origin_ns - d->zero_ns);
    fputs("},\n\"traceEvents\":[", f);
}

void mtlm_trace_write_events(FILE *f, const struct mtlm_trace *trace)
{
    const struct mtlm_trace_records *records = trace->records;
    const struct mtlm_trace_info *info = trace->info;
    struct drawn d = {trace,
                      records->record,
                      records->met_ns,
                      mtlm_calloc(records->n, sizeof(*d.begin_ns)),
                      trace->summary->origin_ns,
                      NULL};

    /* A receive begins with its send. */
    for (size_t i = 0; i < records->n; i++) {
        d.begin_ns[i] =
            d.record[i].op == MTLM_OP_RECV ? d.met_ns[i] : d.record[i].start_ns;
        if (d.begin_ns[i] < d.zero_ns)
            d.zero_ns = d.begin_ns[i];
    }
    d.tracks = mtlm_trace_tracks_create(records, d.begin_ns);
    put_about(f, &d);
    for (int rank = 0; rank < info->ranks; rank++)
        put_process(f, info, rank);
    for (size_t k = 0; k < d.tracks->n_tracks; k++)
        put_track(f, info, &d.tracks->track[k], k + 1);
    for (size_t i = 0; i < records->n; i++)
        put_record(f, &d, i);
    put_arrows(f, &d, records->n);
    fputs("\n]}\n", f);
    mtlm_trace_tracks_destroy(d.tracks);
    free(d.begin_ns);
}
