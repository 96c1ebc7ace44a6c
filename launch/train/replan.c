/* --replan-after: measures the stages, plans again, and replaces the program of
 * a running job. */
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

#define MIB (1024.0 * 1024)

/* The part of a job that depends on its plan. */
struct parts {
    struct mtlm_program *program;
    struct mtlm_activation_memory activation;
    struct mtlm_plan plan;
    struct mtlm_synthetic synthetic;
};

static struct parts parts_of(const struct mtlm_job *job)
{
    return (struct parts){job->program, job->activation, job->plan,
                          job->synthetic};
}

static void set_parts(struct mtlm_job *job, const struct parts *parts)
{
    job->program = parts->program;
    job->activation = parts->activation;
    job->plan = parts->plan;
    job->synthetic = parts->synthetic;
}

/* ---- memory ---- */

/* Returns the bytes of a host that the change takes beside the first plan:
 * copies, and longer rings. */
static double more_bytes(const struct mtlm_job *job, const struct parts *second)
{
    const double rings =
        job->gpu < 0 ? second->plan.total_bytes - job->plan.total_bytes : 0;

    return job->options.cluster_file
               ? 0
               : mtlm_ranks_on_host(job->ranks)
                     * ((double) mtlm_state_copy_bytes(job) + fmax(0, rings));
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
                          value[0] / MIB, -value[1] / MIB);
}

/* ---- the change ---- */

/* Sets *second to the parts of the plan in job->options and job->wish; the
 * parts of the job stay. */
static int build_second(struct mtlm_job *job, struct parts *second,
                        struct mtlm_error *err)
{
    const struct parts first = parts_of(job);
    const bool built = mtlm_job_run_build(job, err) == 0;

    *second = parts_of(job);
    set_parts(job, &first);
    return check_memory(job, second, built, err);
}

/* Replaces program and run.  The first iteration of the new run is the next
 * one. */
static void replace_run(struct mtlm_train *s, const struct parts *second)
{
    struct mtlm_job *job = s->job;
    struct mtlm_state_copy *copy = mtlm_state_copy_create(job);
    const double first_bytes = job->plan.total_bytes;

    job->copied_bytes =
        job->options.cluster_file ? 0 : (double) mtlm_state_copy_bytes(job);
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

static void write_windows(const struct mtlm_program *program, FILE *out)
{
    mtlm_stage_text_windows(program->window,
                            mtlm_layout_stages(&program->config.layout), out);
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
static void print_line(struct mtlm_train *s, FILE *out, char **text)
{
    fclose(out);
    if (s->log.prints) {
        mtlm_progress_hide();
        printf("plan: after iteration %" PRId64 ", %s\n", s->place.iteration,
               *text);
        mtlm_standard_output_flush();
    }
    free(*text);
}

/* ---- all together ---- */

/* Weighs and takes the second plan; writes the rest of the line. */
static void weigh_plan(struct mtlm_train *s, struct mtlm_second_plan *plan,
                       FILE *out)
{
    struct mtlm_job *job = s->job;
    const int64_t start = mtlm_now_ns();
    struct mtlm_error err;

    write_seconds(plan, out);
    if (!mtlm_second_plan_is_worth(plan)) {
        fprintf(out, ": the first plan stays");
        return;
    }
    fprintf(out, ": windows");
    write_windows(job->program, out);
    if (change_plan(s, plan, &err) < 0) {
        fprintf(out, " stay, %s", err.text);
        return;
    }
    fprintf(out, " become");
    write_windows(job->program, out);
    fprintf(out, "%s; changed in %.2f s",
            mtlm_second_plan_follow(&job->program->config),
            1e-9 * (mtlm_now_ns() - start));
}

void mtlm_replan(struct mtlm_train *s)
{
    struct mtlm_job *job = s->job;
    const int64_t start = mtlm_now_ns();
    struct mtlm_stage_times times;
    struct mtlm_second_plan plan;
    struct mtlm_error err;
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    mtlm_saver_finish(s->saver);
    mtlm_run_wait(job->run);
    if (mtlm_measured_times(job, mtlm_job_replan_first(job), &times, &err)
        < 0) {
        fprintf(out, "the first plan stays: %s", err.text);
    } else {
        write_times(&times, out);
        if (mtlm_second_plan_make(&job->options, &job->wish, &job->choice,
                                  job->program, &times, &plan, &err)
            < 0) {
            fprintf(out, "the first plan stays: %s", err.text);
        } else {
            weigh_plan(s, &plan, out);
            mtlm_second_plan_free(&plan);
        }
    }
    mtlm_recorder_clear(job->recorder);
    if (!mtlm_job_traces(job))
        mtlm_run_end_records(job->run);
    print_line(s, out, &text);
    mtlm_train_log_pause(&s->log, mtlm_now_ns() - start);
}
