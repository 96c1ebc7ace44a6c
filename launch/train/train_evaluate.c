/* Validation and test: losses on samples outside the training set. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "launch/checkpoint/job_best.h"
#include "launch/job/job_finetune.h"
#include "launch/job/job_task.h"
#include "launch/log/progress.h"
#include "launch/train/answers.h"
#include "launch/train/answers_text.h"
#include "launch/train/dump_logits.h"
#include "launch/train/train_private.h"
#include "runtime/base/clock.h"
#include "runtime/base/memory.h"

/* Sums up the reports of a validation's pieces.  Submits one piece ahead of the
 * awaited piece.  After a signal to any rank, no rank submits another piece.
 * Returns false if pieces are missing. */
static bool add_pieces(struct mtlm_train *s, int64_t done,
                       double sum[MTLM_STATUS_EXTRA])
{
    struct mtlm_run *run = s->job->run;
    const int64_t n = mtlm_program_pieces(&s->job->program->config);
    const bool recorded = mtlm_job_records(s->job, done - 1);
    int64_t submitted = 0;

    memset(sum, 0, MTLM_STATUS_EXTRA * sizeof(*sum));
    for (int64_t i = 0; i < (s->interrupted ? submitted : n); i++) {
        double report[MTLM_STATUS_EXTRA];

        while (!s->interrupted && submitted < n && submitted < i + 2)
            mtlm_run_validation(run, done > 0 ? done - 1 : 0, submitted++,
                                recorded);
        mtlm_run_eval_report(run, i, report);
        for (int k = 0; k < MTLM_STATUS_EXTRA; k++)
            sum[k] += report[k];
        mtlm_train_heed(s, report[MTLM_STATUS_STOP]);
    }
    return submitted == n;
}

/* Measures the losses on the validation samples, or on `instead`, after `done`
 * iterations.  Nothing else runs meanwhile.  Returns false if a signal ended
 * the validation. */
static bool measure_losses(struct mtlm_train *s, int64_t done,
                           struct mtlm_samples *instead,
                           double report[MTLM_STATUS_EXTRA])
{
    struct mtlm_job *job = s->job;
    struct mtlm_samples *usual = job->valid.samples;
    bool whole;

    if (instead)
        job->valid.samples = instead;
    /* Submitting a long validation takes as long as running it. */
    mtlm_train_log_progress(
        job, (struct mtlm_progress_work){
                 .what = job->scored ? "task"
                         : instead   ? "test"
                                     : "validation",
                 .microbatches = job->program->config.eval_microbatches});
    whole = add_pieces(s, done, report);
    mtlm_progress_end();
    job->valid.samples = usual;
    s->left_out |= !whole;
    return whole;
}

static void complain(struct mtlm_train *s, const struct mtlm_error *err)
{
    mtlm_progress_hide();
    mtlm_warn("%s", err->text);
    s->code = err->code;
}

/* Remembers the scores of an epoch, if they are the best. */
static void offer_scores(struct mtlm_train *s, int64_t done, double *score)
{
    const bool saved = !s->unsaved && !mtlm_saver_failed(s->saver);
    struct mtlm_error err;

    if (!s->job->options.eval_only
        && mtlm_job_best_offer(s->job, done, score, saved, &err) < 0)
        complain(s, &err);
}

/* Logs the scores of a fine-tuning after `done` iterations. */
static void log_answers(struct mtlm_train *s, int64_t done,
                        struct mtlm_answers *answers)
{
    struct mtlm_error err;
    double *score;
    char *text;
    int n, rc;

    if (!answers)
        return;
    n = mtlm_job_finetune_scores(s->job);
    score = mtlm_calloc(n, sizeof(*score));
    for (int i = 0; i < n; i++)
        score[i] = -1;
    if (mtlm_answers_dump_write(answers->dump, &err) < 0)
        complain(s, &err);
    if (mtlm_answers_gather(answers)) {
        rc = mtlm_answers_text(answers, done, &text, score, &err);
        mtlm_train_log_text(&s->log, text);
        if (rc < 0)
            complain(s, &err);
    }
    mtlm_answers_end(answers);
    offer_scores(s, done, score);
    free(score);
}

/* All validations have the same samples, so a second validation after the same
 * iteration reuses the first result. */
void mtlm_train_validate(struct mtlm_train *s, int64_t done, const char *on)
{
    const int64_t start = mtlm_now_ns();
    const bool again = s->validated == done;
    struct mtlm_answers *answers = again ? NULL : mtlm_answers_begin(s->job);

    if (!again && !measure_losses(s, done, NULL, s->validation)) {
        mtlm_answers_end(answers);
        mtlm_train_log_cut(&s->log, mtlm_now_ns() - start);
        return;
    }
    s->validated = done;
    log_answers(s, done, answers);
    if (s->job->finetune && !mtlm_job_finetune_labelled(s->job)) {
        mtlm_train_log_cut(&s->log, mtlm_now_ns() - start);
        return;
    }
    mtlm_train_log_validation(&s->log, done, on, s->validation,
                              again ? 0 : mtlm_now_ns() - start);
    if (!s->text.has_validation)
        s->text.first_validation = s->validation[MTLM_STATUS_LOSS];
    s->text.has_validation = true;
    s->text.last_validation = s->validation[MTLM_STATUS_LOSS];
    s->text.last_hits = s->validation[MTLM_STATUS_SOP_HITS];
}

static void run_test(struct mtlm_train *s)
{
    const int64_t start = mtlm_now_ns();
    double report[MTLM_STATUS_EXTRA];

    if (measure_losses(s, s->text.iterations, s->job->test, report))
        mtlm_train_log_validation(&s->log, s->text.iterations, " on test set",
                                  report, mtlm_now_ns() - start);
    else
        mtlm_train_log_cut(&s->log, mtlm_now_ns() - start);
}

/* Measures the task, and logs the result instead of a validation's. */
static void run_task(struct mtlm_train *s)
{
    const int64_t start = mtlm_now_ns();
    double report[MTLM_STATUS_EXTRA];

    if (measure_losses(s, s->text.iterations, NULL, report))
        mtlm_train_log_text(&s->log, mtlm_job_task_result(s->job, report));
    mtlm_train_log_cut(&s->log, mtlm_now_ns() - start);
}

/* Whether the run before has trained all epochs and scored the last one.  Its
 * answers, which --predictions wants, are not kept. */
static bool is_scored(const struct mtlm_train *s)
{
    const struct mtlm_job *job = s->job;

    return job->finetune && !job->options.predictions && s->validated < 0
           && job->best.scored > 0 && job->best.scored == s->text.iterations;
}

/* Evaluates after training, as Megatron-LM does, and also after a time limit.
 * After a signal, the run ends soon, without an evaluation. */
void mtlm_train_evaluate(struct mtlm_train *s)
{
    const bool trained = s->job->options.eval_only
                         || s->text.iterations >= s->job->options.train_iters;
    struct mtlm_logits *logits;
    struct mtlm_error err;

    if (s->job->options.eval_iters == 0 || s->code == MTLM_EXIT_NUMERIC
        || is_scored(s))
        return;
    if (s->interrupted) {
        s->left_out |= trained;
        return;
    }
    logits = mtlm_logits_begin(s->job);
    if (s->job->scored)
        run_task(s);
    else
        mtlm_train_validate(s, s->text.iterations, " on validation set");
    if (mtlm_logits_end(logits, !s->left_out, &err) < 0)
        complain(s, &err);
    if (s->job->test && trained && !s->interrupted)
        run_test(s);
    else if (s->job->test && trained)
        s->left_out = true;
}
