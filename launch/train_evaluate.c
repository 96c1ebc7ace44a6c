/* Losses on samples that are not trained on. */

#include "config.h"

#include <stdio.h>

#include "launch/progress.h"
#include "launch/train_private.h"
#include "runtime/clock.h"

/* The losses on the validation samples, or instead on these, after `done`
 * iterations; nothing else runs meanwhile. */
static void measure(struct mtlm_train *s, int64_t done,
                    struct mtlm_samples *instead,
                    double report[MTLM_STATUS_EXTRA])
{
    struct mtlm_job *job = s->job;
    struct mtlm_samples *usual = job->valid.samples;

    if (instead)
        job->valid.samples = instead;
    /* To submit a long one takes as long as to run it. */
    mtlm_train_progress(job, instead ? "test" : "validation",
                        job->program->config.eval_microbatches, 0);
    mtlm_run_validation(job->run, done > 0 ? done - 1 : 0,
                        mtlm_train_recorded(&job->options, done - 1));
    mtlm_run_eval_report(job->run, report);
    mtlm_progress_end();
    job->valid.samples = usual;
}

/* Validations always have the same samples, so that a second one at the same
 * place is the first one. */
void mtlm_train_validate(struct mtlm_train *s, int64_t done, const char *on)
{
    const int64_t start = mtlm_now_ns();
    const bool again = s->validated == done;

    if (!again)
        measure(s, done, NULL, s->validation);
    s->validated = done;
    mtlm_train_log_validation(&s->log, done, on, s->validation,
                              again ? 0 : mtlm_now_ns() - start);
    if (!s->text.has_validation)
        s->text.first_validation = s->validation[MTLM_STATUS_LOSS];
    s->text.has_validation = true;
    s->text.last_validation = s->validation[MTLM_STATUS_LOSS];
    s->text.last_hits = s->validation[MTLM_STATUS_SOP_HITS];
}

static void test(struct mtlm_train *s)
{
    const int64_t start = mtlm_now_ns();
    double report[MTLM_STATUS_EXTRA];

    measure(s, s->text.iterations, s->job->test, report);
    mtlm_train_log_validation(&s->log, s->text.iterations, " on test set",
                              report, mtlm_now_ns() - start);
}

/* As Megatron does when training is done, but the validation after a time
 * limit as well: whoever sets one wants to know how far it got.  A signal
 * wants the end soon. */
void mtlm_train_evaluate(struct mtlm_train *s)
{
    struct mtlm_logits *logits;
    struct mtlm_error err;

    if (s->job->options.eval_iters == 0 || s->interrupted
        || s->code == MTLM_EXIT_NUMERIC)
        return;
    logits = mtlm_logits_begin(s->job);
    mtlm_train_validate(s, s->text.iterations, " on validation set");
    if (mtlm_logits_end(logits, &err) < 0) {
        fprintf(stderr, "mtlm-dag: %s\n", err.text);
        s->code = err.code;
    }
    if (s->job->test
        && (s->job->options.eval_only
            || s->text.iterations >= s->job->options.train_iters))
        test(s);
}
