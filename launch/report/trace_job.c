/* Turns the ranks' records into trace files and the table on the terminal. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "launch/job/job_transport.h"
#include "launch/options/options_schedule.h"
#include "launch/report/synthetic_report.h"
#include "launch/report/trace_gather.h"
#include "launch/report/trace_job.h"
#include "launch/trace/read/table.h"
#include "launch/trace/summarize.h"
#include "launch/trace/export/export.h"
#include "runtime/base/standard_output.h"
#include "runtime/base/text.h"
#include "runtime/machine/machine.h"

/* Facts that rank 0 receives from each rank besides records. */
struct about {
    int stage, workers; /* workers: all workers of the rank */
    bool gpu;           /* the first worker is a GPU */
    int64_t clock_offset_ns;
    double engine_share;
};

/* The run, with the texts and arrays that info borrows. */
struct described {
    struct mtlm_trace_info info;
    int *stage;
    int64_t *offset;
    double *engine_share;
    struct mtlm_trace_worker *worker;
    char (*device)[16];
    char *layout;
};

char *mtlm_trace_job_layout(const struct mtlm_layout *l)
{
    struct mtlm_text text;
    FILE *out = mtlm_text_open(&text);

    fprintf(out, "TP %d x PP %d", l->tp, l->pp);
    if (l->virtual_stages > 1)
        fprintf(out, " (%d stages each, placement %s)", l->virtual_stages,
                mtlm_placement_name(l->placement));
    if (l->dp > 1)
        fprintf(out, " x DP %d", l->dp);
    return mtlm_text_close(&text);
}

static void describe_run(const struct mtlm_job *job, const struct about *about,
                         const struct mtlm_gathered *all, struct described *d)
{
    const struct mtlm_layout *l = &job->layout;
    const int ranks = mtlm_ranks_size(job->ranks);
    size_t n = 0, w = 0;

    for (int r = 0; r < ranks; r++)
        n += about[r].workers;
    d->stage = mtlm_calloc(ranks, sizeof(*d->stage));
    d->offset = mtlm_calloc(ranks, sizeof(*d->offset));
    d->engine_share = mtlm_calloc(ranks, sizeof(*d->engine_share));
    d->worker = mtlm_calloc(n, sizeof(*d->worker));
    d->device = mtlm_calloc(n, sizeof(*d->device));
    d->layout = mtlm_trace_job_layout(l);
    for (int r = 0; r < ranks; r++) {
        d->stage[r] = about[r].stage;
        d->offset[r] = about[r].clock_offset_ns;
        d->engine_share[r] = about[r].engine_share;
        for (int i = 0; i < about[r].workers; i++, w++) {
            const bool gpu = about[r].gpu && i == 0;
            const bool computes = gpu || !about[r].gpu;

            snprintf(d->device[w], sizeof(d->device[w]), "%s %d",
                     gpu ? "GPU" : "CPU", about[r].gpu && !gpu ? i - 1 : i);
            d->worker[w] =
                (struct mtlm_trace_worker){r, i, d->device[w], computes};
        }
    }
    d->info = (struct mtlm_trace_info){
        .ranks = ranks,
        .stages = l->pp,
        .virtual_stages = l->virtual_stages,
        .placement = l->placement,
        .microbatches = mtlm_job_microbatches_traced(job),
        .overlapping = job->options.weight_staleness > 0,
        .model = job->options.preset
                     ? job->options.preset
                     : mtlm_model_family_name(job->options.model.family),
        .layout = d->layout,
        .schedule = mtlm_options_schedule_name(&job->options),
        .policy = mtlm_machine_policy(),
        .starpu_version = mtlm_machine_starpu_version(),
        .transport = mtlm_job_transport_name(job),
        .gpu = job->gpu_text,
        .stage_of_rank = d->stage,
        .clock_offset_ns = d->offset,
        .engine_share = d->engine_share,
        .worker = d->worker,
        .svg_ops = job->options.svg_detail == MTLM_SVG_OP,
        .n_workers = n,
        .edge = all->edge,
        .n_edges = all->n_edges,
        .use = all->use,
        .n_uses = all->n_uses,
        .data = all->data,
        .n_data = all->n_data};
}

static void free_description(struct described *d)
{
    free(d->stage);
    free(d->offset);
    free(d->engine_share);
    free(d->worker);
    free(d->device);
    free(d->layout);
}

/* Puts the records on rank 0's clock.  The traced iterations may be hours old:
 * clocks have drifted since.  Returns the offset of the first record. */
static int64_t shift_records(struct mtlm_job *job)
{
    size_t n;
    const struct mtlm_record *record = mtlm_recorder_records(job->recorder, &n);
    int64_t first;

    job->clock_offsets.offset_ns[1] = mtlm_ranks_clock_offset(job->ranks);
    job->clock_offsets.at_ns[1] = mtlm_now_ns();
    first =
        mtlm_clock_offset(&job->clock_offsets, n ? record[0].submit_ns
                                                 : job->clock_offsets.at_ns[0]);
    mtlm_recorder_shift(job->recorder, &job->clock_offsets);
    return first;
}

int mtlm_trace_job(struct mtlm_job *job, double *bubble, struct mtlm_error *err)
{
    const bool gpu = job->gpu >= 0;
    struct about mine = {.stage = job->layout.pp_rank,
                         .workers = gpu ? 2 : job->workers,
                         .gpu = gpu,
                         .engine_share = job->engine_share},
                 *about;
    struct mtlm_gathered all;
    struct mtlm_trace_summary *summary;
    struct described d;
    size_t bytes;
    bool collects;
    int rc = 0;

    *bubble = -1;
    mine.clock_offset_ns = shift_records(job);
    collects = mtlm_trace_gather(job->ranks, job->recorder, &all);
    about = mtlm_ranks_gather(job->ranks, &mine, sizeof(mine), &bytes);
    if (!collects)
        return 0;
    if (!all.n) {
        mtlm_warn("nothing recorded: iterations %d to %d of "
                  "--trace-iterations were not reached",
                  (int) job->options.trace_iterations.first,
                  (int) job->options.trace_iterations.last);
        free(about);
        mtlm_gathered_free(&all);
        return 0;
    }
    describe_run(job, about, &all, &d);
    summary = mtlm_trace_summarize(all.record, all.n, &d.info);
    if (job->options.trace_dir)
        rc = mtlm_trace_export(job->options.trace_dir, all.record, all.n,
                               &d.info, summary, err);
    mtlm_trace_print_table(stdout, summary, &d.info);
    mtlm_standard_output_flush();
    if (job->options.cluster_file && job->options.ramp.increment == 0)
        mtlm_synthetic_report(job, all.record, all.n, &d.info, summary);
    *bubble = summary->bubble;
    mtlm_trace_summary_destroy(summary);
    free_description(&d);
    free(about);
    mtlm_gathered_free(&all);
    return rc;
}
