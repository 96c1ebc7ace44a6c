/* The schedule of a plan, by evaluation: in words and as a picture. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/build/version.h"
#include "graph/order/order_slots.h"
#include "graph/predict/hold.h"
#include "graph/predict/limits.h"
#include "graph/predict/pipeline_programs.h"
#include "graph/predict/simulator.h"
#include "graph/predict/steady.h"
#include "graph/predict/work.h"
#include "launch/plan/dry_run_schedule.h"
#include "launch/plan/plan_bound.h"
#include "launch/plan/plan_modes.h"
#include "launch/plan/plan_noise.h"
#include "launch/plan/plan_order.h"
#include "launch/plan/plan_size.h"
#include "launch/plan/stage_text.h"
#include "launch/plan/step.h"
#include "launch/trace/export/export.h"
#include "runtime/base/memory.h"
#include "runtime/machine/plugin.h"

/* Boxes of more microbatches are too narrow for numbers: the picture shows the
 * first and the last ones. */
enum { MANY_MICROBATCHES = 40, SHOWN_FIRST = 20, SHOWN_LAST = 10 };

/* Shared slots of more ranks are not printed. */
enum { MANY_RANKS = 32 };

/* ---- in words ---- */

/* Prints the bubble by the published formulas. */
static void print_bubble(const struct mtlm_program_config *config, FILE *out)
{
    const int v = config->layout.virtual_stages;
    const double idle = config->layout.pp - 1;
    const double m = (double) v * config->microbatches;

    if (config->layout.placement == MTLM_PLACEMENT_POLICY) {
        fprintf(out, "bubble           none that stages make: every worker may "
                     "run all of them\n");
        return;
    }
    if (idle == 0) {
        fprintf(out, "bubble           none: the pipeline has one rank\n");
        return;
    }
    fprintf(out,
            "bubble           (p-1)/%s = %.4g of the ideal time, %.2f %% of "
            "the iteration (%s1F1B);\n"
            "                 %.4g, %.2f %% with weight gradients in it%s; "
            "equal stages\n",
            v > 1 ? "(v m)" : "m", idle / m, 100 * idle / (m + idle),
            v > 1 ? "interleaved " : "", idle / m / 3,
            100 * idle / (3 * m + idle), v > 1 ? "" : " (ZB-H1)");
}

static void print_windows(const struct mtlm_work *work, FILE *out)
{
    const int stages = mtlm_layout_stages(work->pipeline.layout);

    fprintf(out, "windows         ");
    mtlm_stage_text_windows(work->window, stages, out);
    fprintf(out, " microbatches of stage%s until B, and more until W\n",
            stages > 1 ? "s 0, 1, ..." : " 0");
}

/* Prints the slots that the stages of each rank share. */
static void print_slots(const struct mtlm_program_config *config,
                        const struct mtlm_work *work, FILE *out)
{
    struct mtlm_boxes boxes = mtlm_evaluate_boxes(&work->pipeline, NULL);
    const int ranks = config->layout.pp;

    boxes.pieces = 1;
    fprintf(out, "slots           ");
    for (int r = 0; r < ranks && r < MANY_RANKS; r++) {
        const int w = mtlm_order_slots_edges(
            config->order, &boxes, r, MTLM_SLOT_UNTIL_BACKWARD, NULL, NULL);
        const int all = mtlm_order_slots_edges(
            config->order, &boxes, r, MTLM_SLOT_UNTIL_WEIGHT, NULL, NULL);

        fprintf(out, " %d", w);
        if (all > w)
            fprintf(out, "+%d", all - w);
    }
    fprintf(out, "%s of ranks 0, 1, ..., which their stages share\n",
            ranks > MANY_RANKS ? " ..." : "");
}

/* Prints a pass of the stages, in a line of its own. */
static void print_pass(const char *name, const double *seconds, int stages,
                       FILE *out)
{
    mtlm_stage_text_pass(name, seconds, stages, out);
    fputc('\n', out);
}

static void print_times(const struct mtlm_stage_times *times, const char *from,
                        FILE *out)
{
    fprintf(out, "times            of %s; a message takes %.4g ms;\n", from,
            1e3 * times->hop);
    print_pass("                 F", times->forward, times->stages, out);
    print_pass("                 B", times->backward, times->stages, out);
    print_pass("                 W", times->weight, times->stages, out);
}

/* Prints the evaluation in seconds. */
static void print_seconds(const struct mtlm_evaluation *e,
                          const struct mtlm_program_config *config,
                          const char *name, FILE *out)
{
    fprintf(out,
            "schedule         %s: %.6g s an iteration without optimizer; "
            "bubble %.2f %% of all ranks,\n"
            "                 %.2f %% of the busiest rank; no schedule%s takes "
            "less than %.6g s: this one is %.2f %% above\n",
            name, e->makespan_s, 100 * e->all_bubble, 100 * e->bubble,
            mtlm_plan_bound_of(config), e->least_s,
            100 * fmax(0, e->makespan_s / e->least_s - 1));
}

/* Prints what waits for messages would gain, if they gain. */
static void print_waits(const struct mtlm_work *work, double makespan_s,
                        FILE *out)
{
    double seconds = makespan_s;

    if (mtlm_plugin_holds() || !mtlm_plugin_may_hold())
        return;
    mtlm_hold_choose(&work->pipeline, &seconds);
    if (seconds < makespan_s * (1 - 1e-4))
        fprintf(out,
                "                 %.6g s, %.2f %% less, where workers wait for "
                "messages: STARPU_SCHED=mtlm\n",
                seconds, 100 - 100 * seconds / makespan_s);
}

/* Prints the seconds of the programs.  Unlike the schedule, they count small
 * nodes, the optimizer and its messages, and passes that wait between nodes. */
static void print_nodes(const struct mtlm_program_config *config,
                        const struct mtlm_stage_cost *machine, FILE *out)
{
    const bool waits = mtlm_plugin_holds();
    struct mtlm_pipeline_programs p;
    double share = 0;

    if (!machine->cluster || config->layout.pp == 1
        || config->layout.placement == MTLM_PLACEMENT_POLICY
        || config->microbatches * mtlm_pipeline_programs_nodes(config)
               > MTLM_MANY_NODES)
        return;
    if (waits && !mtlm_program_is_chained(config))
        share = mtlm_hold_choose_program(config, machine);
    p = mtlm_pipeline_programs_create(config, machine->cluster);
    mtlm_pipeline_programs_slow(&p, machine);
    fprintf(out,
            "node by node     %.6g s an iteration under %s, with optimizer and "
            "all messages\n",
            machine->stretch * mtlm_pipeline_programs_makespan(&p, share),
            waits ? "mtlm" : "prio");
    mtlm_pipeline_programs_free(&p);
}

/* Prints the evaluation as shares of the makespan.  The picture shows the
 * bubble of all ranks. */
static void print_shares(const struct mtlm_evaluation *e,
                         const struct mtlm_program_config *config,
                         const char *name, FILE *out)
{
    const double work_s = (1 - e->bubble) * e->makespan_s;
    const double least_s = fmax(e->least_s, work_s);

    fprintf(out,
            "schedule         %s: bubble %.2f %% of all ranks, %.2f %% of the "
            "busiest rank,\n"
            "                 %.4f x that rank's work; no schedule%s has less "
            "than %.2f %%, %.4f x\n"
            "                 (by evaluation: FLOPs as times, messages free)\n",
            name, 100 * e->all_bubble, 100 * e->bubble, e->makespan_s / work_s,
            mtlm_plan_bound_of(config), 100 * (1 - work_s / least_s),
            least_s / work_s);
}

/* Prints the steady state of iterations that overlap.  work_s: as in
 * plan_modes.h. */
static void print_steady(const struct mtlm_program_config *config,
                         const struct mtlm_work *work, double work_s, FILE *out)
{
    const int m = config->microbatches;
    struct mtlm_steady steady;

    fprintf(out, "staleness        1: two versions of weights and gradients; ");
    if (work->pipeline.order || mtlm_program_is_chained(config)) {
        fprintf(out, "an order ends with its iteration\n");
        return;
    }
    steady = mtlm_steady_evaluate(work);
    if (m < steady.held) {
        fprintf(out,
                "%d microbatches are fewer than the\n"
                "                 %d that a stage holds, so passes wait for "
                "the optimizer\n",
                m, steady.held);
        return;
    }
    if (work_s > 0)
        fprintf(out, "steady state:\n                 %.4f x that rank's work",
                m * steady.microbatch_s / work_s);
    else
        fprintf(out, "steady state:\n                 %.6g s",
                m * steady.microbatch_s);
    fprintf(out, ", bubble %.2f %% of all ranks, %.2f %% of the busiest rank\n",
            100 * steady.all_bubble, 100 * steady.bubble);
}

/* ---- as a picture ---- */

static struct mtlm_record *records_of(const struct mtlm_evaluation *e)
{
    struct mtlm_record *record = mtlm_calloc(e->n_tasks, sizeof(*record));

    for (int i = 0; i < e->n_tasks; i++) {
        const struct mtlm_evaluated_task *t = &e->task[i];

        record[i] = (struct mtlm_record){
            .rank = t->rank,
            .worker = t->worker,
            .lane = MTLM_LANE_COMPUTE,
            .phase = t->phase,
            .op = MTLM_OP_LINEAR_FWD, /* stands for any computation */
            .microbatch = t->microbatch,
            .stage = t->stage,
            .layer = -1,
            .peer = -1,
            .group = -1,
            .group_root = -1,
            .job = i,
            .match = -1,
            .ready_ns = t->start_ns,
            .start_ns = t->start_ns,
            .end_ns = t->end_ns};
    }
    return record;
}

/* Every worker of every rank: an idle one counts, too. */
static struct mtlm_trace_worker *workers_of(const struct mtlm_layout *layout)
{
    const int n = layout->pp * layout->workers;
    struct mtlm_trace_worker *worker = mtlm_calloc(n, sizeof(*worker));

    for (int i = 0; i < n; i++)
        worker[i] = (struct mtlm_trace_worker){.rank = i / layout->workers,
                                               .worker = i % layout->workers,
                                               .compute = true};
    return worker;
}

static int draw(const struct mtlm_work *work, const struct mtlm_evaluation *e,
                const struct mtlm_dry_run_files *files, struct mtlm_error *err)
{
    const struct mtlm_layout *layout = work->pipeline.layout;
    struct mtlm_record *record = records_of(e);
    struct mtlm_trace_worker *worker = workers_of(layout);
    int *stage = mtlm_calloc(layout->pp, sizeof(*stage));
    const bool many = work->pipeline.microbatches > MANY_MICROBATCHES;
    char *text = mtlm_sprintf("PP %d", mtlm_layout_pipeline(layout));
    char *policy = mtlm_sprintf("none, evaluated (%s)",
                                files->times ? files->times : "1 ms = F");
    const struct mtlm_trace_info info = {
        .ranks = layout->pp,
        .stages = layout->pp,
        .virtual_stages = layout->virtual_stages,
        .placement = layout->placement,
        .microbatches = work->pipeline.microbatches,
        .model = files->model,
        .layout = text,
        .schedule = files->name,
        .policy = policy,
        .stage_of_rank = stage,
        .worker = worker,
        .n_workers = (size_t) layout->pp * layout->workers,
        .svg_ops = files->svg_ops,
        .shown_first = many ? SHOWN_FIRST : 0,
        .shown_last = many ? SHOWN_LAST : 0};
    int rc;

    for (int r = 0; r < layout->pp; r++)
        stage[r] = r;
    rc = mtlm_trace_export_picture(files->svg, record, e->n_tasks, &info, err);
    free(policy);
    free(text);
    free(stage);
    free(worker);
    free(record);
    return rc;
}

/* ---- the evaluation ---- */

/* Returns a worker of the rank that is free when the task starts.  The
 * evaluator counts workers, but numbers none. */
static int take_worker(int64_t *free_at, int workers,
                       const struct mtlm_evaluated_task *task)
{
    for (int i = 0; i < workers; i++)
        if (free_at[i] <= task->start_ns) {
            free_at[i] = task->end_ns;
            return i;
        }
    return 0;
}

static void number_workers(struct mtlm_evaluation *e,
                           const struct mtlm_layout *layout)
{
    int64_t *free_at =
        mtlm_calloc((size_t) layout->pp * layout->workers, sizeof(*free_at));

    for (int i = 0; i < e->n_tasks; i++)
        e->task[i].worker =
            take_worker(&free_at[e->task[i].rank * layout->workers],
                        layout->workers, &e->task[i]);
    free(free_at);
}

/* Prints the modes under noise, and writes their iterations. */
static int plan_noise(const struct mtlm_program_config *config,
                      const struct mtlm_dry_run_files *files, double work_s,
                      FILE *out, struct mtlm_error *err)
{
    struct mtlm_plan_noise plan = mtlm_plan_noise_evaluate(
        config, files->noise, files->seed, files->without);
    int rc = 0;

    if (files->noise)
        mtlm_plan_noise_print(&plan, work_s, out);
    if (files->modes)
        rc = mtlm_plan_noise_write(&plan, files->modes, err);
    mtlm_plan_noise_free(&plan);
    return rc;
}

int mtlm_dry_run_schedule_check(const struct mtlm_program_config *config,
                                struct mtlm_error *err)
{
    struct mtlm_work work = mtlm_work_create(config);
    const int rc = mtlm_plan_size_check(config, work.pipeline.pieces, err);

    mtlm_work_free(&work);
    return rc;
}

int mtlm_dry_run_schedule(const struct mtlm_program_config *config,
                          const struct mtlm_dry_run_files *files, FILE *out,
                          struct mtlm_error *err)
{
    struct mtlm_work work;
    struct mtlm_evaluation e;
    double work_s;
    int rc = 0;

    mtlm_step_show("evaluating the schedule");
    work = mtlm_work_create(config);
    work.pipeline.hold = mtlm_plan_modes_hold(config, &work);
    e = mtlm_work_evaluate(&work, config);
    if (files->times && 1e9 * e.makespan_s >= MTLM_SIMULATOR_LONGEST) {
        mtlm_step_clear();
        mtlm_evaluation_free(&e);
        mtlm_work_free(&work);
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "an iteration takes more than %.0f s, the "
                              "longest time of an evaluation",
                              1e-9 * MTLM_SIMULATOR_LONGEST);
    }
    if (!mtlm_program_is_chained(config)) /* an order numbers its lanes */
        number_workers(&e, &config->layout);
    mtlm_step_clear();
    print_bubble(config, out);
    if (files->times) {
        print_times(&work.times, files->times, out);
        print_seconds(&e, config, files->name, out);
        if (!mtlm_program_is_chained(config))
            print_waits(&work, e.makespan_s, out);
        print_nodes(config, files->machine, out);
    } else {
        print_shares(&e, config, files->name, out);
    }
    work_s = files->times ? 0 : (1 - e.bubble) * e.makespan_s;
    if (mtlm_version_count(config) > 1)
        print_steady(config, &work, work_s, out);
    if (config->order)
        mtlm_plan_modes_print(config, files->without, work_s, out);
    if (files->noise || files->modes)
        rc = plan_noise(config, files, work_s, out, err);
    print_windows(&work, out);
    if (config->layout.virtual_stages > 1 && mtlm_program_is_ordered(config))
        print_slots(config, &work, out);
    if (rc == 0 && files->bound_lp)
        rc = mtlm_plan_bound(config, &work, &e, files->bound, out, err);
    if (rc == 0 && files->svg)
        rc = draw(&work, &e, files, err);
    if (rc == 0 && files->order)
        rc = mtlm_plan_order_write(files->order, config, files->searched, &work,
                                   &e, err);
    mtlm_evaluation_free(&e);
    mtlm_work_free(&work);
    return rc;
}
