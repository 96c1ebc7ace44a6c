/* Parts of tasks on small inputs whose answers are known: pairs, the text of an
 * answer, exact match and F1, the span of logits, accuracy, the files of a
 * directory. */

#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/task/accuracy.h"
#include "models/task/answer_score.h"
#include "models/task/final_text.h"
#include "models/task/normalize.h"
#include "models/task/pair.h"
#include "models/task/predictions.h"
#include "models/task/squad_answer.h"
#include "models/task/squad_data.h"
#include "models/task/text_files.h"
#include "models/text/wordpiece.h"
#include "tests/models/files.h"

enum { PAD, UNK, CLS, SEP, MASK, S = 68 };

static const struct mtlm_bert_vocab vocab = {
    .cls = CLS, .sep = SEP, .pad = PAD};

static void check_pair(int64_t a, int64_t b, const int32_t tokens[8],
                       const int32_t types[8], int32_t length)
{
    static const int32_t first[] = {11, 12, 13, 14, 15, 16, 17, 18};
    static const int32_t second[] = {21, 22, 23, 24, 25, 26, 27, 28};
    const struct mtlm_pair pair = {first, second, a, b};
    int32_t got[8];

    mtlm_pair_read(&pair, &vocab, 8, MTLM_FIELD_TOKENS, 0, 8, got);
    assert_memory_equal(got, tokens, sizeof(got));
    mtlm_pair_read(&pair, &vocab, 8, MTLM_FIELD_TYPES, 0, 8, got);
    assert_memory_equal(got, types, sizeof(got));
    mtlm_pair_read(&pair, &vocab, 8, MTLM_FIELD_LENGTH, 0, 1, got);
    assert_int_equal(got[0], length);
}

static void test_a_pair_is_padded_or_loses_its_end(void **state)
{
    (void) state;
    check_pair(2, 1, (int32_t[]){CLS, 11, 12, SEP, 21, SEP, PAD, PAD},
               (int32_t[]){0, 0, 0, 0, 1, 1, 0, 0}, 6);
    check_pair(2, 3, (int32_t[]){CLS, 11, 12, SEP, 21, 22, 23, SEP},
               (int32_t[]){0, 0, 0, 0, 1, 1, 1, 1}, 8);
    check_pair(2, 8, (int32_t[]){CLS, 11, 12, SEP, 21, 22, 23, SEP},
               (int32_t[]){0, 0, 0, 0, 1, 1, 1, 1}, 8);
    check_pair(8, 3, (int32_t[]){CLS, 11, 12, 13, 14, 15, 16, SEP},
               (int32_t[]){0, 0, 0, 0, 0, 0, 0, 1}, 8);
}

static void check_final(const char *answer, const char *original,
                        const char *want)
{
    const struct mtlm_bert_rules rules = {.lower = true, .strip_accents = true};
    char *text = mtlm_final_text(answer, original, &rules);

    assert_string_equal(text, want);
    free(text);
}

static void test_an_answer_gets_its_letters_back(void **state)
{
    (void) state;
    check_final("steve smith", "Steve Smith's", "Steve Smith");
    check_final("1895", "(1895-1943).", "1895");
    check_final("cafe creme", "\"Café  Crème\"", "Café  Crème");
    /* The word is not there; the dropped mark changes the number of
     * characters. */
    check_final("[UNK]", "Steve Smith's", "Steve Smith's");
    check_final("ab", "x a\u200b\u0301b", "x a\u200b\u0301b");
    check_final("", "Steve", "Steve");
}

static void check_normal(const char *text, const char *want)
{
    char *normal = mtlm_normalize_answer(text);

    assert_string_equal(normal, want);
    free(normal);
}

static void test_articles_and_punctuation_do_not_count(void **state)
{
    (void) state;
    check_normal("The  U.S. and\ta \u00a0cat!", "us and cat");
    check_normal("another theory", "another theory");
    check_normal("a-n a_n", "");
    check_normal("ΟΔΟΣ Ünder «the»", "οδος ünder « »");
    check_normal("a\u0301 the", "\u0301");
}

static void check_score(const char *prediction, char *const *answer, int64_t n,
                        bool negative, double exact, double f1)
{
    double got[2];

    mtlm_answer_score(prediction, answer, n, negative, &got[0], &got[1]);
    assert_float_equal(got[0], exact, 0);
    assert_float_equal(got[1], f1, 1e-15);
}

static void test_the_best_answer_counts(void **state)
{
    char *const answer[] = {"Denver Broncos", "the Denver Broncos team", "A"};

    (void) state;
    check_score("denver broncos.", answer, 2, false, 1, 1);
    check_score("Denver", answer, 2, false, 0, 2 / 3.);
    check_score("Broncos Broncos Denver team", answer, 2, false, 0, 6 / 7.);
    check_score("nothing", answer, 2, false, 0, 0);
    /* Without words: no F1 in SQuAD 1.1, and no such answer in 2.0. */
    check_score("the", answer + 2, 1, false, 1, 0);
    check_score("", answer + 2, 1, true, 1, 1);
    check_score("", answer, 3, true, 0, 0);
    check_score("x", NULL, 0, true, 0, 0);
    check_score("", NULL, 0, true, 1, 1);
}

static const char words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nwho\n?\nann\n"
                            "##a\nsaw\nbob\n.\n";

/* Returns the data of a file whose only context is "Anna saw Bob.". */
static struct mtlm_squad *open_squad(const char *questions)
{
    char file[1024];
    struct mtlm_task_recipe recipe = {.seq_length = S};
    const char *path = files_path("squad.json");
    struct mtlm_squad *squad;

    files_write("vocab.txt", words, sizeof(words) - 1);
    files_write("squad.json", file,
                (size_t) snprintf(file, sizeof(file),
                                  "{\"data\":[{\"paragraphs\":[{\"context\":"
                                  "\"Anna saw Bob.\",\"qas\":[%s]}]}]}",
                                  questions));
    recipe.tokenizer = mtlm_wordpiece_open(files_path("vocab.txt"), true, NULL);
    squad = mtlm_squad_data_create(&path, 1, &recipe, NULL);
    assert_non_null(squad);
    return squad;
}

static void close_squad(struct mtlm_squad *squad)
{
    mtlm_tokenizer_close(squad->recipe.tokenizer);
    mtlm_samples_destroy(&squad->data.samples);
}

static void test_logits_become_text(void **state)
{
    /* [CLS] who ? [SEP] ann ##a saw bob . [SEP] */
    struct mtlm_squad *squad = open_squad(
        "{\"id\":\"1\",\"question\":\"Who?\",\"answers\":[{\"text\":\"Bob\","
        "\"answer_start\":9}],\"is_impossible\":false}");
    float start[S] = {[0] = 1, [2] = 9, [4] = 4, [5] = 3},
          end[S] = {[0] = 2, [2] = 9, [3] = 9, [5] = 5, [8] = 5};
    struct mtlm_span span;
    double difference;
    int32_t place;
    char *text;

    (void) state;
    mtlm_samples_read(&squad->data.samples, 0, MTLM_FIELD_START, 0, 1, &place);
    assert_int_equal(place, 7);
    mtlm_samples_read(&squad->data.samples, 0, MTLM_FIELD_END, 0, 1, &place);
    assert_int_equal(place, 7);
    span = mtlm_span_find(squad, 0, start, end);
    assert_int_equal(span.first, 0);
    assert_int_equal(span.last, 1); /* of equal ones the first */
    text = mtlm_squad_answer(squad, 0, &span, 0, &difference);
    assert_string_equal(text, "Anna");
    assert_float_equal(difference, 3 - 9, 0);
    free(text);
    text = mtlm_squad_answer(squad, 0, &span, -6.5, &difference);
    assert_string_equal(text, "");
    free(text);
    close_squad(squad);
}

static void test_answers_are_written_for_the_scripts(void **state)
{
    struct mtlm_squad *squad =
        open_squad("{\"id\":\"x\\\"1\",\"question\":\"Who?\",\"answers\":[]},"
                   "{\"id\":\"y\",\"question\":\"Who?\",\"answers\":[]},"
                   "{\"id\":\"z\",\"question\":\"Who?\",\"answers\":[]}");
    char *const answer[] = {"caf\u00e9 \"A\"", NULL, ""};
    const double difference[] = {-0.5, 1. / 0., 0. / 0.};
    const char *path = files_path("out.json");
    size_t bytes;
    unsigned char *text;

    (void) state;
    assert_int_equal(mtlm_predictions_write(path, squad, answer, NULL), 0);
    text = files_read("out.json", &bytes);
    assert_memory_equal(text,
                        "{\n    \"x\\\"1\": \"caf\\u00E9 \\\"A\\\"\",\n"
                        "    \"z\": \"\"\n}\n",
                        bytes);
    free(text);
    assert_int_equal(
        mtlm_predictions_write_differences(path, squad, difference, NULL), 0);
    text = files_read("out.json", &bytes);
    assert_memory_equal(text,
                        "{\n    \"x\\\"1\": -0.5,\n"
                        "    \"y\": 1.7976931348623157e308,\n"
                        "    \"z\": -1.7976931348623157e308\n}\n",
                        bytes);
    free(text);
    close_squad(squad);
}

static void test_accuracy_counts_the_largest_logit(void **state)
{
    struct mtlm_accuracy accuracy = {0};

    (void) state;
    assert_float_equal(mtlm_accuracy_percent(&accuracy), 0, 0);
    assert_int_equal(mtlm_accuracy_answer((float[]){1, 3, 2}, 3), 1);
    assert_int_equal(mtlm_accuracy_answer((float[]){1, 3, 3}, 3), 1);
    assert_int_equal(mtlm_accuracy_answer((float[]){-1, -3}, 2), 0);
    assert_int_equal(mtlm_accuracy_answer((float[]){-1}, 1), 0);
    assert_int_equal(mtlm_accuracy_answer((float[]){NAN}, 1), -1);
    assert_int_equal(mtlm_accuracy_answer((float[]){NAN, 3}, 2), -1);
    assert_int_equal(mtlm_accuracy_answer((float[]){3, NAN, 2}, 3), -1);
    for (int i = 0; i < 4; i++)
        mtlm_accuracy_add(&accuracy, i != 1);
    assert_int_equal(accuracy.right, 3);
    assert_float_equal(mtlm_accuracy_percent(&accuracy), 75, 0);
}

static const char *const *names; /* NULL ends them; NULL: the system's */
static int failure;              /* errno after the last name */

struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);

struct dirent *__wrap_readdir(DIR *dir)
{
    static struct dirent entry;

    if (!names)
        return __real_readdir(dir);
    if (!*names) {
        errno = failure;
        return NULL;
    }
    snprintf(entry.d_name, sizeof(entry.d_name), "%s", *names++);
    return &entry;
}

static int add_file(void *context, const char *file, struct mtlm_error *err)
{
    (void) err;
    strcat(context, file);
    strcat(context, " ");
    return 0;
}

/* Reads the files of a directory that has these names; all: their paths, with a
 * blank after each. */
static int read_files(const char *const *of, char all[100],
                      struct mtlm_error *err)
{
    int rc;

    *all = '\0';
    names = of;
    rc = mtlm_text_files_read(".", ".txt", add_file, all, err);
    names = NULL;
    return rc;
}

static void test_a_directory_that_is_read_in_part_is_refused(void **state)
{
    static const char *const some[] = {"b.txt", "..", "c.md", "a.txt", NULL};
    struct mtlm_error err;
    char all[100];

    (void) state;
    assert_int_equal(read_files(some, all, &err), 0);
    assert_string_equal(all, "./a.txt ./b.txt ");
    failure = EIO;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(read_files(some + i, all, &err), -1);
        assert_int_equal(err.code, MTLM_EXIT_IO);
        assert_string_equal(all, "");
    }
    failure = 0;
    assert_int_equal(read_files(some + 4, all, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pair_is_padded_or_loses_its_end),
        cmocka_unit_test(test_an_answer_gets_its_letters_back),
        cmocka_unit_test(test_articles_and_punctuation_do_not_count),
        cmocka_unit_test(test_the_best_answer_counts),
        cmocka_unit_test(test_logits_become_text),
        cmocka_unit_test(test_answers_are_written_for_the_scripts),
        cmocka_unit_test(test_accuracy_counts_the_largest_logit),
        cmocka_unit_test(test_a_directory_that_is_read_in_part_is_refused),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
