/* Paths and tokenizers among the options that a checkpoint stores. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/options/options_stored.h"
#include "runtime/base/memory.h"
#include "tests/launch/parse.h"

static char dir[] = "/tmp/mtlm-test.XXXXXX";

static void take_others(const char *others)
{
    json_t *stored = json_loads(others, 0, NULL);

    assert_int_equal(
        mtlm_options_stored_take(&options, NULL, stored, "old", &error), 0);
    json_decref(stored);
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Enters a new directory of that name, with the files of a fine-tuning. */
static void enter(const char *name)
{
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(mkdir(name, 0777), 0);
    assert_int_equal(chdir(name), 0);
    write_file("train.tsv", "");
    write_file("words", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n");
}

/* Leaves the directory and removes it. */
static void leave(const char *name, const char *here)
{
    assert_int_equal(unlink("train.tsv"), 0);
    assert_int_equal(unlink("words"), 0);
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(rmdir(name), 0);
    assert_int_equal(chdir(here), 0);
}

/* Asserts the text that a checkpoint of this job has of the option.  absolute:
 * with this directory; else as it is given, of which a note tells. */
static void assert_stored(enum mtlm_option_id option, const char *text,
                          bool absolute)
{
    json_t *others = mtlm_options_stored_others(&options);
    char *here = get_current_dir_name(), want[256], note[128];

    snprintf(want, sizeof(want), "%s/%s", here, text);
    assert_string_equal(
        json_string_value(json_object_get(others, mtlm_option_name(option))),
        absolute ? want : text);
    free(here);
    json_decref(others);
    assert_int_equal(mtlm_options_stored_check(&options, &error), 0);
    snprintf(note, sizeof(note), "--save stores --%s as it is given, because",
             mtlm_option_name(option));
    assert_int_equal(options.notes && strstr(options.notes, note), !absolute);
}

#define FINETUNE                                                               \
    "--model bert-tiny --vocab-file words --task mnli --train-data train.tsv " \
    "--valid-data train.tsv --lr 1e-4 --global-batch-size 8"

/* A directory whose name has a blank: a file alone is found again. */
static void test_a_path_with_a_blank_returns(void **state)
{
    char *here = get_current_dir_name(), *there, *want, *text;
    json_t *others;

    (void) state;
    enter("a b");
    there = get_current_dir_name();
    assert_true(asprintf(&want, "%s/train.tsv", there) > 0);
    accepts(FINETUNE);
    assert_stored(MTLM_OPT_TRAIN_DATA, "train.tsv", true);
    assert_stored(MTLM_OPT_VOCAB_FILE, "words", true);
    others = mtlm_options_stored_others(&options);
    text = json_dumps(others, 0);
    json_decref(others);
    assert_int_equal(chdir(here), 0);
    mtlm_options_free(&options);
    options = (struct mtlm_options){0};
    take_others(text);
    free(text);
    assert_string_equal(options.train_data, want);
    /* Two of a list are not. */
    assert_int_equal(chdir(there), 0);
    accepts("--model gpt-tiny --data-path 0.5 x 0.5 y");
    assert_stored(MTLM_OPT_DATA_PATH, "0.5 x 0.5 y", false);
    leave("a b", here);
    free(want);
    free(there);
    free(here);
}

/* " ;" begins a comment in a configuration file. */
static void test_a_path_that_no_option_holds_stays_relative(void **state)
{
    char *here = get_current_dir_name();

    (void) state;
    enter("a ;b");
    accepts(FINETUNE);
    assert_stored(MTLM_OPT_TRAIN_DATA, "train.tsv", false);
    assert_stored(MTLM_OPT_VOCAB_FILE, "words", false);
    leave("a ;b", here);
    free(here);
}

/* A job that gives the option takes the rest from the checkpoint. */
static void take_beside(enum mtlm_option_id given, const char *others)
{
    mtlm_options_free(&options);
    options = (struct mtlm_options){0};
    assert_int_equal(mtlm_option_value_set(&options, given, "new",
                                           MTLM_SOURCE_COMMAND_LINE, "",
                                           &error),
                     0);
    take_others(others);
}

/* Its files may be elsewhere now; other files are another tokenizer's. */
static void test_a_tokenizer_may_move(void **state)
{
    static const char words[] = "{\"tokenizer-type\": \"BertWordPieceCase\", "
                                "\"vocab-file\": \"/old\"}";
    static const char pairs[] = "{\"vocab-file\": \"/old\", "
                                "\"merge-file\": \"/merges\"}";

    (void) state;
    take_beside(MTLM_OPT_VOCAB_FILE, words);
    assert_string_equal(options.tokenizer_type, "BertWordPieceCase");
    assert_string_equal(options.vocab_file, "new");
    take_beside(MTLM_OPT_VOCAB_FILE, pairs);
    assert_string_equal(options.vocab_file, "new");
    assert_string_equal(options.merge_file, "/merges");
    take_beside(MTLM_OPT_TOKENIZER_MODEL, words);
    assert_null(options.tokenizer_type);
    assert_null(options.vocab_file);
    take_beside(MTLM_OPT_TOKENIZER_MODEL, pairs);
    assert_null(options.vocab_file);
    assert_null(options.merge_file);
    take_beside(MTLM_OPT_TOKENIZER_TYPE, words);
    assert_string_equal(options.tokenizer_type, "new");
    assert_null(options.vocab_file);
}

/* A fine-tuning takes the body and its tokenizer. */
static void test_a_pretraining_brings_its_tokenizer(void **state)
{
    (void) state;
    mtlm_options_free(&options);
    options = (struct mtlm_options){.pretrained_dir = mtlm_strdup(dir),
                                    .finetune = true};
    take_others("{\"tokenizer-model\": \"/words\", \"train-iters\": \"3\"}");
    assert_string_equal(options.tokenizer_model, "/words");
    assert_int_equal(options.train_iters, 0);
}

static int setup(void **state)
{
    return mkdtemp(dir) ? parse_setup(state) : -1;
}

static int teardown(void **state)
{
    rmdir(dir);
    return parse_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_path_with_a_blank_returns),
        cmocka_unit_test(test_a_path_that_no_option_holds_stays_relative),
        cmocka_unit_test(test_a_tokenizer_may_move),
        cmocka_unit_test(test_a_pretraining_brings_its_tokenizer),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
