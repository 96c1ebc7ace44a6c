#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "launch/log_line.h"
#include "launch/train_log.h"
#include "runtime/clock.h"

void mtlm_train_log_start(struct mtlm_train_log *log,
                          const struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;
    const int last = mtlm_ranks_size(job->ranks) - 1;

    *log = (struct mtlm_train_log){
        .job = job,
        .prints = mtlm_ranks_rank(job->ranks) == last,
        .end = o->exit_interval > 0 && o->exit_interval < o->train_iters
                   ? o->exit_interval
                   : o->train_iters,
        .start_ns = mtlm_now_ns()};
    log->last_ns = log->start_ns;
}

void mtlm_train_log_add(struct mtlm_train_log *log,
                        const double r[MTLM_CONTROL_COUNT])
{
    const bool step = r[MTLM_CONTROL_APPLY] != 0;

    /* As Megatron: the mean is that of the iterations with a step. */
    for (int i = 0; i < MTLM_LOSS_COUNT && step; i++)
        log->loss[i] += r[MTLM_CONTROL_LOSS + i];
    log->steps += step;
    log->iterations++;
    log->samples += r[MTLM_CONTROL_BATCH];
    log->all_samples += r[MTLM_CONTROL_BATCH];
}

/* Validations that come after that many iterations. */
static double validations_left(const struct mtlm_train_log *log, int64_t done)
{
    const struct mtlm_options *o = &log->job->options;

    if (o->eval_iters == 0)
        return 0;
    return log->end / o->eval_interval - done / o->eval_interval
           + (log->end % o->eval_interval != 0) + (log->job->test != NULL);
}

/* At the pace of the iterations since the last line. */
static double seconds_left(const struct mtlm_train_log *log, double seconds,
                           const double r[MTLM_CONTROL_COUNT])
{
    const struct mtlm_options *o = &log->job->options;
    const double done = r[MTLM_CONTROL_ITERATION];
    const double samples = log->end == o->train_iters
                               ? o->train_samples - r[MTLM_CONTROL_SAMPLES]
                               : (log->end - done) * r[MTLM_CONTROL_BATCH];
    const double limit =
        o->exit_duration_mins * 60 - (mtlm_now_ns() - log->start_ns) * 1e-9;
    double left = fmax(samples, 0) * seconds / log->samples;

    if (log->evals > 0)
        left += validations_left(log, (int64_t) done) * log->all_eval_ns * 1e-9
                / log->evals;
    if (o->exit_duration_mins > 0)
        left = fmax(fmin(left, limit), 0);
    return left;
}

static void put(const struct mtlm_train_log *log, char *text)
{
    if (log->prints) {
        puts(text);
        fflush(stdout);
    }
    free(text);
}

void mtlm_train_log_line(struct mtlm_train_log *log,
                         const double r[MTLM_CONTROL_COUNT], double params_norm)
{
    const struct mtlm_options *o = &log->job->options;
    const int64_t now = mtlm_now_ns();
    const double seconds = (now - log->last_ns - log->eval_ns) * 1e-9;
    const double flops = mtlm_model_flops(&o->model, 1) * log->samples;
    const double steps = log->steps > 0 ? log->steps : 1;
    const bool sop = o->model.binary_head;

    put(log,
        mtlm_log_iteration_line(&(struct mtlm_log_iteration){
            .time = time(NULL),
            .iteration = r[MTLM_CONTROL_ITERATION],
            .iterations = o->train_iters,
            .samples = r[MTLM_CONTROL_SAMPLES],
            .iteration_ms = 1000 * seconds / log->iterations,
            .tflops = o->log_throughput ? flops / seconds / 1e12
                                              / mtlm_ranks_size(log->job->ranks)
                                        : -1,
            /* As Megatron: what the next iteration will use. */
            .lr = r[MTLM_CONTROL_NEXT_LR],
            .global_batch = r[MTLM_CONTROL_BATCH],
            .loss = log->loss[MTLM_LOSS_LM] / steps,
            .sop_loss = sop ? log->loss[MTLM_LOSS_SOP] / steps : -1,
            .loss_scale = 1,
            .grad_norm = r[MTLM_CONTROL_NORM],
            .zeros = o->log_num_zeros ? r[MTLM_CONTROL_ZEROS] : -1,
            .params_norm = o->log_params_norm ? params_norm : -1,
            .skipped = r[MTLM_CONTROL_SKIPPED] - log->skipped,
            .nan = r[MTLM_CONTROL_NAN] - log->nan,
            .sop_accuracy = sop ? log->loss[MTLM_LOSS_SOP_HITS] / steps : -1,
            .tokens_per_second = log->samples * o->model.seq_length / seconds,
            .seconds_left = seconds_left(log, seconds, r),
            .bubble = -1,
            .overlap = -1}));
    log->last_ns = now;
    log->eval_ns = 0;
    for (int i = 0; i < MTLM_LOSS_COUNT; i++)
        log->loss[i] = 0;
    log->iterations = log->steps = 0;
    log->samples = 0;
    log->skipped = r[MTLM_CONTROL_SKIPPED];
    log->nan = r[MTLM_CONTROL_NAN];
}

void mtlm_train_log_validation(struct mtlm_train_log *log, const char *where,
                               const double r[MTLM_STATUS_EXTRA], int64_t ns)
{
    const bool sop = log->job->options.model.binary_head;

    put(log, mtlm_log_validation_lines(where, r[MTLM_STATUS_LOSS],
                                       sop ? r[MTLM_STATUS_SOP] : -1,
                                       sop ? r[MTLM_STATUS_SOP_HITS] : -1));
    log->eval_ns += ns;
    log->all_eval_ns += ns;
    log->evals += ns > 0;
}
