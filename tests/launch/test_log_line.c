/* Megatron's lines, against exact strings. */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/log/short_line.h"

static struct mtlm_log_iteration example(void)
{
    struct tm tm = {.tm_year = 126,
                    .tm_mon = 10,
                    .tm_mday = 20,
                    .tm_hour = 10,
                    .tm_min = 44,
                    .tm_sec = 1,
                    .tm_isdst = -1};

    return (struct mtlm_log_iteration){
        .time = mktime(&tm),
        .iteration = 100,
        .iterations = 500000,
        .samples = 6400,
        .iteration_ms = 1234.567,
        .tflops = -1,
        .lr = 1.5e-4,
        .global_batch = 64,
        .loss = 9.8765432,
        .loss_scale = 1,
        .grad_norm = 2.3456,
        .skipped = 0,
        .nan = 0,
        .sop_loss = -1,
        .zeros = -1,
        .params_norm = -1,
        .sop_accuracy = -1,
        .tokens_per_second = -1,
        .seconds_left = -1,
        .bubble = -1,
        .overlap = -1,
    };
}

static void assert_line(const struct mtlm_log_iteration *log, const char *want)
{
    char *line = mtlm_log_iteration_line(log);

    assert_string_equal(line, want);
    free(line);
}

static void test_iteration_line_is_megatrons(void **state)
{
    const struct mtlm_log_iteration log = example();

    (void) state;
    assert_line(&log,
                " [2026-11-20 10:44:01] iteration      100/  500000 |"
                " consumed samples:         6400 |"
                " elapsed time per iteration (ms): 1234.6 |"
                " learning rate: 1.500000E-04 | global batch size:    64 |"
                " lm loss: 9.876543E+00 | loss scale: 1.0 | grad norm: 2.346 |"
                " number of skipped iterations:   0 |"
                " number of nan iterations:   0 |");
}

static void test_throughput_stands_before_the_learning_rate(void **state)
{
    struct mtlm_log_iteration log = example();

    (void) state;
    log.tflops = 45.678;
    log.zeros = 1024;
    log.params_norm = 1234.5678;
    log.skipped = 2;
    log.nan = 11;
    assert_line(&log,
                " [2026-11-20 10:44:01] iteration      100/  500000 |"
                " consumed samples:         6400 |"
                " elapsed time per iteration (ms): 1234.6 |"
                " throughput per GPU (TFLOP/s/GPU): 45.7 |"
                " learning rate: 1.500000E-04 | global batch size:    64 |"
                " lm loss: 9.876543E+00 | loss scale: 1.0 | grad norm: 2.346 |"
                " num zeros: 1024.0 | params norm: 1234.568 |"
                " number of skipped iterations:   2 |"
                " number of nan iterations:  11 |");
}

static void test_our_fields_come_last(void **state)
{
    struct mtlm_log_iteration log = example();
    char *line;

    (void) state;
    log.tokens_per_second = 5120.25;
    log.seconds_left = 7384;
    log.bubble = 3 / 11.;
    log.overlap = 0;
    line = mtlm_log_iteration_line(&log);
    assert_string_equal(strstr(line, " number of nan"),
                        " number of nan iterations:   0 |"
                        " tokens per second: 5120.2 | time left: 2.1 h |"
                        " bubble: 0.2727 | overlap: 0.0000 |");
    free(line);
}

static void test_a_bert_has_a_second_loss(void **state)
{
    struct mtlm_log_iteration log = example();
    char *line;

    (void) state;
    log.sop_loss = 0.6931472;
    log.sop_accuracy = 0.5;
    log.tokens_per_second = 10;
    line = mtlm_log_iteration_line(&log);
    assert_string_equal(strstr(line, " lm loss"),
                        " lm loss: 9.876543E+00 | sop loss: 6.931472E-01 |"
                        " loss scale: 1.0 | grad norm: 2.346 |"
                        " number of skipped iterations:   0 |"
                        " number of nan iterations:   0 |"
                        " sop accuracy: 0.5000 | tokens per second: 10.0 |");
    free(line);
}

static void test_a_loss_that_is_no_number_is_left_out(void **state)
{
    struct mtlm_log_iteration log = example();
    char *line;

    (void) state;
    log.loss = NAN;
    line = mtlm_log_iteration_line(&log);
    assert_null(strstr(line, "lm loss"));
    assert_non_null(strstr(line, " global batch size:    64 | loss scale:"));
    free(line);
}

static void test_validation_line_stands_between_rules(void **state)
{
    char *lines = mtlm_log_validation_lines("iteration 100", 2, -1, -1);

    (void) state;
    assert_string_equal(
        lines,
        "------------------------------------------------------------------"
        "-----------------------------\n"
        " validation loss at iteration 100 | lm loss value: 2.000000E+00 |"
        " lm loss PPL: 7.389056E+00 | \n"
        "------------------------------------------------------------------"
        "-----------------------------");
    free(lines);
}

static void test_validation_line_of_a_bert(void **state)
{
    char *lines =
        mtlm_log_validation_lines("iteration 8 on test set", 2, 0.5, 0.625);

    (void) state;
    assert_string_equal(
        strchr(lines, '\n'),
        "\n validation loss at iteration 8 on test set |"
        " lm loss value: 2.000000E+00 | lm loss PPL: 7.389056E+00 |"
        " sop loss value: 5.000000E-01 | sop loss PPL: 1.648721E+00 |"
        " sop accuracy: 0.6250 | \n"
        "------------------------------------------------------------------"
        "------------------------------------------------------------------"
        "--------------------------------------------------------");
    free(lines);
}

static void assert_time(double seconds, const char *want)
{
    char text[16];

    assert_string_equal(mtlm_log_time_text(seconds, text), want);
}

static void test_times_have_two_digits_or_three(void **state)
{
    (void) state;
    assert_time(0, "0 s");
    assert_time(42.4, "42 s");
    assert_time(99.4, "99 s");
    assert_time(99.6, "1.7 min");
    assert_time(3000, "50 min");
    assert_time(7384, "2.1 h");
    assert_time(200000, "56 h");
    assert_time(400000, "4.6 d");
    assert_time(1e8, "1157 d");
    assert_time(1e300, "1000000 d");
}

static void test_perplexity_is_capped_at_e_to_the_20(void **state)
{
    char *lines = mtlm_log_validation_lines("iteration 1", 1000, -1, -1);

    (void) state;
    assert_non_null(strstr(lines, "lm loss PPL: 4.851652E+08 | \n"));
    free(lines);
}

/* Every field at its longest: the width holds, and the first fields stay. */
static void test_short_lines_have_120_columns(void **state)
{
    struct mtlm_log_iteration log = example();
    char *line = mtlm_short_line_iteration(&log, false), *coloured;

    (void) state;
    assert_string_equal(line, "iteration    100/500000 | loss 9.8765 | lr "
                              "1.500E-04 | norm 2.346 | 1234.6 ms");
    free(line);
    log.iterations = log.iteration = 1000000000;
    log.skipped = log.nan = 100000;
    log.sop_loss = 0.7;
    log.iteration_ms = 12345678.9;
    log.tokens_per_second = 123456789;
    log.seconds_left = 3e6;
    log.tflops = 1234.5;
    log.loss_scale = 65536;
    log.params_norm = log.zeros = 1e9;
    log.bubble = log.overlap = 0.5;
    line = mtlm_short_line_iteration(&log, false);
    assert_in_range(strlen(line), 60, MTLM_SHORT_LINE_COLUMNS);
    assert_non_null(strstr(line, "1000000000/1000000000 | loss 9.8765 | "
                                 "skipped 100000 | NaN 100000 | sop 0.7"));
    coloured = mtlm_short_line_iteration(&log, true);
    assert_non_null(strstr(coloured, "| \033[1mloss 9.8765\033[0m | \033[31m"
                                     "skipped 100000\033[0m | "));
    free(coloured);
    free(line);
}

static void assert_validation(const char *set, double loss, bool of_tokens,
                              double sop_loss, double sop_accuracy,
                              const char *want)
{
    char *line = mtlm_short_line_validation(set, 6, loss, of_tokens, sop_loss,
                                            sop_accuracy, false);

    assert_string_equal(line, want);
    free(line);
}

static void test_short_lines_tell_a_test_from_a_validation(void **state)
{
    (void) state;
    assert_validation("test", 2, true, 0.5, 0.75,
                      "test at iteration 6 | loss 2.0000 | perplexity 7.389 | "
                      "sop 0.5000 | sop accuracy 75.0 %");
    assert_validation("validation", 2, false, -1, -1,
                      "validation at iteration 6 | loss 2.0000");
}

/* A NaN is no perplexity of e^20, and no sop loss that is left out. */
static void test_short_lines_show_a_nan(void **state)
{
    (void) state;
    assert_true(isnan(mtlm_log_perplexity(NAN)));
    assert_true(fabs(mtlm_log_perplexity(1000) / 4.851652e8 - 1) < 1e-6);
    assert_validation("validation", NAN, true, NAN, -1,
                      "validation at iteration 6 | loss nan | perplexity nan | "
                      "sop nan");
}

static void test_short_lines_have_small_rates(void **state)
{
    static const struct {
        double tflops;
        const char *want;
    } cases[] = {{0.0812, "| 0.0812 TFLOP/s a rank"},
                 {45.678, "| 45.7 TFLOP/s a rank"},
                 {0, "| 0 TFLOP/s a rank"}};
    struct mtlm_log_iteration log = example();

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *line;

        log.tflops = cases[i].tflops;
        line = mtlm_short_line_iteration(&log, false);
        assert_non_null(strstr(line, cases[i].want));
        free(line);
    }
}

static void set_or_unset(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void test_colours_are_for_terminals_that_show_them(void **state)
{
    static const struct {
        const char *term, *no_color;
        bool terminal, colours;
    } cases[] = {
        {"xterm", NULL, true, true}, {"xterm", "", true, true},
        {"xterm", "1", true, false}, {"dumb", NULL, false, false},
        {NULL, NULL, true, true},
    };
    const int pty = posix_openpt(O_RDWR | O_NOCTTY);
    int fd, file;

    (void) state;
    assert_true(pty >= 0 && grantpt(pty) == 0 && unlockpt(pty) == 0);
    fd = open(ptsname(pty), O_RDWR | O_NOCTTY);
    file = open("/dev/null", O_WRONLY);
    assert_true(fd >= 0 && file >= 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set_or_unset("TERM", cases[i].term);
        set_or_unset("NO_COLOR", cases[i].no_color);
        assert_int_equal(mtlm_short_line_terminal(fd), cases[i].terminal);
        assert_int_equal(mtlm_short_line_colours(fd), cases[i].colours);
        assert_false(mtlm_short_line_terminal(file));
        assert_false(mtlm_short_line_colours(file));
    }
    close(fd), close(file), close(pty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iteration_line_is_megatrons),
        cmocka_unit_test(test_throughput_stands_before_the_learning_rate),
        cmocka_unit_test(test_our_fields_come_last),
        cmocka_unit_test(test_a_bert_has_a_second_loss),
        cmocka_unit_test(test_a_loss_that_is_no_number_is_left_out),
        cmocka_unit_test(test_validation_line_stands_between_rules),
        cmocka_unit_test(test_validation_line_of_a_bert),
        cmocka_unit_test(test_times_have_two_digits_or_three),
        cmocka_unit_test(test_perplexity_is_capped_at_e_to_the_20),
        cmocka_unit_test(test_short_lines_have_120_columns),
        cmocka_unit_test(test_short_lines_tell_a_test_from_a_validation),
        cmocka_unit_test(test_short_lines_show_a_nan),
        cmocka_unit_test(test_short_lines_have_small_rates),
        cmocka_unit_test(test_colours_are_for_terminals_that_show_them),
    };

    return cmocka_run_group_tests_name("log_line", tests, NULL, NULL);
}
