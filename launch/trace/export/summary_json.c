/* summary.json: the summary's numbers, for scripts. */
#include "config.h"

#include <jansson.h>

#include "codelets/op.h"
#include "launch/trace/export/writer.h"
#include "runtime/base/error.h"

/* null: unknown or not UTF-8. */
static json_t *text_or_null(const char *s)
{
    json_t *value = s ? json_string(s) : NULL;

    return value ? value : json_null();
}

static json_t *make_ms(double ns)
{
    return json_real(1e-6 * ns);
}

/* -1: unknown. */
static json_t *ms_or_null(int64_t ns)
{
    return ns < 0 ? json_null() : make_ms(ns);
}

static json_t *make_workers(const struct mtlm_trace_info *info)
{
    json_t *list = json_array();

    for (size_t i = 0; i < info->n_workers; i++) {
        const struct mtlm_trace_worker *w = &info->worker[i];

        json_array_append_new(list, json_pack("{s:i, s:i, s:o, s:b}", "rank",
                                              w->rank, "worker", w->worker,
                                              "device", text_or_null(w->device),
                                              "compute", w->compute));
    }
    return list;
}

static json_t *make_run(const struct mtlm_trace *trace)
{
    const struct mtlm_trace_info *info = trace->info;
    json_t *offsets = json_array();

    for (int r = 0; info->clock_offset_ns && r < info->ranks; r++)
        json_array_append_new(offsets,
                              json_real(1e-3 * info->clock_offset_ns[r]));
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:s, s:i, s:o, "
        "s:o}",
        "model", text_or_null(info->model), "layout",
        text_or_null(info->layout), "schedule", text_or_null(info->schedule),
        "policy", text_or_null(info->policy), "starpu_version",
        text_or_null(info->starpu_version), "gpu", text_or_null(info->gpu),
        "transport", text_or_null(info->transport), "ranks", info->ranks,
        "stages", info->stages, "virtual_stages", info->virtual_stages,
        "placement", mtlm_placement_name(info->placement), "microbatches",
        info->microbatches, "clock_offsets_us", offsets, "workers",
        make_workers(info));
}

static json_t *make_ranks(const struct mtlm_trace *trace)
{
    const int *stage = trace->info->stage_of_rank;
    const double *engine = trace->info->engine_share;
    json_t *list = json_array();

    for (int i = 0; i < trace->summary->ranks; i++) {
        const struct mtlm_trace_rank *r = &trace->summary->rank[i];

        json_array_append_new(
            list,
            json_pack("{s:i, s:o, s:i, s:o, s:o, s:o, s:o, s:f, s:o, s:o}",
                      "rank", i, "stage",
                      stage ? json_integer(stage[i]) : json_null(), "workers",
                      r->workers, "window_ms", make_ms(r->window_ns), "busy_ms",
                      make_ms(r->busy_ns), "communication_ms",
                      make_ms(r->comm_ns), "overlap_ms", make_ms(r->overlap_ns),
                      "bubble_fraction", r->bubble, "area_bound_ms",
                      make_ms(r->work_ns), "engine_share",
                      engine ? json_real(engine[i]) : json_null()));
    }
    return list;
}

static json_t *make_iterations(const struct mtlm_trace_summary *summary)
{
    json_t *list = json_array();

    for (size_t i = 0; i < summary->n_iterations; i++) {
        const struct mtlm_trace_iteration *e = &summary->iteration[i];

        json_array_append_new(
            list,
            json_pack("{s:i, s:b, s:o, s:o, s:o, s:o, s:o, s:i, s:f, s:o, s:o, "
                      "s:o, s:i}",
                      "iteration", e->iteration + 1, "counts", e->counts,
                      "begin_ms", make_ms(e->begin_ns - summary->origin_ns),
                      "end_ms", make_ms(e->end_ns - summary->origin_ns),
                      "bubble_fraction",
                      e->counts ? json_real(e->bubble) : json_null(),
                      "overlap_fraction",
                      e->counts && e->overlap >= 0 ? json_real(e->overlap)
                                                   : json_null(),
                      "stage_span_ms", make_ms(e->span_ns), "stage_span_rank",
                      e->span_rank, "stage_span_bubble", e->span_bubble,
                      "critical_path_ms", ms_or_null(e->path_ns),
                      "critical_path_communication_ms",
                      ms_or_null(e->path_comm_ns), "most_work_ms",
                      make_ms(e->work_ns), "most_work_rank", e->work_rank));
    }
    return list;
}

static json_t *make_ops(const struct mtlm_trace_summary *summary)
{
    json_t *list = json_array();

    for (size_t i = 0; i < summary->n_ops; i++) {
        const struct mtlm_trace_op *o = &summary->op[i];

        json_array_append_new(
            list,
            json_pack("{s:s, s:I, s:o, s:f, s:f, s:f, s:f, s:f}", "name",
                      mtlm_ops[o->op]->name, "count", (json_int_t) o->count,
                      "total_ms", make_ms(o->total_ns), "mean_us",
                      1e-3 * o->mean_ns, "p50_us", 1e-3 * o->p50_ns, "flops",
                      o->flops, "bytes", o->bytes, "gflop_per_s", o->gflops));
    }
    return list;
}

/* Per iteration, except count and GFLOP/s.  total_ms includes the parts of the
 * same nodes outside the windows. */
static json_t *make_classes(const struct mtlm_trace_summary *s)
{
    const double windows = s->windows ? s->windows : 1;
    json_t *list = json_array();

    for (int class = 0; class < MTLM_TRACE_CLASSES; class ++) {
        const struct mtlm_trace_class_time *c = &s->class[class];

        if (c->count)
            json_array_append_new(
                list,
                json_pack("{s:s, s:I, s:o, s:o, s:f, s:f, s:f}", "class",
                          mtlm_trace_class_name(class), "count",
                          (json_int_t) c->count, "ms", make_ms(c->ns / windows),
                          "total_ms", make_ms(c->total_ns / windows), "flops",
                          c->flops / windows, "bytes", c->bytes / windows,
                          "gflop_per_s",
                          c->total_ns ? c->flops / c->total_ns : 0.));
    }
    return list;
}

static json_t *make_accounts(const struct mtlm_trace_summary *summary)
{
    json_t *list = json_array();

    for (size_t i = 0; i < summary->n_accounts; i++) {
        const struct mtlm_trace_account *a = &summary->account[i];

        json_array_append_new(
            list,
            json_pack("{s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "rank",
                      a->rank, "worker", a->worker, "window_ms",
                      make_ms(a->window_ns), "compute_ms",
                      make_ms(a->compute_ns), "wait_data_ms",
                      make_ms(a->data_ns), "wait_communication_ms",
                      make_ms(a->comm_ns), "runtime_ms", make_ms(a->runtime_ns),
                      "idle_ms", make_ms(a->end_ns)));
    }
    return list;
}

static json_t *make_waits(const struct mtlm_trace_summary *summary)
{
    json_t *list = json_array();

    for (size_t i = 0; i < summary->n_waits; i++) {
        const struct mtlm_trace_wait *w = &summary->wait[i];

        json_array_append_new(
            list, json_pack("{s:i, s:s, s:i, s:o, s:f, s:s}", "rank", w->rank,
                            "cause", mtlm_trace_cause_name(w->cause), "peer",
                            w->peer, "ms", make_ms(w->ns), "share", w->share,
                            "text", w->text));
    }
    return list;
}

void mtlm_trace_write_json(FILE *f, const struct mtlm_trace *trace)
{
    const struct mtlm_trace_summary *s = trace->summary;
    json_t *root = json_pack(
        "{s:i, s:o, s:I, s:o, s:i, s:i, s:i, s:o}", "trace_version",
        MTLM_TRACE_VERSION, "run", make_run(trace), "nodes",
        (json_int_t) trace->records->n, "edges",
        trace->info->edge ? json_integer((json_int_t) trace->info->n_edges)
                          : json_null(),
        "first_iteration", s->first_iteration + 1, "last_iteration",
        s->last_iteration + 1, "windows", s->windows, "makespan_ms",
        make_ms(s->makespan_ns));
    json_t *numbers = json_pack(
        "{s:f, s:f, s:o, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
        "bubble_fraction", s->bubble, "bubble_of_ideal", s->bubble_of_ideal,
        "stage_span_ms", make_ms(s->span_ns), "stage_span_bubble",
        s->span_bubble, "ideal_1f1b_bubble", s->ideal_1f1b, "critical_path_ms",
        ms_or_null(s->path_ns), "critical_path_communication_ms",
        ms_or_null(s->path_comm_ns), "most_work_ms", make_ms(s->work_ns),
        "lower_bound_ms", ms_or_null(s->bound_ns), "communication_ms",
        make_ms(s->comm_ns), "overlap_ms", make_ms(s->overlap_ns),
        "overlap_fraction",
        s->overlap < 0 ? json_null() : json_real(s->overlap));

    if (!root || !numbers || json_object_update(root, numbers))
        mtlm_fatal(__FILE__, __LINE__, "out of memory for summary.json");
    json_decref(numbers);
    json_object_set_new(root, "ranks", make_ranks(trace));
    json_object_set_new(root, "accounts", make_accounts(s));
    json_object_set_new(root, "iterations", make_iterations(s));
    json_object_set_new(root, "classes", make_classes(s));
    json_object_set_new(root, "ops", make_ops(s));
    json_object_set_new(root, "waits", make_waits(s));
    json_dumpf(root, f, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    putc('\n', f);
    json_decref(root);
}
