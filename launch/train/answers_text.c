/* Scores of answers: accuracy of each file, or exact match and F1.  Answers
 * that have no score are counted. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "launch/job/job_finetune.h"
#include "launch/train/answers_file.h"
#include "launch/train/answers_text.h"
#include "models/task/accuracy.h"
#include "models/task/predictions.h"
#include "models/task/squad_answer.h"
#include "models/task/squad_score.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"

/* In SQuAD 2.0: the text is empty if no answer is at least as likely. */
static const double threshold = 0;

/* Returns what is said of n answers without a score; written: they are in the
 * file.  The caller frees the text. */
static char *count_text(const struct mtlm_answers *a, int64_t n, bool written)
{
    return written
               ? mtlm_sprintf("%" PRId64 " answer%s in %s, without a score", n,
                              mtlm_plural(n), a->job->options.predictions)
               : mtlm_sprintf("%" PRId64 " answer%s, not written", n,
                              mtlm_plural(n));
}

/* ---- classes and choices ---- */

static int64_t right_answer(const struct mtlm_job *job, int64_t sample)
{
    int32_t class;

    mtlm_samples_read(job->valid.samples, sample, MTLM_FIELD_CLASS, 0, 1,
                      &class);
    return class;
}

static struct mtlm_accuracy accuracy_of(const struct mtlm_answers *a,
                                        int64_t first, int64_t end)
{
    struct mtlm_accuracy accuracy = {0};

    for (int64_t i = 0; i < a->n; i++) {
        const struct mtlm_answer *answer = &a->answer[i];

        if (answer->sample >= first && answer->sample < end)
            mtlm_accuracy_add(&accuracy,
                              answer->choice
                                  == right_answer(a->job, answer->sample));
    }
    return accuracy;
}

/* Returns the accuracy of a file, or behind the last one of all files. */
static struct mtlm_accuracy accuracy_of_score(const struct mtlm_job_finetune *f,
                                              const struct mtlm_answers *a,
                                              int i)
{
    const struct mtlm_job_dev *dev = &f->dev[i];

    return i == f->devs ? accuracy_of(a, 0, f->samples)
                        : accuracy_of(a, dev->first,
                                      dev->first + dev->data->samples.epoch);
}

static char *accuracy_text(const char *what, struct mtlm_accuracy accuracy)
{
    return mtlm_sprintf("%s: accuracy %.2f %% (%" PRId64 " of %" PRId64 ")",
                        what, mtlm_accuracy_percent(&accuracy), accuracy.right,
                        accuracy.all);
}

static char *accuracies(const struct mtlm_answers *a, bool written,
                        double *score)
{
    const struct mtlm_job_finetune *f = a->job->finetune;
    char *all = NULL, *text;

    if (!mtlm_job_finetune_labelled(a->job))
        return count_text(a, a->n, written);
    for (int i = 0; i < mtlm_job_finetune_scores(a->job); i++) {
        const struct mtlm_accuracy accuracy = accuracy_of_score(f, a, i);

        score[i] = mtlm_accuracy_percent(&accuracy);
        text = accuracy_text(i < f->devs ? f->dev[i].path : "all", accuracy);
        all = mtlm_join(all, " | ", text);
        free(text);
    }
    return all;
}

/* ---- SQuAD ---- */

/* Returns the spans of all windows, in the files' order. */
static struct mtlm_span *sort_spans(const struct mtlm_answers *a)
{
    struct mtlm_span *span =
        mtlm_calloc(a->job->finetune->samples, sizeof(*span));

    for (int64_t i = 0; i < a->n; i++)
        span[a->answer[i].sample] = a->answer[i].span;
    return span;
}

static char *scores_text(const struct mtlm_squad *squad,
                         const struct mtlm_squad_scores *s)
{
    if (!squad->negative)
        return mtlm_sprintf("exact match %.2f, F1 %.2f of %" PRId64
                            " questions",
                            s->all.exact, s->all.f1, s->all.questions);
    return mtlm_sprintf("exact match %.2f, F1 %.2f of %" PRId64
                        " questions | with the best thresholds %.2f, %.2f | "
                        "answerable %.2f, %.2f | unanswerable %.2f, %.2f",
                        s->all.exact, s->all.f1, s->all.questions,
                        s->best_exact, s->best_f1, s->answerable.exact,
                        s->answerable.f1, s->unanswerable.exact,
                        s->unanswerable.f1);
}

/* Scores the questions' answers.  Returns the text. */
static char *squad_scores(const struct mtlm_answers *a, char *const *answer,
                          const double *difference, bool written, double *score)
{
    const struct mtlm_squad *squad =
        (const struct mtlm_squad *) a->job->finetune->dev[0].data;
    struct mtlm_squad_scores scores;

    if (!squad->data.labelled)
        return count_text(a, squad->questions, written);
    mtlm_squad_score(squad, answer, difference, &scores);
    score[0] = scores.all.exact;
    score[1] = scores.all.f1;
    return scores_text(squad, &scores);
}

static int squad_text(const struct mtlm_answers *a, char **text, double *score,
                      struct mtlm_error *err)
{
    const struct mtlm_squad *squad =
        (const struct mtlm_squad *) a->job->finetune->dev[0].data;
    const char *path = a->job->options.predictions;
    const int64_t n = squad->questions;
    struct mtlm_span *span = sort_spans(a);
    char **answer = mtlm_calloc(n, sizeof(*answer));
    double *difference = mtlm_calloc(n, sizeof(*difference));
    int rc;

    for (int64_t i = 0; i < n; i++)
        answer[i] =
            mtlm_squad_answer(squad, i, span + squad->question[i].window,
                              threshold, &difference[i]);
    rc = path ? mtlm_predictions_write(path, squad, answer, err) : 0;
    *text = squad_scores(a, answer, difference, rc == 0, score);
    for (int64_t i = 0; i < n; i++)
        free(answer[i]);
    free(answer);
    free(difference);
    free(span);
    return rc;
}

/* Returns when the answers were given; the caller frees the text. */
static char *when_text(const struct mtlm_options *o, int64_t done)
{
    if (o->eval_only)
        return mtlm_strdup("");
    if (done % o->eval_interval)
        return mtlm_sprintf(", iteration %" PRId64 " of %" PRId64, done,
                            o->train_iters);
    return mtlm_sprintf(", epoch %" PRId64 " of %" PRId64,
                        done / o->eval_interval, o->epochs);
}

int mtlm_answers_text(const struct mtlm_answers *answers, int64_t done,
                      char **text, double *score, struct mtlm_error *err)
{
    const struct mtlm_options *o = &answers->job->options;
    char *scores, *when;
    int rc;

    if (o->task->head == MTLM_HEAD_SPAN) {
        rc = squad_text(answers, &scores, score, err);
    } else {
        rc = o->predictions ? mtlm_answers_file_write(answers, err) : 0;
        scores = accuracies(answers, rc == 0, score);
    }
    when = when_text(o, done);
    *text = mtlm_sprintf("%s%s: %s", o->task->name, when, scores);
    free(when);
    free(scores);
    return rc;
}
