/* --replan-after: measures the stages, plans again, and replaces the program of
 * a running job.  Layers may move to other ranks. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/predict/activation_memory.h"
#include "launch/checkpoint/state_copy.h"
#include "launch/job/job_replan.h"
#include "launch/job/job_run.h"
#include "launch/log/progress.h"
#include "launch/plan/second_plan.h"
#include "launch/plan/stage_text.h"
#include "launch/report/measured_times.h"
#include "launch/train/replan.h"
#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/base/standard_output.h"
#include "runtime/base/text.h"
#include "runtime/base/units.h"

/* The part of a job that depends on its plan. */
struct parts {
    struct mtlm_layout layout;
    struct mtlm_program *program;
    struct mtlm_activation_memory activation;
    struct mtlm_plan plan;
    struct mtlm_synthetic synthetic;
};

static struct parts parts_of(const struct mtlm_job *job)
{
    return (struct parts){job->layout, job->program, job->activation, job->plan,
                          job->synthetic};
}

static void set_parts(struct mtlm_job *job, const struct parts *parts)
{
    job->layout = parts->layout;
    job->program = parts->program;
    job->activation = parts->activation;
    job->plan = parts->plan;
    job->synthetic = parts->synthetic;
}

/* ---- memory ---- */

/* Returns the bytes of a host that the change takes beside the first plan:
 * copies, more layers and longer rings. */
static double more_bytes(const struct mtlm_job *job, const struct parts *second)
{
    const double more =
        job->gpu < 0 ? second->plan.total_bytes - job->plan.total_bytes : 0;

    return job->options.cluster_file
               ? 0
               : mtlm_ranks_on_host(job->ranks)
                     * ((double) mtlm_state_copy_bytes(job, second->program)
                        + fmax(0, more));
}

/* Refuses a change for which a host or a GPU lacks memory.  Collective: all
 * ranks decide alike.  built: whether this rank could build the program, else
 * err has the reason. */
static int check_memory(const struct mtlm_job *job, const struct parts *second,
                        bool built, struct mtlm_error *err)
{
    const bool on_gpu = job->gpu >= 0;
    double value[] = {
        built ? more_bytes(job, second) : 0, -(double) mtlm_memory_available(),
        on_gpu && built && mtlm_plan_gpu_bytes(&second->plan) > job->gpu_bytes,
        !built};

    mtlm_ranks_max_all(job->ranks, value, 4);
    if (value[3] > 0)
        return built ? mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                                      "another rank cannot build the second "
                                      "one's program")
                     : -1;
    if (value[2] > 0)
        return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                              "the second one needs more memory than a GPU "
                              "has");
    if (value[0] <= -value[1])
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                          "a change takes %.1f MiB more on a host, for copies "
                          "of weights and moments, and %.1f MiB are available",
                          value[0] / MTLM_MIB, -value[1] / MTLM_MIB);
}

/* ---- the change ---- */

/* Sets *second to the parts of the plan in job->options and job->wish; the
 * parts of the job stay. */
static int build_second(struct mtlm_job *job, struct parts *second,
                        struct mtlm_error *err)
{
    const struct parts first = parts_of(job);
    bool built;

    job->layout.stage_layers = job->wish.stages.layers;
    built = mtlm_job_run_build(job, err) == 0;
    *second = parts_of(job);
    set_parts(job, &first);
    return check_memory(job, second, built, err);
}

/* Replaces program and run.  The first iteration of the new run is the next
 * one. */
static void replace_run(struct mtlm_train *s, const struct parts *second)
{
    struct mtlm_job *job = s->job;
    struct mtlm_state_copy *copy = mtlm_state_copy_create(job, &second->layout);
    const double first_bytes = job->plan.total_bytes;

    job->copied_bytes = (double) mtlm_state_copy_bytes(job, second->program);
    mtlm_job_run_destroy(job);
    mtlm_job_run_free_program(job);
    set_parts(job, second);
    job->plan.total_bytes = fmax(first_bytes, job->plan.total_bytes);
    mtlm_job_run_create(job, &s->place);
    mtlm_saver_take_program(s->saver);
    mtlm_run_init(job->run);
    mtlm_state_copy_restore(copy, job);
    mtlm_state_copy_destroy(copy);
}

/* Changes to the second plan, which gets the first plan in exchange.  -1: the
 * first plan stays. */
static int change_plan(struct mtlm_train *s, struct mtlm_second_plan *plan,
                       struct mtlm_error *err)
{
    struct mtlm_job *job = s->job;
    struct parts second;

    mtlm_second_plan_swap(plan, &job->options, &job->wish);
    if (build_second(job, &second, err) == 0) {
        replace_run(s, &second);
        return 0;
    }
    mtlm_second_plan_swap(plan, &job->options, &job->wish);
    mtlm_program_destroy(second.program);
    mtlm_activation_memory_free(&second.activation);
    return -1;
}

/* ---- the log line ---- */

static void write_times(const struct mtlm_stage_times *times, FILE *out)
{
    mtlm_stage_text_pass("F", times->forward, times->stages, out);
    mtlm_stage_text_pass(", B", times->backward, times->stages, out);
    mtlm_stage_text_pass(", W", times->weight, times->stages, out);
    fprintf(out, ", a message %.4g ms; ", 1e3 * times->hop);
}

/* What the log line says of a program. */
struct shape {
    struct mtlm_layout layout;
    int64_t num_layers;
    struct mtlm_window *window; /* [stages], owned */
};

static struct shape shape_of(const struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    const int stages = mtlm_layout_stages(&config->layout);
    struct shape shape = {.layout = config->layout,
                          .num_layers = config->model.num_layers,
                          .window = mtlm_calloc(stages, sizeof(*shape.window))};

    memcpy(shape.window, program->window, stages * sizeof(*shape.window));
    return shape;
}

static void write_layers(const struct shape *shape, FILE *out)
{
    mtlm_stage_text_layers(&shape->layout, shape->num_layers, out);
}

static void write_windows(const struct shape *shape, FILE *out)
{
    mtlm_stage_text_windows(shape->window, mtlm_layout_stages(&shape->layout),
                            out);
}

/* Writes the change of a plan: "layers 8 8 become 7 9, windows 2 1 become 2
 * 1". */
static void write_change(const struct shape *first, const struct shape *second,
                         bool moves, FILE *out)
{
    if (moves) {
        fputs(": layers", out);
        write_layers(first, out);
        fputs(" become", out);
        write_layers(second, out);
    }
    fputs(moves ? ", windows" : ": windows", out);
    write_windows(first, out);
    fputs(" become", out);
    write_windows(second, out);
}

/* Writes the seconds of both plans. */
static void write_seconds(const struct mtlm_second_plan *plan, FILE *out)
{
    fprintf(out,
            "F, B and W of an iteration take %.6g s by the first plan, %.6g s "
            "by a second one",
            plan->old_s, plan->new_s);
}

/* Prints the text, which is freed, where the log goes. */
static void print_line(struct mtlm_train *s, struct mtlm_text *text)
{
    char *line = mtlm_text_close(text);

    if (s->log.prints) {
        mtlm_progress_hide();
        printf("plan: after iteration %" PRId64 ", %s\n", s->place.iteration,
               line);
        mtlm_standard_output_flush();
    }
    free(line);
}

/* ---- all together ---- */

/* Changes to a plan and writes so.  Returns false, and writes why, where the
 * first plan stays. */
static bool take_plan(struct mtlm_train *s, struct mtlm_second_plan *plan,
                      FILE *out)
{
    const struct mtlm_job *job = s->job;
    const int64_t start = mtlm_now_ns();
    struct shape first = shape_of(job->program), second;
    struct mtlm_error err;
    const bool changes = change_plan(s, plan, &err) == 0;

    write_seconds(plan, out);
    if (changes) {
        second = shape_of(job->program);
        write_change(&first, &second, plan->moves, out);
        fprintf(out, "%s; changed in %.2f s",
                mtlm_second_plan_follow(&job->program->config),
                1e-9 * (mtlm_now_ns() - start));
        free(second.window);
    } else {
        fputs(plan->moves ? ": layers" : ": windows", out);
        (plan->moves ? write_layers : write_windows)(&first, out);
        fprintf(out, " stay, %s", err.text);
    }
    free(first.window);
    return changes;
}

/* Takes the better of the plans with and without moves, if the plan is worth a
 * change; writes the rest of the line.  plan: without moves. */
static void weigh_plan(struct mtlm_train *s,
                       const struct mtlm_first_plan *first_plan,
                       struct mtlm_second_plan *plan,
                       const struct mtlm_stage_times *in_layers, FILE *out)
{
    struct mtlm_second_plan moved;

    if (mtlm_second_plan_move(first_plan, plan, in_layers, &moved)) {
        const bool taken = take_plan(s, &moved, out);

        mtlm_second_plan_free(&moved);
        if (taken)
            return;
        fputs("; without moves, ", out);
    }
    if (mtlm_second_plan_is_worth(plan)) {
        take_plan(s, plan, out);
        return;
    }
    write_seconds(plan, out);
    fputs(": the first plan stays", out);
}

/* Makes a plan from the measured times, which the function frees; writes the
 * line. */
static void plan_again(struct mtlm_train *s, struct mtlm_measured_times *times,
                       FILE *out)
{
    struct mtlm_job *job = s->job;
    const struct mtlm_first_plan first = {&job->options, &job->wish,
                                          &job->choice, job->program};
    struct mtlm_second_plan plan;
    struct mtlm_error err;

    write_times(&times->stage, out);
    if (mtlm_second_plan_make(&first, &times->stage, &plan, &err) < 0) {
        fprintf(out, "the first plan stays: %s", err.text);
    } else {
        weigh_plan(s, &first, &plan, &times->in_layers, out);
        mtlm_second_plan_free(&plan);
    }
    mtlm_stage_times_free(&times->in_layers);
}

void mtlm_replan(struct mtlm_train *s)
{
    struct mtlm_job *job = s->job;
    const int64_t start = mtlm_now_ns();
    struct mtlm_measured_times times;
    struct mtlm_error err;
    struct mtlm_text text;
    FILE *out = mtlm_text_open(&text);

    mtlm_saver_finish(s->saver);
    mtlm_run_wait(job->run);
    if (mtlm_measured_times(job, mtlm_job_replan_first(job), &times, &err) < 0)
        fprintf(out, "the first plan stays: %s", err.text);
    else
        plan_again(s, &times, out);
    mtlm_recorder_clear(job->recorder);
    if (!mtlm_job_traces(job))
        mtlm_run_end_records(job->run);
    print_line(s, &text);
    mtlm_train_log_pause(&s->log, mtlm_now_ns() - start);
}
