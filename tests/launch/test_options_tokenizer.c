/* The sizes of a BERT's vocabulary: of the tokenizer, of the checkpoint, of a
 * preset; and the recipe of a fine-tuning that continues. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/options/options_stored.h"
#include "tests/launch/parse.h"
#include "tests/launch/stored.h"

static char words[64];

/* Writes the checkpoint of a BERT with these texts and options; tokenizer:
 * NULL: unknown, as of an imported model. */
static void write_bert(const char *vocab_size, const char *tokenizer,
                       const char *others)
{
    json_t *settings;

    accepts("--model bert-tiny --mock-data");
    settings = mtlm_options_stored_settings(&options);
    json_object_set_new(settings, "vocab-size", json_string(vocab_size));
    if (tokenizer)
        json_object_set_new(settings, "tokenizer", json_string(tokenizer));
    stored_write(json_dumps(settings, 0), others);
    json_decref(settings);
}

/* Writes a vocabulary of 7 tokens. */
static void write_words(void)
{
    FILE *file = fopen(words, "w");

    assert_non_null(file);
    fputs("a\n[UNK]\n[CLS]\n[PAD]\n[SEP]\n[MASK]\n##a\n", file);
    fclose(file);
}

/* Published models pad their vocabulary. */
static void test_a_tokenizer_may_be_smaller_than_an_imported_model(void **state)
{
    char line[160], *tokenizer;

    (void) state;
    write_words();
    snprintf(line, sizeof(line), "--eval-only --mock-data --vocab-file %s",
             words);
    write_bert("64", NULL, NULL);
    accepts_load(line);
    assert_int_equal(options.model.vocab_size, 64);
    assert_int_equal(options.tokenizer->vocab_size, 7);
    assert_string_equal(options.notes,
                        "the checkpoint has 64 tokens and the tokenizer 7; the "
                        "checkpoint does not name its tokenizer");
    /* As a training of that model is saved. */
    tokenizer = mtlm_tokenizer_describe(options.tokenizer);
    write_bert("64", tokenizer, NULL);
    accepts_load(line);
    assert_int_equal(options.model.vocab_size, 64);
    assert_null(options.notes);
    free(tokenizer);
    write_bert("64", "BertWordPieceLowerCase, 60 tokens, hash 0", NULL);
    refuses_load(line, "was saved with --vocab-size 64, this job has 7");
    write_bert("6", NULL, NULL);
    refuses_load(line, "was saved with --vocab-size 6, this job has 7");
}

/* The checkpoint's size is given again, or another one. */
static void test_a_padded_size_may_be_given(void **state)
{
    char line[200];

    (void) state;
    write_words();
    write_bert("64", NULL, NULL);
    snprintf(line, sizeof(line),
             "--eval-only --mock-data --vocab-file %s --vocab-size 64", words);
    accepts_load(line);
    assert_int_equal(options.model.vocab_size, 64);
    snprintf(line, sizeof(line),
             "--eval-only --mock-data --vocab-file %s --vocab-size 65", words);
    refuses_load(line, "was saved with --vocab-size 64, this job has 65");
}

/* The preset has 30522 tokens, and the job that saved had the tokenizer's. */
static void test_the_size_of_a_preset_gives_way(void **state)
{
    json_t *settings;
    char line[160];

    (void) state;
    write_words();
    snprintf(line, sizeof(line),
             "--model bert-336m --mock-data --vocab-file %s", words);
    accepts(line);
    settings = mtlm_options_stored_settings(&options);
    stored_write(json_dumps(settings, 0), NULL);
    json_decref(settings);
    accepts_load(line);
    assert_int_equal(options.model.vocab_size, 7);
}

/* The learning rate of the preset, which is one of a pretraining, goes before
 * the checkpoint's. */
static void test_a_preset_is_no_recipe_of_a_fine_tuning(void **state)
{
    char line[256];

    (void) state;
    write_bert("261", NULL, "{\"task\": \"mnli\", \"lr\": \"0.001\"}");
    snprintf(line, sizeof(line),
             "--load %s --model bert-tiny --task mnli --train-data a "
             "--valid-data b",
             stored_dir);
    refuses(line, "--lr is missing, and a fine-tuning takes none from a "
                  "preset; give it");
}

static int setup(void **state)
{
    if (stored_setup(state) < 0)
        return -1;
    snprintf(words, sizeof(words), "%s/vocab.txt", stored_dir);
    return 0;
}

static int teardown(void **state)
{
    unlink(words);
    return stored_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_a_tokenizer_may_be_smaller_than_an_imported_model),
        cmocka_unit_test(test_a_padded_size_may_be_given),
        cmocka_unit_test(test_the_size_of_a_preset_gives_way),
        cmocka_unit_test(test_a_preset_is_no_recipe_of_a_fine_tuning),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
