/* The trace of a simulated iteration: records, edges and data of the evaluated
 * programs, in the files that a run's trace has. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/run/record.h"
#include "launch/options/options_schedule.h"
#include "launch/report/evaluated_records.h"
#include "launch/report/trace_gather.h"
#include "launch/report/trace_job.h"
#include "launch/simulate/program_tasks.h"
#include "launch/simulate/simulate_trace.h"
#include "launch/trace/export/export.h"
#include "launch/trace/summarize.h"
#include "runtime/base/memory.h"

/* Without --trace-microbatches: a trace of more nodes has fewer microbatches
 * than the iteration. */
enum { MANY_NODES = 50000 };

struct simulate_trace {
    const struct mtlm_folded_run *run;
    struct mtlm_range window; /* microbatches from 0 */
    int *worker;              /* [execution.n] */
    int per_stage;            /* ranks of the job in each pipeline stage */
    struct mtlm_gathered all;
};

static struct mtlm_range choose_window(const struct mtlm_folded_run *run,
                                       const struct mtlm_options *options)
{
    const int64_t m = run->programs.program[0]->config.microbatches;
    const int64_t each = run->execution.n / m + 1;
    int64_t n = MANY_NODES / each;

    if (options->trace_microbatches.last > 0)
        return options->trace_microbatches;
    n = n < 1 ? 1 : n > m ? m : n;
    return (struct mtlm_range){1, n};
}

/* ---- records ---- */

/* Returns the number in the execution of each item of a program.  The caller
 * frees the array. */
static int *find_items(const struct mtlm_execution *run, int program,
                       const struct mtlm_items *items)
{
    int *at = mtlm_calloc(items->n, sizeof(*at));

    for (int i = 0; i < run->n; i++)
        if (run->node[i].program == program)
            at[run->node[i].item - items->item] = i;
    return at;
}

/* Sets when the node's own predecessors have ended: a message is issued then,
 * and a load or a store waits for its turn.
 * end_ns: [job] of earlier nodes. */
static void set_ready(struct mtlm_record *record,
                      const struct mtlm_recorder *recorder, size_t first_edge,
                      const int64_t *end_ns)
{
    size_t n;
    const struct mtlm_record_edge *edge = mtlm_recorder_edges(recorder, &n);

    record->ready_ns = 0;
    for (size_t i = first_edge; i < n; i++)
        if (end_ns[edge[i].on] > record->ready_ns)
            record->ready_ns = end_ns[edge[i].on];
    if (record->worker < 0 && record->lane != MTLM_LANE_DISK)
        record->start_ns = record->ready_ns;
}

/* Ranks of the trace are pipeline ranks. */
static void fold_ranks(struct mtlm_record *record, int per_stage)
{
    if (record->peer >= 0)
        record->peer /= per_stage;
    if (record->group_root >= 0)
        record->group_root /= per_stage;
}

static bool is_inside(const struct simulate_trace *t,
                      const struct mtlm_item *item)
{
    return item->microbatch < 0
           || (item->microbatch >= t->window.first
               && item->microbatch <= t->window.last);
}

/* Adds the nodes of a program that lie in the window.  They wait for nodes
 * outside, too, so `all` follows all nodes.  `kept` has the edges of a trace
 * without these nodes: the optimizer waits for the window's gradients. */
static void add_program(struct simulate_trace *t, int number)
{
    const struct mtlm_program *program = t->run->programs.program[number];
    const struct mtlm_items *items = &program->train;
    struct mtlm_recorder *all = mtlm_recorder_create();
    struct mtlm_recorder *kept = mtlm_recorder_create();
    struct mtlm_run_record *of_all = mtlm_run_record_create(program, all);
    struct mtlm_run_record *of_kept = mtlm_run_record_create(program, kept);
    int *at = find_items(&t->run->execution, number, items);
    int64_t *end_ns = mtlm_calloc(items->n, sizeof(*end_ns));
    int64_t link = -1, kept_link = -1;

    mtlm_run_record_list(of_all, true);
    mtlm_run_record_list(of_kept, true);
    for (int i = 0; i < items->n; i++) {
        const struct mtlm_item *item = &items->item[i];
        const struct mtlm_executed *x = &t->run->execution.node[at[i]];
        const bool inside = is_inside(t, item);
        struct mtlm_record record =
            mtlm_evaluated_records_make(x, t->worker[at[i]]);
        size_t edges;

        record.job = i;
        record.priority = item->priority;
        record.submit_ns = 0;
        end_ns[i] = record.end_ns;
        if (inside) {
            mtlm_run_record_node(of_kept, item, x->use, &record);
            mtlm_program_tasks_chain(t->run, program, item, kept, &kept_link);
        }
        mtlm_recorder_edges(all, &edges);
        mtlm_run_record_node(of_all, item, x->use, &record);
        mtlm_program_tasks_chain(t->run, program, item, all, &link);
        if (!inside)
            continue;
        set_ready(&record, all, edges, end_ns);
        fold_ranks(&record, t->per_stage);
        mtlm_recorder_add(kept, &record);
    }
    mtlm_run_record_destroy(of_all);
    mtlm_run_record_destroy(of_kept);
    mtlm_recorder_destroy(all);
    mtlm_gathered_add(&t->all, number, kept);
    mtlm_recorder_destroy(kept);
    free(end_ns);
    free(at);
}

/* ---- the run ---- */

/* The run, with the texts and arrays that info borrows. */
struct simulated_run {
    struct mtlm_trace_info info;
    struct mtlm_trace_worker *worker;
    char (*device)[16];
    int *stage;
    char *layout, *policy;
};

/* "prio, simulated", and the microbatches of a part. */
static char *policy_text(const struct simulate_trace *t,
                         const struct mtlm_prediction *p)
{
    if (t->all.n == (size_t) p->nodes)
        return mtlm_sprintf("%s, simulated", p->policy);
    return mtlm_sprintf("%s, simulated: microbatches %" PRId64 " to %" PRId64,
                        p->policy, t->window.first + 1, t->window.last + 1);
}

static struct simulated_run describe_run(const struct simulate_trace *t,
                                         const struct mtlm_prediction *p,
                                         const struct mtlm_options *options)
{
    const struct mtlm_layout *l = &p->layout;
    const int workers = l->workers, n = p->folded * workers;
    struct simulated_run d = {.worker = mtlm_calloc(n, sizeof(*d.worker)),
                              .device = mtlm_calloc(n, sizeof(*d.device)),
                              .stage = mtlm_calloc(p->folded, sizeof(*d.stage)),
                              .layout = mtlm_trace_job_layout(l),
                              .policy = policy_text(t, p)};

    for (int r = 0; r < p->folded; r++)
        d.stage[r] = r;
    for (int i = 0; i < n; i++) {
        snprintf(d.device[i], sizeof(d.device[i]), "%s %d",
                 workers == 1 ? "CUDA" : "CPU", i % workers);
        d.worker[i] = (struct mtlm_trace_worker){i / workers, i % workers,
                                                 d.device[i], true};
    }
    d.info = (struct mtlm_trace_info){
        .ranks = p->folded,
        .stages = l->pp,
        .virtual_stages = l->virtual_stages,
        .placement = l->placement,
        .microbatches = p->microbatches,
        .model = options->preset ? options->preset : "mtlm-dag",
        .layout = d.layout,
        .schedule = mtlm_options_schedule_name(options),
        .policy = d.policy,
        .stage_of_rank = d.stage,
        .worker = d.worker,
        .n_workers = n,
        .edge = t->all.edge,
        .n_edges = t->all.n_edges,
        .use = t->all.use,
        .n_uses = t->all.n_uses,
        .data = t->all.data,
        .n_data = t->all.n_data,
        .svg_ops = options->svg_detail == MTLM_SVG_OP};
    return d;
}

static void free_description(struct simulated_run *d)
{
    free(d->worker);
    free(d->device);
    free(d->stage);
    free(d->layout);
    free(d->policy);
}

/* Returns the summary of the whole iteration.  A window of microbatches has no
 * edges to the rest: then the summary has no critical path. */
static struct mtlm_trace_summary *summarize_all(
    const struct simulate_trace *t, const struct mtlm_prediction *p,
    const struct mtlm_trace_info *info)
{
    struct simulate_trace whole = {.run = t->run,
                                   .window = {0, INT64_MAX},
                                   .worker = t->worker,
                                   .per_stage = t->per_stage};
    struct mtlm_trace_info about = *info;
    struct mtlm_trace_summary *summary;

    if (t->all.n == (size_t) t->run->execution.n)
        return mtlm_trace_summarize(t->all.record, t->all.n, info);
    about.edge = NULL;
    about.n_edges = 0;
    for (int i = 0; i < p->folded; i++) {
        add_program(&whole, i);
        mtlm_gathered_forget(&whole.all);
    }
    summary = mtlm_trace_summarize(whole.all.record, whole.all.n, &about);
    mtlm_gathered_free(&whole.all);
    return summary;
}

int mtlm_simulate_trace(const struct mtlm_folded_run *run,
                        const struct mtlm_prediction *prediction,
                        const struct mtlm_options *options,
                        struct mtlm_simulate_trace *trace,
                        struct mtlm_error *err)
{
    const struct mtlm_layout *l = &prediction->layout;
    struct simulate_trace t = {.run = run, .per_stage = l->tp * l->dp};
    struct mtlm_trace_summary *summary;
    struct simulated_run d;
    int rc;

    trace->microbatches = choose_window(run, options);
    t.window = (struct mtlm_range){trace->microbatches.first - 1,
                                   trace->microbatches.last - 1};
    t.worker = mtlm_evaluated_records_workers(&run->execution,
                                              prediction->folded, l->workers);
    for (int i = 0; i < prediction->folded; i++)
        add_program(&t, i);
    mtlm_gathered_meet(&t.all);
    trace->nodes = t.all.n;
    d = describe_run(&t, prediction, options);
    summary = summarize_all(&t, prediction, &d.info);
    rc = mtlm_trace_export_whole(options->trace_dir, t.all.record, t.all.n,
                                 &d.info, summary, err);
    mtlm_trace_summary_destroy(summary);
    free_description(&d);
    mtlm_gathered_free(&t.all);
    free(t.worker);
    return rc;
}
