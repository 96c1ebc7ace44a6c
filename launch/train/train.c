/* The training loop: submits an iteration ahead, waits for reports, validates,
 * saves and ends. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "codelets/note.h"
#include "launch/checkpoint/checkpoint.h"
#include "launch/checkpoint/job_best.h"
#include "launch/job/job_offload.h"
#include "launch/job/job_outputs.h"
#include "launch/job/job_replan.h"
#include "launch/log/progress.h"
#include "launch/report/trace_job.h"
#include "launch/report/traced_iteration.h"
#include "launch/train/dump.h"
#include "launch/train/replan.h"
#include "launch/train/train.h"
#include "launch/train/train_end.h"
#include "launch/train/train_private.h"
#include "launch/train/weight_hash.h"
#include "runtime/base/clock.h"
#include "runtime/base/standard_output.h"
#include "runtime/machine/signals.h"

/* Returns what the recorder keeps of an iteration. */
static enum mtlm_recording recording_of(const struct mtlm_job *job,
                                        int64_t iteration)
{
    return mtlm_job_records(job, iteration)           ? MTLM_RECORDING_ALL
           : mtlm_job_replan_measures(job, iteration) ? MTLM_RECORDING_TIMES
                                                      : MTLM_RECORDING_NOTHING;
}

static void submit_iteration(struct mtlm_train *s, int64_t iteration)
{
    const int64_t before = mtlm_run_submitted(s->job->run);

    mtlm_run_iteration(s->job->run, iteration, recording_of(s->job, iteration));
    s->nodes[iteration % 2] = mtlm_run_submitted(s->job->run) - before;
}

static bool log_due(const struct mtlm_options *o, int64_t iteration, bool last)
{
    return (iteration + 1) % o->log_interval == 0 || last;
}

static void write_dump(struct mtlm_train *s, const double r[MTLM_CONTROL_COUNT])
{
    struct mtlm_error err;

    if (mtlm_dump_write(s->dump, r, &err) < 0) {
        mtlm_progress_hide();
        mtlm_warn("%s", err.text);
        s->code = err.code;
    }
    s->dump = NULL;
}

/* Returns the microbatches of the run after the awaited iteration. */
static int64_t microbatches_after(const struct mtlm_train *s)
{
    const struct mtlm_options *o = &s->job->options;
    const int64_t samples =
        s->log.end == o->train_iters
                && mtlm_options_given(o, MTLM_OPT_TRAIN_SAMPLES)
            ? o->train_samples - s->place.samples - s->place.batch
            : (s->log.end - s->place.iteration - 1) * s->place.batch;

    return samples > 0 ? mtlm_job_microbatches_in(s->job, samples) : 0;
}

/* Waits for iteration e's report.  False: the run cannot continue. */
static bool await_report(struct mtlm_train *s, int64_t e,
                         double r[MTLM_CONTROL_COUNT])
{
    const struct mtlm_options *o = &s->job->options;
    char what[48];

    snprintf(what, sizeof(what), "iteration %" PRId64, e + 1);
    mtlm_train_log_progress(
        s->job,
        (struct mtlm_progress_work){
            .what = what,
            .iteration = e + 1,
            .iterations = o->train_iters,
            .microbatches = mtlm_job_microbatches_in(s->job, s->place.batch),
            .after = microbatches_after(s),
            .seconds_left = o->exit_duration_mins > 0
                                ? mtlm_train_log_time_left(&s->log)
                                : 0});
    mtlm_run_report(s->job->run, e, r);
    mtlm_progress_end();
    mtlm_ramp_next(&o->ramp, &s->place);
    s->text.iterations = e + 1;
    if (s->dump && e == s->job->begin.iteration)
        write_dump(s, r);
    return r[MTLM_CONTROL_NAN] == 0 || o->no_check_for_nan;
}

/* Usage of iteration e after its end on all ranks. */
static struct mtlm_trace_usage traced(struct mtlm_train *s, int64_t e,
                                      bool ahead)
{
    const struct mtlm_job *job = s->job;
    const struct mtlm_traced_rank rank = {
        .ranks = job->ranks,
        .recorder = job->recorder,
        .clock_offset_ns =
            mtlm_clock_offset(&job->clock_offsets, mtlm_now_ns()),
        .workers = mtlm_job_computing_workers(job),
        .alone = !ahead};

    return mtlm_traced_iteration(&rank, e, s->nodes[e % 2]);
}

/* Logs iteration e with report r; ahead: the next iteration is under way. */
static void log_iteration(struct mtlm_train *s, int64_t e,
                          const double r[MTLM_CONTROL_COUNT], bool line_due,
                          bool ahead)
{
    const struct mtlm_options *o = &s->job->options;
    struct mtlm_train_ended ended = {.now_ns = mtlm_now_ns(),
                                     .report = r,
                                     .params_norm = -1,
                                     .line_due = line_due};

    if (o->log_params_norm && (line_due || s->job->metrics))
        ended.params_norm = mtlm_run_params_norm(s->job->run, e);
    /* The window needs the end of the previous iteration; if iterations
     * overlap, also the begin of the next one. */
    if (mtlm_job_records(s->job, e) && mtlm_job_records(s->job, e - 1)
        && (!o->weight_staleness || mtlm_job_records(s->job, e + 1))
        && e > s->job->begin.iteration)
        ended.traced = traced(s, e, ahead);
    mtlm_train_log_add(&s->log, &ended);
}

static bool validation_due(const struct mtlm_options *o, int64_t e)
{
    return o->eval_iters > 0 && (e + 1) % o->eval_interval == 0;
}

static bool save_due(const struct mtlm_train *s, int64_t e, bool last)
{
    const int64_t every = s->job->options.save_interval;

    return s->saver
           && (last || (every > 0 && (e + 1) % every == 0)
               || (s->job->finetune && validation_due(&s->job->options, e)));
}

/* Copies the state after iteration e, once the previous copies are written. */
static void copy_weights(struct mtlm_train *s, int64_t e)
{
    mtlm_saver_finish(s->saver);
    mtlm_run_save(s->job->run, e, mtlm_job_records(s->job, e));
}

/* Begins to save the copies of copy_weights().  held: as in
 * launch/checkpoint/saver.h. */
static void start_save(struct mtlm_train *s,
                       const double control[MTLM_CONTROL_COUNT], bool held)
{
    mtlm_saver_begin(s->saver, s->text.iterations, s->place.samples, control,
                     held);
}

/* Saves iteration e, which has ended, if due; else advances the pending
 * checkpoint.  ahead: the next iteration is submitted, and the copies exist. */
static void save_or_poll(struct mtlm_train *s, int64_t e, bool due, bool ahead,
                         const double control[MTLM_CONTROL_COUNT])
{
    const int64_t start = mtlm_now_ns();

    if (due && !ahead)
        copy_weights(s, e);
    if (due)
        start_save(s, control, !ahead);
    else
        mtlm_saver_poll(s->saver, !ahead);
    if (!ahead)
        mtlm_train_log_pause(&s->log, mtlm_now_ns() - start);
}

/* Nothing was left to train: saves what was loaded. */
static void save_loaded(struct mtlm_train *s)
{
    const int64_t done = s->job->begin.iteration;
    double control[MTLM_CONTROL_COUNT];

    if (!s->saver || s->job->begin_is_saved)
        return;
    mtlm_run_read(s->job->run, s->job->program->control, control);
    copy_weights(s, done > 0 ? done - 1 : 0);
    start_save(s, control, true);
}

/* Tells why no iteration follows. */
static void print_nothing_left(const struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;

    if (mtlm_ranks_rank(job->ranks) == 0)
        printf("nothing is left to train: %" PRId64 " of %" PRId64
               " iterations are done; a larger --%s trains on\n",
               job->begin.iteration, o->train_iters,
               job->finetune                                   ? "epochs"
               : mtlm_options_given(o, MTLM_OPT_TRAIN_SAMPLES) ? "train-samples"
                                                               : "train-iters");
}

/* Prints `what`, then "a", "b" or "a and b".  Returns false if neither is
 * noted. */
static bool print_notes(const char *what, enum mtlm_note a, enum mtlm_note b)
{
    const char *x = mtlm_note_text(a), *y = mtlm_note_text(b);

    if (x || y)
        printf("%s%s%s%s", what, x ? x : "", x && y ? " and " : "", y ? y : "");
    return x || y;
}

/* Prints the kernels that the GPU's libraries chose, known after the first
 * iteration. */
static void print_kernels(const struct mtlm_job *job)
{
    const char *attention = mtlm_note_text(MTLM_NOTE_ATTENTION);

    if (mtlm_ranks_rank(job->ranks) != 0)
        return;
    mtlm_progress_hide();
    if (attention)
        printf("attention: %s\n", attention);
    if (print_notes("GELU: ", MTLM_NOTE_GELU, MTLM_NOTE_GELU_OWN)) {
        print_notes("; its gradient: ", MTLM_NOTE_GELU_GRADIENT,
                    MTLM_NOTE_GELU_GRADIENT_OWN);
        printf("\n");
    }
    if (print_notes("bias gradients: ", MTLM_NOTE_BIAS_GRADIENT,
                    MTLM_NOTE_BIAS_GRADIENT_OWN))
        printf("\n");
}

/* Commits the pending checkpoint, then validates: a validation may take
 * long. */
static void finish_and_validate(struct mtlm_train *s, int64_t done)
{
    const int64_t start = mtlm_now_ns();

    mtlm_saver_finish(s->saver);
    mtlm_train_log_pause(&s->log, mtlm_now_ns() - start);
    mtlm_train_validate(s, done, "");
}

/* Submits iteration e + 1 while e runs: workers never wait for the host.  The
 * host waits before a validation, whose time is measured alone, before a
 * checkpoint while the previous one is under way, and before a second plan. */
static void run_loop(struct mtlm_train *s)
{
    const struct mtlm_options *o = &s->job->options;
    const int64_t first = s->job->begin.iteration;
    const bool limited = o->exit_duration_mins > 0;

    if (first >= s->log.end) { /* the loaded run was complete */
        print_nothing_left(s->job);
        save_loaded(s);
        return;
    }
    if (mtlm_job_best_lacks_begin(s->job))
        mtlm_train_validate(s, first, "");
    if (s->interrupted)
        return;
    submit_iteration(s, first);
    mtlm_run_on_gradients(s->job->run, NULL, NULL);
    for (int64_t e = first; e < s->log.end; e++) {
        const bool last = e + 1 == s->log.end || s->stop;
        const bool due = save_due(s, e, last);
        const bool replans = !last && mtlm_job_replan_follows(s->job, e);
        const bool ahead = !last && !replans && !validation_due(o, e)
                           && !(due && mtlm_saver_pending(s->saver));
        double r[MTLM_CONTROL_COUNT];
        bool good, may_end;

        if (ahead && due)
            copy_weights(s, e);
        if (ahead)
            submit_iteration(s, e + 1);
        good = await_report(s, e, r);
        if (e == first)
            print_kernels(s->job);
        if (!last)
            mtlm_train_heed(s, r[MTLM_CONTROL_STOP]);
        /* The time may end in a validation, too. */
        may_end =
            !ahead && (last || s->stop || (limited && validation_due(o, e)));
        log_iteration(s, e, r, log_due(o, e, may_end) || !good, ahead);
        if (!good) {
            mtlm_progress_stop();
            mtlm_train_explain_nan(s, e);
            return;
        }
        save_or_poll(s, e, due, ahead, r);
        if (validation_due(o, e) && !s->interrupted)
            finish_and_validate(s, e + 1);
        if (s->stop && !ahead) { /* no iteration is in flight */
            save_or_poll(s, e, s->saver && !due, false, r);
            return;
        }
        if (last)
            return;
        if (replans)
            mtlm_replan(s);
        if (!ahead)
            submit_iteration(s, e + 1);
    }
}

static void run_training(struct mtlm_train *s)
{
    s->saver = mtlm_saver_create(s->job);
    run_loop(s);
    mtlm_saver_finish(s->saver);
    s->unsaved = mtlm_saver_failed(s->saver);
    mtlm_saver_destroy(s->saver);
    s->saver = NULL;
}

static void prepare_training(struct mtlm_train *s)
{
    struct mtlm_job *job = s->job;

    mtlm_train_log_start(&s->log, job);
    mtlm_job_outputs_begin_metrics(job);
    mtlm_run_init(job->run);
    mtlm_checkpoint_load(job);
    if (job->options.summary_text && job->options.eval_iters > 0)
        mtlm_train_validate(s, job->begin.iteration, "");
    if (job->options.dump_dir && !s->interrupted) {
        s->dump = mtlm_dump_create(job);
        mtlm_dump_weights(s->dump);
        mtlm_run_on_gradients(job->run, mtlm_dump_gradients, s->dump);
    }
    mtlm_train_log_start(&s->log, job); /* times leave out the validation */
    if (job->options.exit_duration_mins > 0)
        mtlm_stop_at(s->log.deadline_ns);
    mtlm_job_watch_engine(job);
}

/* A signal during the last iteration leaves the run complete, unless a
 * validation is missing. */
static void print_end(struct mtlm_train *s)
{
    const struct mtlm_options *o = &s->job->options;
    const bool complete =
        (s->text.iterations >= o->train_iters || o->eval_only) && !s->left_out;

    if ((s->unsaved || s->disk_failed) && s->code == MTLM_EXIT_OK)
        s->code = MTLM_EXIT_IO;
    if (s->interrupted && !complete && s->code == MTLM_EXIT_OK)
        s->code = MTLM_EXIT_INTERRUPTED;
    if (complete || mtlm_ranks_rank(s->job->ranks) != 0)
        return;
    mtlm_warn("stopped by %s after iteration %" PRId64 " of %" PRId64 "%s",
              s->interrupted                     ? "a signal"
              : s->disk_failed                   ? "the disk of --offload"
              : s->text.iterations == s->log.end ? "--exit-interval"
                                                 : "--exit-duration-in-mins",
              s->text.iterations, o->train_iters,
              !s->left_out     ? ""
              : s->job->scored ? ", before the end of the task"
                               : ", before the end of its validation");
}

static void finish_training(struct mtlm_train *s)
{
    struct mtlm_job *job = s->job;
    const double seconds =
        (mtlm_now_ns() - s->log.start_ns - s->log.all_eval_ns) * 1e-9;
    const bool good = s->code != MTLM_EXIT_NUMERIC;
    struct mtlm_weight_hash *hash =
        job->options.weight_hash && good ? mtlm_weight_hash_read(job) : NULL;
    struct mtlm_error err;

    mtlm_job_stop_engine(job);
    s->disk_failed = mtlm_job_offload_failed(job);
    if (hash)
        mtlm_weight_hash_print(hash, job);
    s->text.tokens_per_second =
        s->log.all_samples * job->options.model.seq_length / seconds;
    s->text.bubble = -1;
    mtlm_train_end_print(job);
    if (mtlm_job_traces(job) && good
        && mtlm_trace_job(job, &s->text.bubble, &err) < 0) {
        mtlm_warn("%s", err.text);
        if (s->code == MTLM_EXIT_OK)
            s->code = err.code;
    }
    if (job->options.trace_dir && !good && mtlm_ranks_rank(job->ranks) == 0)
        mtlm_warn("no trace is written to %s: the run had values that are "
                  "not finite",
                  job->options.trace_dir);
    if (mtlm_metrics_close(job->metrics) < 0 && s->code == MTLM_EXIT_OK)
        s->code = MTLM_EXIT_IO;
    job->metrics = NULL;
    if (job->options.summary_text && good && mtlm_ranks_rank(job->ranks) == 0)
        mtlm_summary_text_print(&s->text, job, stdout);
    mtlm_standard_output_flush();
    if (good)
        print_end(s);
}

static void print_best(const struct mtlm_train *s)
{
    char *text = mtlm_job_best_text(s->job);

    if (text)
        mtlm_train_log_text(&s->log, text);
}

int mtlm_train(struct mtlm_job *job)
{
    struct mtlm_train s = {.job = job,
                           .validated = -1,
                           .place = job->begin,
                           .text = {.iterations = job->begin.iteration},
                           .code = MTLM_EXIT_OK};

    prepare_training(&s);
    if (!job->options.eval_only && !s.interrupted)
        run_training(&s);
    mtlm_train_evaluate(&s);
    print_best(&s);
    mtlm_progress_stop();
    finish_training(&s);
    mtlm_dump_destroy(s.dump); /* left where no iteration ran */
    return s.code;
}
