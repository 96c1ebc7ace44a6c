/* Configuration files, read and printed. */

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

#include "launch/options/option_table.h"
#include "launch/options/options_answer.h"
#include "launch/options/options_layout.h"
#include "launch/options/options_parse.h"
#include "launch/options/options_print.h"
#include "tests/launch/parse.h"

static void test_a_configuration_file_is_read_strictly(void **state)
{
    char line[300];

    (void) state;
    refuses_config("\n# comment\nnum-layers = 0\n",
                   ":3: num-layers is '0', it must be a whole number from 1 "
                   "to 32768");
    refuses_config("num-layers = 2 3\n",
                   ":1: num-layers is '2 3', it must be a whole number from "
                   "1 to 32768");
    refuses_config("seed = 1\n\nhiden-size = 4\n",
                   ":3: unknown key hiden-size; did you mean hidden-size?");
    refuses_config("num_layers = 4\n",
                   ":1: unknown key num_layers; did you mean num-layers?");
    refuses_config("batch-size = 4\n",
                   ":1: batch-size is spelled micro-batch-size here");
    refuses_config("seed = 1\nseed = 1\n",
                   ":2: seed is given already in line 1");
    refuses_config("seed = 1\n  seed = 2\n",
                   ":2: seed is given already in line 1");
    refuses_config("seed = 1\nseed\n", ":2: not of the form key = value");
    refuses_config("seed = 1\n[model]\n",
                   ":2: a [section], which this file cannot have");
    refuses_config("mock-data = maybe\n",
                   ":1: mock-data is 'maybe', it must be yes or no");
    refuses_config("help = yes\n",
                   ":1: this option is for the command line only");
    refuses_config("config = x\n",
                   ":1: this option is for the command line only");
    memset(line, 'x', sizeof(line));
    memcpy(line, "data-path = ", 12);
    line[sizeof(line) - 1] = '\0';
    refuses_config(line, ":1: longer than 198 characters, the most there may "
                         "be");
    refuses("--config /nonexistent/x --model gpt-tiny",
            "--config /nonexistent/x: No such file or directory");
    refuses("--config / --model gpt-tiny", "--config /: Is a directory");
}

static void test_a_configuration_file_may_look_like_this(void **state)
{
    (void) state;
    accepts_config("; comment\r\n  model = gpt-tiny  \r\nmock-data=yes\n"
                   "split = 90, 10 ; no test\n",
                   "");
    assert_string_equal(options.split, "90, 10");
    assert_true(options.mock_data);
    accepts_config("model = gpt-tiny\nmock-data = no\ndata-path = a b/c=d", "");
    assert_string_equal(options.data_path, "a b/c=d");
    assert_false(options.mock_data);
}

static char *printed(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    mtlm_options_print(&options, out);
    fclose(out);
    return text;
}

#define ORDER "test_config_file.csv"
#define CLUSTER "test_config_file.ini"

static void write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void test_printed_values_read_back_as_the_same(void **state)
{
    static const char *const lines[] = {
        "--model gpt-tiny",
        "--model gpt2-345m --data-path a/b --split 8,1,1 --trace t "
        "--trace-iterations 7:9 --seed 4294967295 --log-throughput",
        "--model gpt-tiny --lr 0.1 --min-lr 0.070000000000000007 --adam-eps "
        "3.3333333333333335e-10 --lr-warmup-iters 3 --mock-data --lr 1e3",
        "--model gpt-tiny --collective-order plan --transport serial "
        "--ffn-hidden-size 64 --lr-decay-style constant --window 2",
        "--model gpt-tiny --train-samples 1000 --rampup-batch-size 1 1 100 "
        "--lr-decay-style WSD --lr-wsd-decay-samples 70 --lr-decay-samples 900",
        "--model gpt-tiny --pipeline-model-parallel-size 2 --placement policy "
        "--schedule zb-h1 --workers 4",
        "--model gpt-tiny --pipeline-model-parallel-size 2 --schedule auto",
        "--model gpt-tiny --weight-decay-incr-style cosine --lr-warmup-iters 0 "
        "--start-weight-decay 0.1 --end-weight-decay 0.2 --exit-interval 7",
        /* A default would count as given. */
        "--model gpt-tiny --load x --eval-only --mock-data --save y",
        "--model gpt-tiny --load x --prompt-file x --top-p 0.5",
        /* For prompts, not for a training. */
        "--model gpt-tiny --load x --prompt-file x --bf16",
        "--model gpt-tiny --load x --task lambada --valid-data x",
        "--model gpt-tiny --schedule-file " ORDER,
        /* No warm-up, although the preset has one. */
        "--model gpt-tiny --train-samples 1000 --lr-warmup-iters 0",
        "--model gpt-tiny --lr-warmup-samples 0",
        /* Each type of a value. */
        "--model gpt-tiny --synthetic " CLUSTER " --slow-rank 0:0.5 "
        "--jitter 0.1,transient=0.1x3,rank=0:2",
        "--model gpt-tiny --epilogues gelu:on --data-path 0.3 #a 0.7 \"b\" "
        "--save a=b:c; --metrics [x",
    };

    (void) state;
    write_file(ORDER, "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
    write_file(CLUSTER,
               "[stage]\nforward_ms = 1\nbackward_ms = 1\nweight_ms = 1\n");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char *first, *second;

        accepts(lines[i]);
        first = printed();
        accepts_config(first, "");
        /* Not nailed down where it gives way to a schedule. */
        if (strstr(lines[i], "--schedule auto"))
            assert_false(mtlm_options_given(&options, MTLM_OPT_PLACEMENT));
        /* A schedule stays emergent. */
        assert_false(mtlm_options_given(&options, MTLM_OPT_SCHEDULE_MODE));
        second = printed();
        assert_string_equal(first, second);
        free(first);
        free(second);
    }
    unlink(ORDER);
    unlink(CLUSTER);
}

/* What follows from a value must not be nailed down by printing it. */
static void test_printed_values_can_be_overridden(void **state)
{
    char *text;

    (void) state;
    accepts("--model gpt-tiny");
    text = printed();
    accepts_config(text, "--hidden-size 512 --data-path x --train-iters 10");
    assert_int_equal(options.model.ffn_hidden_size, 2048);
    assert_int_equal(options.lr_decay_iters, 10);
    assert_false(options.mock_data);
    free(text);
}

/* A given micro batch would not shrink. */
static void test_a_printed_micro_batch_stays_free(void **state)
{
    char *text;

    (void) state;
    accepts("--model gpt-tiny");
    text = printed();
    assert_non_null(strstr(text, "\n# micro-batch-size = "));
    accepts_config(text, "");
    assert_true(mtlm_options_micro_batch_is_free(&options));
    free(text);
    accepts("--model gpt-tiny --micro-batch-size 2");
    text = printed();
    assert_non_null(strstr(text, "\nmicro-batch-size = 2\n"));
    free(text);
}

#define BEFORE "test_config_file.before"
#define FINETUNES                                                              \
    "--model bert-tiny --tokenizer-type byte --task mnli --train-data a "      \
    "--valid-data b --lr 1e-4 --pretrained-checkpoint " BEFORE " "

/* A job that is started again goes on with its own checkpoint. */
static void test_the_directory_to_go_on_from_is_printed(void **state)
{
    char *text, *again;

    (void) state;
    mkdir(BEFORE, 0777);
    mkdir(BEFORE "/iter_0000001", 0777);
    accepts(FINETUNES "--load absent --save absent");
    assert_string_equal(options.load_dir, BEFORE);
    text = printed();
    assert_non_null(strstr(text, "\nload = absent\n"));
    accepts_config(text, "");
    assert_string_equal(options.load_dir, BEFORE);
    again = printed();
    assert_string_equal(text, again);
    free(text);
    free(again);
    accepts(FINETUNES "--save absent");
    text = printed();
    assert_non_null(strstr(text, "\n# load =\n"));
    free(text);
    rmdir(BEFORE "/iter_0000001");
    rmdir(BEFORE);
}

#define PRINTED "test_config_file.printed"
#define LIST "test_config_file.list"

/* Writes what --print-config prints for the line to PRINTED, and returns what
 * stderr gets. */
static const char *notes_of(const char *line)
{
    static char notes[256];
    const int before = dup(STDERR_FILENO);
    FILE *out = fopen(PRINTED, "w");
    int end[2];
    ssize_t n;

    accepts(line);
    assert_int_equal(pipe(end), 0);
    dup2(end[1], STDERR_FILENO);
    close(end[1]);
    mtlm_options_answer(&options, MTLM_REQUEST_CONFIG, out);
    dup2(before, STDERR_FILENO);
    close(before);
    fclose(out);
    n = read(end[0], notes, sizeof(notes) - 1);
    close(end[0]);
    notes[n] = '\0';
    return notes;
}

static void test_lines_that_cannot_be_read_back_are_noted(void **state)
{
    static const char want[] = "mtlm-dag: note: --config refuses the line of "
                               "data-path, which has more than 198 "
                               "characters\n";
    FILE *list = fopen(LIST, "w");
    char line[300];

    (void) state;
    snprintf(line, sizeof(line), "--model gpt-tiny --data-path x%0185d", 0);
    assert_string_equal(notes_of(line), "");
    accepts("--config " PRINTED);
    strcat(line, "0");
    assert_string_equal(notes_of(line), want);
    assert_int_equal(parse("--config " PRINTED), -1);
    /* A file has the value, whose line is a comment. */
    fprintf(list, "x%0200d", 0);
    fclose(list);
    assert_string_equal(notes_of("--model gpt-tiny --data-args-path " LIST),
                        want);
    unlink(LIST);
    unlink(PRINTED);
}

static void test_a_prompt_that_is_not_printed_is_noted(void **state)
{
    (void) state;
    assert_string_equal(notes_of("--model gpt-tiny --load x --generate word"),
                        "mtlm-dag: note: --config cannot hold a prompt; give "
                        "--generate again\n");
    accepts("--config " PRINTED " --generate word");
    assert_true(options.eval_only);
    assert_string_equal(
        notes_of("--model gpt-tiny --load x --bf16 --generate word"),
        "mtlm-dag: note: --config cannot hold a prompt; give --generate and "
        "--bf16 again\n");
    accepts("--config " PRINTED " --generate word --bf16");
    assert_true(options.bf16);
    unlink(PRINTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_configuration_file_is_read_strictly),
        cmocka_unit_test(test_a_configuration_file_may_look_like_this),
        cmocka_unit_test(test_printed_values_read_back_as_the_same),
        cmocka_unit_test(test_printed_values_can_be_overridden),
        cmocka_unit_test(test_a_printed_micro_batch_stays_free),
        cmocka_unit_test(test_the_directory_to_go_on_from_is_printed),
        cmocka_unit_test(test_lines_that_cannot_be_read_back_are_noted),
        cmocka_unit_test(test_a_prompt_that_is_not_printed_is_noted),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
