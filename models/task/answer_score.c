/* Compares answers as the official scripts of SQuAD do. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "models/task/answer_score.h"
#include "models/task/normalize.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

/* The words of a normalized text, sorted. */
struct answer_words {
    char *text;
    char **word; /* [n], in text */
    int64_t n;
};

/* Cuts a normalized text into words; the caller frees them with
 * free_words(). */
static struct answer_words sort_words(const char *normalized)
{
    struct answer_words w = {.text = mtlm_strdup(normalized)};
    char *rest = w.text, *word;

    w.word = mtlm_calloc(strlen(normalized) / 2 + 1, sizeof(*w.word));
    while ((word = strsep(&rest, " ")))
        if (*word)
            w.word[w.n++] = word;
    qsort(w.word, (size_t) w.n, sizeof(*w.word), mtlm_compare_text);
    return w;
}

static void free_words(struct answer_words *w)
{
    free(w->word);
    free(w->text);
}

/* Returns how many words both texts have, each as often as in both. */
static int64_t count_common(const struct answer_words *a,
                            const struct answer_words *b)
{
    int64_t n = 0;

    for (int64_t i = 0, k = 0; i < a->n && k < b->n;) {
        const int order = strcmp(a->word[i], b->word[k]);

        n += order == 0;
        i += order <= 0;
        k += order >= 0;
    }
    return n;
}

static double compute_f1(const char *prediction, const char *answer,
                         bool negative)
{
    struct answer_words p = sort_words(prediction), a = sort_words(answer);
    const int64_t common = count_common(&p, &a);
    double f1 = 0;

    if (common > 0) {
        const double precision = (double) common / (double) p.n;
        const double recall = (double) common / (double) a.n;

        f1 = 2 * precision * recall / (precision + recall);
    } else if (negative) {
        f1 = p.n == 0 && a.n == 0;
    }
    free_words(&p);
    free_words(&a);
    return f1;
}

/* Keeps the better scores of a prediction and an answer, both normalized. */
static void compare(const char *prediction, const char *answer, bool negative,
                    double *exact, double *f1)
{
    const double one = compute_f1(prediction, answer, negative);

    if (strcmp(prediction, answer) == 0)
        *exact = 1;
    if (one > *f1)
        *f1 = one;
}

void mtlm_answer_score(const char *prediction, char *const *answer,
                       int64_t answers, bool negative, double *exact,
                       double *f1)
{
    char *plain = mtlm_normalize_answer(prediction);
    int64_t compared = 0;

    *exact = *f1 = 0;
    for (int64_t i = 0; i < answers; i++) {
        char *right = mtlm_normalize_answer(answer[i]);

        if (!negative || *right) {
            compare(plain, right, negative, exact, f1);
            compared++;
        }
        free(right);
    }
    if (negative && compared == 0)
        compare(plain, "", negative, exact, f1);
    free(plain);
}
