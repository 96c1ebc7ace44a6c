/* Data of fine-tuning tasks of any bytes. */

#include "config.h"

#include <stdlib.h>

#include "models/task/glue.h"
#include "models/task/race.h"
#include "models/task/squad_answer.h"
#include "models/task/squad_data.h"
#include "models/task/squad_score.h"
#include "models/text/wordpiece.h"
#include "runtime/base/memory.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/memory_file.h"

enum { S = 72 };

static const char *const path[] = {"fuzz"};
static bool with_cache;

/* A cache takes 1 MiB, and most of the time.  Few inputs get one. */
struct mtlm_word_cache *__real_mtlm_word_cache_create(void);
struct mtlm_word_cache *__wrap_mtlm_word_cache_create(void);

struct mtlm_word_cache *__wrap_mtlm_word_cache_create(void)
{
    return with_cache ? __real_mtlm_word_cache_create() : NULL;
}

/* Returns settings with a small vocabulary, opened once. */
static struct mtlm_task_recipe get_recipe(const uint8_t *data, size_t bytes)
{
    static const char known[] =
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\nb\n"
        "the\n##ab\n.\n\303\251\n##\303\251\n";
    static const struct mtlm_tokenizer *tokenizer;

    with_cache = bytes % 32 == 5;
    memory_file_put(0, "vocabulary", known, sizeof(known) - 1);
    memory_file_put(1, "fuzz", data, bytes);
    if (!tokenizer
        && !(tokenizer = mtlm_wordpiece_open("vocabulary", true, NULL)))
        abort();
    return (struct mtlm_task_recipe){.tokenizer = tokenizer,
                                     .seq_length = S,
                                     .training = bytes % 2 == 0,
                                     .seed = 1};
}

/* Reads every field of the samples of an epoch. */
static void look_at_samples(struct mtlm_samples *samples)
{
    int32_t values[S];

    for (int64_t i = 0; i < samples->epoch; i++)
        for (int f = 0; f < MTLM_FIELD_COUNT; f++) {
            const int64_t n = mtlm_field_size(f, S);

            mtlm_samples_read(samples, i, f, 0, n, values);
            fuzz_look(values, (size_t) n * sizeof(*values));
            if (f == MTLM_FIELD_LENGTH && (values[0] < 3 || values[0] > S))
                abort();
            if ((f == MTLM_FIELD_START || f == MTLM_FIELD_END)
                && (values[0] < 0 || values[0] >= S))
                abort();
            if (f == MTLM_FIELD_CLASS && (values[0] < 0 || values[0] > 3))
                abort();
        }
}

typedef int write_data(struct mtlm_output_file *file,
                       const struct mtlm_task_data *data, const int64_t *answer,
                       struct mtlm_error *err);

/* Writes predictions of a few inputs: a system call takes the time of many. */
static void write_answers(write_data *write, const struct mtlm_task_data *data)
{
    struct mtlm_output_file *file = mtlm_output_file_create("/dev/null", NULL);
    int64_t *answer = mtlm_calloc((size_t) data->items, sizeof(*answer));

    if (!file || write(file, data, answer, NULL) < 0)
        abort();
    mtlm_output_file_destroy(file);
    free(answer);
}

/* write: how answers are written, or NULL. */
static void look(struct mtlm_task_data *data, write_data *write,
                 const struct mtlm_error *err)
{
    if (!data) {
        fuzz_refused(err);
        return;
    }
    look_at_samples(&data->samples);
    if (write && with_cache)
        write_answers(write, data);
    mtlm_samples_destroy(&data->samples);
}

void fuzz_mnli(const uint8_t *data, size_t bytes)
{
    const struct mtlm_task_recipe recipe = get_recipe(data, bytes);
    struct mtlm_error err = {0};

    look(mtlm_glue_create(MTLM_GLUE_MNLI, path, 1, &recipe, &err),
         recipe.training ? NULL : mtlm_glue_write, &err);
}

void fuzz_qqp(const uint8_t *data, size_t bytes)
{
    const struct mtlm_task_recipe recipe = get_recipe(data, bytes);
    struct mtlm_error err = {0};

    look(mtlm_glue_create(MTLM_GLUE_QQP, path, 1, &recipe, &err),
         recipe.training ? NULL : mtlm_glue_write, &err);
}

void fuzz_race(const uint8_t *data, size_t bytes)
{
    const struct mtlm_task_recipe recipe = get_recipe(data, bytes);
    struct mtlm_error err = {0};

    look(mtlm_race_create(path, 1, &recipe, &err),
         recipe.training ? NULL : mtlm_race_write, &err);
}

/* Finds the most likely answers of a question, of some logits. */
static char *answer(const struct mtlm_squad *squad, int64_t question,
                    double *difference)
{
    const struct mtlm_squad_question *q = &squad->question[question];
    struct mtlm_span *span = mtlm_calloc((size_t) q->windows, sizeof(*span));
    float start[S], end[S];
    char *text;

    for (int64_t w = 0; w < q->windows; w++) {
        for (int i = 0; i < S; i++) {
            start[i] = (float) ((uint32_t) (w + i + 7) * 2654435761u >> 24);
            end[i] = (float) ((uint32_t) (w - i - 1) * 2654435761u >> 24);
        }
        span[w] = mtlm_span_find(squad, q->window + w, start, end);
    }
    text = mtlm_squad_answer(squad, question, span, 0, difference);
    free(span);
    return text;
}

static void look_at_answers(struct mtlm_squad *squad)
{
    char **text = mtlm_calloc((size_t) squad->questions, sizeof(*text));
    double *difference =
        mtlm_calloc((size_t) squad->questions, sizeof(*difference));
    struct mtlm_squad_scores scores;

    for (int64_t i = 0; i < squad->questions; i++) {
        text[i] = answer(squad, i, &difference[i]);
        fuzz_look_at_text(text[i]);
    }
    mtlm_squad_score(squad, text, difference, &scores);
    if (!(scores.all.exact >= 0 && scores.all.f1 <= 100))
        abort();
    for (int64_t i = 0; i < squad->questions; i++)
        free(text[i]);
    free(text);
    free(difference);
}

void fuzz_squad(const uint8_t *data, size_t bytes)
{
    const struct mtlm_task_recipe recipe = get_recipe(data, bytes);
    struct mtlm_error err = {0};
    struct mtlm_squad *squad = mtlm_squad_data_create(path, 1, &recipe, &err);

    if (squad && !recipe.training)
        look_at_answers(squad);
    look(squad ? &squad->data : NULL, NULL, &err);
}
