/* Log lines and metrics of iterations and validations, and the time left. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/log/log_line.h"
#include "launch/log/progress.h"
#include "launch/log/short_line.h"
#include "launch/options/options_trace.h"
#include "launch/train/train_log.h"
#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/base/standard_output.h"
#include "runtime/machine/signals.h"

void mtlm_train_log_start(struct mtlm_train_log *log,
                          const struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;
    const int last = mtlm_ranks_size(job->ranks) - 1;

    *log = (struct mtlm_train_log){
        .job = job,
        .prints = mtlm_ranks_rank(job->ranks) == last,
        .end = mtlm_options_last_iteration(o, job->begin.iteration),
        .start_ns = mtlm_now_ns()};
    log->deadline_ns =
        job->deadline_ns > 0
            ? job->deadline_ns
            : log->start_ns + (int64_t) (o->exit_duration_mins * 60e9);
    log->is_short = o->log_format == MTLM_LOG_SHORT;
    log->colour = !o->launched && mtlm_short_line_colours(STDOUT_FILENO);
    log->line.since_ns = log->step.since_ns = log->start_ns;
    log->line.skipped = log->step.skipped = job->skipped_before;
}

static void add_iteration(struct mtlm_train_span *span,
                          const struct mtlm_train_ended *ended)
{
    const double *r = ended->report;
    const bool step = r[MTLM_CONTROL_APPLY] != 0;

    /* As in Megatron: the mean of iterations with an optimizer step. */
    for (int i = 0; i < MTLM_LOSS_COUNT && step; i++)
        span->loss[i] += r[MTLM_CONTROL_LOSS + i];
    span->steps += step;
    span->iterations++;
    span->samples += r[MTLM_CONTROL_BATCH];
    mtlm_trace_usage_add(&span->traced, &ended->traced);
}

/* Begins the next span at the end of this iteration. */
static void begin_span(struct mtlm_train_span *span,
                       const struct mtlm_train_ended *ended)
{
    *span =
        (struct mtlm_train_span){.since_ns = ended->now_ns,
                                 .skipped = ended->report[MTLM_CONTROL_SKIPPED],
                                 .nan = ended->report[MTLM_CONTROL_NAN]};
}

/* Validations left after `done` iterations, and the test behind the last
 * iteration of the training. */
static double validations_left(const struct mtlm_train_log *log, int64_t done)
{
    const struct mtlm_options *o = &log->job->options;
    const bool tests = log->job->test && log->end >= o->train_iters;

    if (o->eval_iters == 0)
        return 0;
    return log->end / o->eval_interval - done / o->eval_interval
           + (log->end % o->eval_interval != 0) + tests;
}

double mtlm_train_log_time_left(const struct mtlm_train_log *log)
{
    return (log->deadline_ns - mtlm_now_ns()) * 1e-9;
}

/* Time left when `per_samples` samples take `seconds`. */
static double seconds_left(const struct mtlm_train_log *log, double seconds,
                           double per_samples,
                           const double r[MTLM_CONTROL_COUNT])
{
    const struct mtlm_options *o = &log->job->options;
    const double done = r[MTLM_CONTROL_ITERATION];
    const double samples =
        log->end == o->train_iters
                && mtlm_options_given(o, MTLM_OPT_TRAIN_SAMPLES)
            ? o->train_samples - r[MTLM_CONTROL_SAMPLES]
            : (log->end - done) * r[MTLM_CONTROL_BATCH];
    const double limit = mtlm_train_log_time_left(log);
    double left = fmax(samples, 0) * seconds / per_samples;

    if (log->evals > 0)
        left += validations_left(log, (int64_t) done) * log->all_eval_ns * 1e-9
                / log->evals;
    if (o->exit_duration_mins > 0)
        left = fmax(fmin(left, limit), 0);
    return left;
}

void mtlm_train_log_text(const struct mtlm_train_log *log, char *text)
{
    if (log->prints) {
        mtlm_progress_hide();
        puts(text);
        if (mtlm_standard_output_flush() == EPIPE
            && mtlm_stop_requested() < MTLM_STOP_SIGNAL)
            raise(SIGTERM);
    }
    free(text);
}

/* Fields of the log line of a span that ends with this iteration. */
static struct mtlm_log_iteration describe_span(
    const struct mtlm_train_log *log, const struct mtlm_train_span *span,
    const struct mtlm_train_ended *ended)
{
    const double *r = ended->report;
    const struct mtlm_options *o = &log->job->options;
    const double seconds =
        (ended->now_ns - span->since_ns - span->eval_ns) * 1e-9;
    const double flops = mtlm_model_flops(&o->model, 1) * span->samples;
    const bool steps = span->steps > 0, sop = o->model.binary_head && steps;

    return (struct mtlm_log_iteration){
        .time = time(NULL),
        .iteration = r[MTLM_CONTROL_ITERATION],
        .iterations = o->train_iters,
        .samples = r[MTLM_CONTROL_SAMPLES],
        .iteration_ms = 1000 * seconds / span->iterations,
        .tflops = o->log_throughput ? flops / seconds / 1e12
                                          / mtlm_ranks_size(log->job->ranks)
                                    : -1,
        /* As in Megatron: the rate of the next iteration. */
        .lr = r[MTLM_CONTROL_NEXT_LR],
        .global_batch = r[MTLM_CONTROL_BATCH],
        .loss = steps ? span->loss[MTLM_LOSS_LM] / span->steps : -1,
        .sop_loss = sop ? span->loss[MTLM_LOSS_SOP] / span->steps : -1,
        .loss_scale = r[MTLM_CONTROL_LOSS_SCALE],
        .grad_norm = fabs(r[MTLM_CONTROL_NORM]), /* a NaN may have a sign */
        .zeros = o->log_num_zeros ? r[MTLM_CONTROL_ZEROS] : -1,
        .params_norm = ended->params_norm,
        .skipped = r[MTLM_CONTROL_SKIPPED] - span->skipped,
        .nan = r[MTLM_CONTROL_NAN] - span->nan,
        .sop_accuracy = sop ? span->loss[MTLM_LOSS_SOP_HITS] / span->steps : -1,
        .tokens_per_second = span->samples * o->model.seq_length / seconds,
        .seconds_left = seconds_left(log, seconds, span->samples, r),
        .bubble = mtlm_trace_usage_bubble(&span->traced),
        .overlap = mtlm_trace_usage_overlap(&span->traced)};
}

void mtlm_train_log_add(struct mtlm_train_log *log,
                        const struct mtlm_train_ended *ended)
{
    struct mtlm_log_iteration told;

    add_iteration(&log->step, ended);
    add_iteration(&log->line, ended);
    log->all_samples += ended->report[MTLM_CONTROL_BATCH];
    told = describe_span(log, &log->step, ended);
    mtlm_metrics_step(log->job->metrics, &told);
    begin_span(&log->step, ended);
    if (!ended->line_due)
        return;
    told = describe_span(log, &log->line, ended);
    mtlm_train_log_text(log, log->is_short
                                 ? mtlm_short_line_iteration(&told, log->colour)
                                 : mtlm_log_iteration_line(&told));
    begin_span(&log->line, ended);
}

void mtlm_train_log_validation(struct mtlm_train_log *log, int64_t iterations,
                               const char *on,
                               const double r[MTLM_STATUS_EXTRA], int64_t ns)
{
    const struct mtlm_model *model = &log->job->options.model;
    const bool binary = model->binary_head;
    const double sop = binary ? r[MTLM_STATUS_SOP] : -1;
    const double hits = binary ? r[MTLM_STATUS_SOP_HITS] : -1;
    const char *set = strstr(on, "test") ? "test" : "validation";
    char *where = mtlm_sprintf("iteration %" PRId64 "%s", iterations, on);
    /* ns 0: a short log has this result already. */
    const bool told = log->is_short && ns == 0;

    if (!told)
        mtlm_train_log_text(
            log,
            log->is_short ? mtlm_short_line_validation(
                set, iterations, r[MTLM_STATUS_LOSS],
                model->head == MTLM_HEAD_PRETRAINING, sop, hits, log->colour)
                          : mtlm_log_validation_lines(
                              where, r[MTLM_STATUS_LOSS], sop, hits));
    free(where);
    if (ns > 0)
        mtlm_metrics_validation(log->job->metrics, iterations, set,
                                r[MTLM_STATUS_LOSS], sop, hits);
    mtlm_train_log_cut(log, ns);
    log->evals += ns > 0;
}

void mtlm_train_log_cut(struct mtlm_train_log *log, int64_t ns)
{
    mtlm_train_log_pause(log, ns);
    log->all_eval_ns += ns;
}

void mtlm_train_log_pause(struct mtlm_train_log *log, int64_t ns)
{
    log->line.eval_ns += ns;
    log->step.eval_ns += ns;
}

void mtlm_train_log_progress(const struct mtlm_job *job,
                             struct mtlm_progress_work work)
{
    work.launched = job->options.launched;
    if (mtlm_ranks_rank(job->ranks) == 0)
        mtlm_progress_start(&work);
}
