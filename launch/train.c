#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "launch/job.h"
#include "launch/log_line.h"
#include "launch/progress.h"
#include "launch/summary_text.h"
#include "runtime/clock.h"
#include "runtime/signals.h"

/* Where the loop stands. */
struct state {
    struct mtlm_job *job;
    struct mtlm_dump *dump;
    struct mtlm_ramp_place place; /* of the iteration that is waited for */
    bool talks;       /* prints the log lines: the last rank, as in Megatron */
    int64_t start_ns; /* first iteration submitted */
    int64_t last_log_ns; /* last line printed */
    int64_t eval_ns;     /* spent in validations since then */
    int64_t all_eval_ns; /* and in all */
    double loss_sum;     /* of the iterations since the last line */
    int64_t loss_count;
    double samples;      /* of theirs */
    double all_samples;  /* and in all */
    double skipped, nan; /* in all, at the last line */
    struct mtlm_summary_text text;
    bool interrupted; /* by a signal: the same on all ranks */
    int code;         /* may be this rank's own */
};

static bool recorded(const struct mtlm_options *o, int64_t iteration)
{
    return o->trace_dir && iteration + 1 >= o->trace_iterations.first
           && iteration + 1 <= o->trace_iterations.last;
}

static void submit(struct state *s, int64_t iteration)
{
    mtlm_run_iteration(s->job->run, iteration,
                       recorded(&s->job->options, iteration));
}

static void print_line(struct state *s, const double r[MTLM_CONTROL_COUNT])
{
    const struct mtlm_job *job = s->job;
    const struct mtlm_options *o = &job->options;
    const int64_t now = mtlm_now_ns();
    const double seconds = (now - s->last_log_ns - s->eval_ns) * 1e-9;
    const double flops = mtlm_model_flops(&o->model, 1) * s->samples;
    char *line = mtlm_log_iteration_line(&(struct mtlm_log_iteration){
        .time = time(NULL),
        .iteration = r[MTLM_CONTROL_ITERATION],
        .iterations = o->train_iters,
        .samples = r[MTLM_CONTROL_SAMPLES],
        .iteration_ms = 1000 * seconds / s->loss_count,
        .tflops = o->log_throughput
                      ? flops / seconds / 1e12 / mtlm_ranks_size(job->ranks)
                      : -1,
        /* As Megatron: what the next iteration will use. */
        .lr = r[MTLM_CONTROL_NEXT_LR],
        .global_batch = r[MTLM_CONTROL_BATCH],
        .loss = s->loss_sum / s->loss_count,
        .loss_scale = 1,
        .grad_norm = r[MTLM_CONTROL_NORM],
        .skipped = r[MTLM_CONTROL_SKIPPED] - s->skipped,
        .nan = r[MTLM_CONTROL_NAN] - s->nan,
        .tokens_per_second = s->samples * o->model.seq_length / seconds,
        .bubble = -1,
        .overlap = -1});

    if (s->talks) {
        puts(line);
        fflush(stdout);
    }
    free(line);
    s->last_log_ns = now;
    s->eval_ns = 0;
    s->loss_sum = s->loss_count = s->samples = 0;
    s->skipped = r[MTLM_CONTROL_SKIPPED];
    s->nan = r[MTLM_CONTROL_NAN];
}

static bool log_due(const struct mtlm_options *o, int64_t iteration, bool last)
{
    return (iteration + 1) % o->log_interval == 0 || last;
}

/* Validates after `done` iterations; nothing else runs meanwhile. */
static void validate(struct state *s, int64_t done, bool record)
{
    const int64_t start = mtlm_now_ns();
    double r[MTLM_STATUS_EXTRA];
    char where[64], *lines;

    mtlm_run_validation(s->job->run, done > 0 ? done - 1 : 0, record);
    mtlm_run_eval_report(s->job->run, r);
    snprintf(where, sizeof(where), "iteration %" PRId64, done);
    lines = mtlm_log_validation_lines(where, r[MTLM_STATUS_LOSS]);
    if (s->talks) {
        puts(lines);
        fflush(stdout);
    }
    free(lines);
    if (!s->text.has_validation)
        s->text.first_validation = r[MTLM_STATUS_LOSS];
    s->text.has_validation = true;
    s->text.last_validation = r[MTLM_STATUS_LOSS];
    s->eval_ns += mtlm_now_ns() - start;
    s->all_eval_ns += mtlm_now_ns() - start;
}

/* All ranks look for the first node that made a value that is not finite;
 * the rank whose node comes first says so. */
static void explain_nan(struct state *s, int64_t iteration)
{
    struct mtlm_ranks *ranks = s->job->ranks;
    struct mtlm_bad_node bad;
    int64_t mine, first;

    mtlm_run_find_bad_node(s->job->run, iteration, &bad);
    mtlm_job_stop_engine(s->job);
    /* Ranks of a tensor-parallel group may have the same node: one says so. */
    mine = bad.found
               ? bad.order * mtlm_ranks_size(ranks) + mtlm_ranks_rank(ranks)
               : INT64_MAX;
    first = mtlm_ranks_min(ranks, mine);
    if (first == INT64_MAX) {
        if (mtlm_ranks_rank(ranks) == 0)
            fprintf(stderr,
                    "mtlm-dag: iteration %" PRId64
                    ": loss or gradient norm is not finite, but every node "
                    "is when run again\n",
                    iteration + 1);
    } else if (mine == first) {
        fprintf(stderr,
                "mtlm-dag: iteration %" PRId64 ": rank %d: %s made the first "
                "value that is not finite\n",
                iteration + 1, mtlm_ranks_rank(ranks), bad.text);
    }
    s->code = MTLM_EXIT_NUMERIC;
}

/* Whether the run ends early, decided from what all ranks were told. */
static bool must_stop(struct state *s, const double r[MTLM_CONTROL_COUNT])
{
    if (r[MTLM_CONTROL_STOP] >= MTLM_STOP_SIGNAL)
        s->interrupted = true;
    return r[MTLM_CONTROL_STOP] > 0;
}

static void watch_clock(const struct state *s)
{
    const double limit = s->job->options.exit_duration_mins;

    if (limit > 0 && mtlm_now_ns() - s->start_ns > limit * 60e9)
        mtlm_stop_request();
}

/* Waits for iteration e's report; true: the loss was finite. */
static bool report(struct state *s, int64_t e, double r[MTLM_CONTROL_COUNT])
{
    mtlm_progress_start(e + 1,
                        mtlm_job_microbatches_in(s->job, s->place.batch));
    mtlm_run_report(s->job->run, e, r);
    mtlm_progress_end();
    s->loss_sum += r[MTLM_CONTROL_LOSS];
    mtlm_ramp_next(&s->job->options.ramp, &s->place);
    s->loss_count++;
    s->samples += r[MTLM_CONTROL_BATCH];
    s->all_samples += r[MTLM_CONTROL_BATCH];
    s->text.iterations = e + 1;
    if (s->dump && e == 0) {
        struct mtlm_error err;

        if (mtlm_dump_write(s->dump, r, &err) < 0) {
            fprintf(stderr, "mtlm-dag: %s\n", err.text);
            s->code = err.code;
        }
        s->dump = NULL;
    }
    return r[MTLM_CONTROL_NAN] == 0;
}

/* A signal wants the end soon; whoever sets a time limit wants to know how
 * far it got. */
static bool validation_due(const struct state *s, int64_t e, bool last)
{
    const struct mtlm_options *o = &s->job->options;

    return o->eval_iters > 0 && !s->interrupted
           && ((e + 1) % o->eval_interval == 0 || last);
}

/* Iteration e + 1 is submitted while e runs, so that the workers never wait
 * for the host; only before a validation the host waits, so that its time is
 * its own. */
static void loop(struct state *s)
{
    const struct mtlm_options *o = &s->job->options;
    bool stop = false;

    submit(s, 0);
    mtlm_run_on_gradients(s->job->run, NULL, NULL);
    for (int64_t e = 0; e < o->train_iters; e++) {
        const bool last = e + 1 == o->train_iters || stop;
        const bool ahead = !last && !validation_due(s, e, last);
        double r[MTLM_CONTROL_COUNT];
        bool finite;

        if (ahead)
            submit(s, e + 1);
        finite = report(s, e, r);
        if (log_due(o, e, last) || !finite)
            print_line(s, r);
        if (!finite) {
            explain_nan(s, e);
            return;
        }
        if (!last) {
            watch_clock(s);
            stop = must_stop(s, r);
        }
        if (!ahead && validation_due(s, e, last))
            validate(s, e + 1, recorded(o, e));
        if (last)
            return;
        if (!ahead)
            submit(s, e + 1);
    }
}

static void prepare(struct state *s)
{
    struct mtlm_job *job = s->job;

    mtlm_run_init(job->run);
    if (job->options.dump_dir) {
        s->dump = mtlm_dump_create(job);
        mtlm_dump_weights(s->dump);
        mtlm_run_on_gradients(job->run, mtlm_dump_gradients, s->dump);
    }
    if (job->options.summary_text && job->options.eval_iters > 0)
        validate(s, 0, false);
    s->start_ns = s->last_log_ns = mtlm_now_ns();
    s->eval_ns = s->all_eval_ns = 0;
}

/* A run that was to stop but had its last iteration under way is complete. */
static void say_end(struct state *s)
{
    const struct mtlm_options *o = &s->job->options;
    const bool complete = s->text.iterations == o->train_iters;

    if (s->interrupted && !complete && s->code == MTLM_EXIT_OK)
        s->code = MTLM_EXIT_INTERRUPTED;
    if (complete || mtlm_ranks_rank(s->job->ranks) != 0)
        return;
    fprintf(stderr,
            "mtlm-dag: stopped by %s after iteration %" PRId64 " of %" PRId64
            "\n",
            s->interrupted ? "a signal" : "--exit-duration-in-mins",
            s->text.iterations, o->train_iters);
}

static void finish(struct state *s)
{
    struct mtlm_job *job = s->job;
    const double seconds =
        (mtlm_now_ns() - s->start_ns - s->all_eval_ns) * 1e-9;
    const bool good = s->code != MTLM_EXIT_NUMERIC;
    struct mtlm_weight_hash *hash =
        job->options.weight_hash && good ? mtlm_weight_hash_read(job) : NULL;
    struct mtlm_error err;

    mtlm_job_stop_engine(job);
    if (hash)
        mtlm_weight_hash_print(hash, job);
    s->text.tokens_per_second =
        s->all_samples * job->options.model.seq_length / seconds;
    s->text.bubble = -1;
    if (job->options.trace_dir && good
        && mtlm_job_trace(job, &s->text.bubble, &err) < 0) {
        fprintf(stderr, "mtlm-dag: %s\n", err.text);
        if (s->code == MTLM_EXIT_OK)
            s->code = err.code;
    }
    if (job->options.summary_text && good && mtlm_ranks_rank(job->ranks) == 0)
        mtlm_summary_text_print(&s->text, job, stdout);
    if (good)
        say_end(s);
}

int mtlm_job_train(struct mtlm_job *job)
{
    struct state s = {.job = job,
                      .talks = mtlm_ranks_rank(job->ranks)
                               == mtlm_ranks_size(job->ranks) - 1,
                      .place = mtlm_ramp_begin(&job->options.ramp),
                      .code = MTLM_EXIT_OK};

    prepare(&s);
    loop(&s);
    finish(&s);
    return s.code;
}
