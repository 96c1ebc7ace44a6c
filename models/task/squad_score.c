/* The scores of SQuAD, as the official scripts compute them. */

#include "config.h"

#include <stdlib.h>

#include "models/task/answer_score.h"
#include "models/task/squad_score.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

/* A question with a prediction. */
struct scored {
    int64_t question;
    double exact, f1, difference;
    bool answerable, answered;
};

static void add(struct mtlm_squad_mean *mean, double exact, double f1)
{
    mean->exact += exact;
    mean->f1 += f1;
    mean->questions++;
}

/* Makes sums means in per cent. */
static void finish(struct mtlm_squad_mean *mean)
{
    if (mean->questions == 0)
        return;
    mean->exact = 100.0 * mean->exact / (double) mean->questions;
    mean->f1 = 100.0 * mean->f1 / (double) mean->questions;
}

static int by_difference(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;

    if (x->difference != y->difference)
        return x->difference < y->difference ? -1 : 1;
    return mtlm_compare(x->question, y->question);
}

/* Finds the threshold of sorted questions [n] with the best mean: first no
 * question is answered, then one more after the other.  `unanswerable` counts
 * all such questions. */
static void find_best(const struct scored *scored, int64_t n,
                      int64_t unanswerable, bool exact, double *best,
                      double *threshold)
{
    double sum = (double) unanswerable;

    *best = sum;
    *threshold = 0;
    for (int64_t i = 0; i < n; i++) {
        if (scored[i].answerable)
            sum += exact ? scored[i].exact : scored[i].f1;
        else if (scored[i].answered)
            sum -= 1;
        if (sum > *best) {
            *best = sum;
            *threshold = scored[i].difference;
        }
    }
    *best = 100.0 * *best / (double) (n > 0 ? n : 1);
}

/* Scores the questions with predictions; returns how many. */
static int64_t score_questions(const struct mtlm_squad *squad,
                               char *const *prediction,
                               const double *difference, struct scored *scored)
{
    int64_t n = 0;

    for (int64_t i = 0; i < squad->questions; i++) {
        const struct mtlm_squad_question *question = &squad->question[i];
        struct scored *s = &scored[n];

        if (!prediction[i])
            continue;
        *s = (struct scored){.question = i,
                             .difference = difference ? difference[i] : 0,
                             .answerable = question->answers > 0,
                             .answered = prediction[i][0] != '\0'};
        mtlm_answer_score(prediction[i], question->answer, question->answers,
                          squad->negative, &s->exact, &s->f1);
        n++;
    }
    return n;
}

static int64_t count_unanswerable(const struct mtlm_squad *squad)
{
    int64_t n = 0;

    for (int64_t i = 0; i < squad->questions; i++)
        n += squad->question[i].answers == 0;
    return n;
}

void mtlm_squad_score(const struct mtlm_squad *squad, char *const *prediction,
                      const double *difference,
                      struct mtlm_squad_scores *scores)
{
    struct scored *scored =
        mtlm_calloc((size_t) squad->questions, sizeof(*scored));
    const int64_t n = score_questions(squad, prediction, difference, scored);
    const int64_t unanswerable = count_unanswerable(squad);

    *scores = (struct mtlm_squad_scores){0};
    for (int64_t i = 0; i < n; i++) {
        add(&scores->all, scored[i].exact, scored[i].f1);
        if (squad->negative)
            add(scored[i].answerable ? &scores->answerable
                                     : &scores->unanswerable,
                scored[i].exact, scored[i].f1);
    }
    if (!squad->negative)
        scores->all.questions = squad->questions;
    finish(&scores->all);
    finish(&scores->answerable);
    finish(&scores->unanswerable);
    if (squad->negative && difference) {
        qsort(scored, (size_t) n, sizeof(*scored), by_difference);
        find_best(scored, n, unanswerable, true, &scores->best_exact,
                  &scores->best_exact_threshold);
        find_best(scored, n, unanswerable, false, &scores->best_f1,
                  &scores->best_f1_threshold);
    }
    free(scored);
}
