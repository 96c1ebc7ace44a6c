/* Losses of files of metrics, as a table and as a picture. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "launch/report/loss_picture.h"
#include "launch/report/losses.h"
#include "runtime/base/memory.h"
#include "trace_dir.h"

#define HEADER "{\"program\":\"mtlm-dag\",\"options\":{}}\n"

/* Writes a file of metrics; the caller frees its path. */
static char *put_file(const char *name, const char *text)
{
    char *path = trace_dir_path(name);
    FILE *f;

    mkdir(trace_dir, 0777);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static struct mtlm_losses read_losses(const char *path)
{
    struct mtlm_losses losses;
    struct mtlm_error err;

    if (mtlm_losses_read(&losses, path, &err) < 0)
        fail_msg("%s", err.text);
    return losses;
}

static char *draw(const struct mtlm_losses *run, int n)
{
    char *path = trace_dir_path("loss.svg");
    struct mtlm_error err;

    assert_int_equal(mtlm_loss_picture_write(path, run, n, &err), 0);
    free(path);
    return trace_dir_read("loss.svg");
}

static char *table_of(const struct mtlm_losses *run, int n)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    mtlm_losses_print(f, run, n);
    fclose(f);
    return text;
}

static const char small[] =
    HEADER "{\"iteration\":0,\"validation\":{\"lm_loss\":4}}\n"
           "{\"iteration\":1,\"learning_rate\":0.5,\"lm_loss\":4}\n"
           "{\"iteration\":2,\"learning_rate\":1,\"lm_loss\":3}\n"
           "{\"iteration\":2,\"validation\":{\"lm_loss\":2.5}}\n"
           "{\"iteration\":3,\"learning_rate\":0,\"lm_loss\":2}\n"
           "{\"iteration\":3,\"validation\":{\"lm_loss\":3}}\n"
           "{\"iteration\":3,\"test\":{\"lm_loss\":3.5}}\n";

/* A panel of 528 x 260 pixels from (58, 34) on: 0 to 3, 2 to 4. */
static void test_picture_has_the_values_in_place(void **state)
{
    char *path = put_file("small", small), *text;
    struct mtlm_losses losses = read_losses(path);

    (void) state;
    text = draw(&losses, 1);
    assert_non_null(strstr(text,
                           "<path class=\"mean\" stroke=\"#4477aa\" "
                           "d=\"M234.0 34.0L410.0 164.0L586.0 294.0\"/>"));
    /* 14 pixels below, 46 high, from 0 to 1. */
    assert_non_null(strstr(text, "<path class=\"rate\" stroke=\"#4477aa\" "
                                 "d=\"M234.0 331.0L410.0 308.0L586.0 354.0"));
    assert_int_equal(count_words(text, "class=\"raw\""), 0);
    assert_non_null(strstr(text, "<circle cx=\"410.0\" cy=\"229.0\""));
    assert_int_equal(count_words(text, ": validation loss "), 3);
    assert_non_null(strstr(text, "<path d=\"M586.0 94.0l5 5l-5 5l-5 -5z\""));
    assert_non_null(strstr(text, "small: test loss 3.5000 at iteration 3<"));
    assert_non_null(strstr(text, ">training loss</text>"));
    assert_non_null(strstr(text, ">loss (nats per token)</text>"));
    free(text);
    /* A long key stays whole, and in the picture: a second line moves the panel
     * down by 20 pixels. */
    losses.width = 12345678;
    text = draw(&losses, 1);
    assert_non_null(strstr(text, ", mean of the last 12345678</text>"));
    assert_non_null(strstr(text, "y=\"20.0\">validation loss</text>"));
    assert_non_null(
        strstr(text, "<text x=\"74.0\" y=\"40.0\">test loss</text>"));
    assert_non_null(strstr(text, "d=\"M234.0 54.0L410.0 184.0L586.0 314.0\""));
    free(text);
    mtlm_losses_free(&losses);
    free(path);
}

/* The loss of a task is of its answers, beside a pretraining, too. */
static void test_losses_of_a_task_are_not_of_tokens(void **state)
{
    static const char *const text[] = {
        "{\"program\":\"mtlm-dag\",\"options\":{\"task\":null}}\n"
        "{\"iteration\":1,\"lm_loss\":4}\n",
        "{\"program\":\"mtlm-dag\",\"options\":{\"task\":\"mnli\"}}\n"
        "{\"iteration\":1,\"lm_loss\":1}\n"};
    struct mtlm_losses losses[2];
    char *path[2], *picture;

    (void) state;
    for (int i = 0; i < 2; i++) {
        path[i] = put_file(i ? "task" : "text", text[i]);
        losses[i] = read_losses(path[i]);
        assert_int_equal(losses[i].curves.of_task, i);
    }
    for (int n = 1; n <= 2; n++) {
        picture = draw(losses + 2 - n, n);
        assert_non_null(strstr(picture, ">loss</text>"));
        assert_null(strstr(picture, "nats per token"));
        free(picture);
    }
    for (int i = 0; i < 2; i++) {
        mtlm_losses_free(&losses[i]);
        free(path[i]);
    }
}

static void test_table_has_the_last_losses_and_the_least(void **state)
{
    char *path = put_file("small", small), *text, *want;
    struct mtlm_losses losses = read_losses(path);

    (void) state;
    text = table_of(&losses, 1);
    want = mtlm_sprintf("\n%s           3         2.0000        1"
                        "           3.0000      2.5000             2"
                        "     3.5000\n",
                        path);
    assert_string_equal(strchr(text, '\n'), want);
    free(want);
    free(text);
    mtlm_losses_free(&losses);
    free(path);
}

/* A job that goes on replaces what the job before did beyond the checkpoint;
 * the file ends in the middle of a line. */
static void test_a_resumed_run_is_one_curve(void **state)
{
    char *path = put_file("resumed", HEADER
                          "{\"iteration\":1,\"lm_loss\":4}\n"
                          "{\"iteration\":2,\"lm_loss\":9}\n"
                          "{\"iteration\":2,\"validation\":{\"lm_loss\":9}}\n"
                          "{\"iteration\":3,\"lm_loss\":9}\n" HEADER
                          "{\"iteration\":2,\"lm_loss\":3}\n"
                          "{\"iteration\":3,\"lm_loss\":null}\n"
                          "{\"iteration\":4,\"lm_loss\":2}\n"
                          "{\"iteration\":5,\"lm_lo");
    struct mtlm_losses losses = read_losses(path);
    const struct mtlm_curve *c = &losses.curves.of[MTLM_CURVE_TRAINING];
    char *text;

    (void) state;
    assert_int_equal(c->n, 4);
    assert_int_equal(losses.curves.of[MTLM_CURVE_VALIDATION].n, 0);
    assert_true(c->value[1] == 3 && c->iteration[1] == 2);
    text = draw(&losses, 1);
    /* The loss that is not finite leaves a gap. */
    assert_non_null(
        strstr(text, "d=\"M190.0 34.0L322.0 164.0M586.0 294.0\"/>"));
    assert_null(strstr(text, "learning rate"));
    free(text);
    mtlm_losses_free(&losses);
    free(path);
}

static void test_a_cut_line_may_stand_before_a_header(void **state)
{
    char *path = put_file("crashed", HEADER "{\"iteration\":1,\"lm_loss\":4}\n"
                                            "{\"iteration\":2,\"lm_lo\n" HEADER
                                            "{\"iteration\":2,\"lm_loss\":3}\n"
                                            "{\"iteration\":3,\"lm_lo\n");
    struct mtlm_losses losses = read_losses(path);
    const struct mtlm_curve *c = &losses.curves.of[MTLM_CURVE_TRAINING];

    (void) state;
    assert_int_equal(c->n, 2);
    assert_true(c->value[0] == 4 && c->value[1] == 3);
    mtlm_losses_free(&losses);
    free(path);
}

/* Writes a run of n iterations with the losses 1 + 1 / i, and two spikes. */
static char *put_long_file(const char *name, int n)
{
    char *path = put_file(name, HEADER);
    FILE *f = fopen(path, "a");

    assert_non_null(f);
    for (int i = 1; i <= n; i++)
        fprintf(f,
                "{\"iteration\":%d,\"learning_rate\":1e-3,\"lm_loss\":%.9f}\n",
                i, i == n / 2 ? 1e6 : 1 + 1. / i);
    fclose(f);
    return path;
}

static void test_long_runs_have_means_and_small_files(void **state)
{
    char *path = put_long_file("long", 200000), *text;
    struct mtlm_losses losses = read_losses(path);
    const struct mtlm_curve *c = &losses.curves.of[MTLM_CURVE_TRAINING];
    double sum = 0;

    (void) state;
    assert_int_equal(losses.width, 4000);
    for (int i = 0; i < 4000; i++)
        sum += c->value[c->n - 1 - i];
    assert_true(losses.mean[c->n - 1] - sum / 4000 < 1e-9
                && sum / 4000 - losses.mean[c->n - 1] < 1e-9);
    text = draw(&losses, 1);
    assert_true(strlen(text) < 200000);
    assert_non_null(strstr(text, ">training loss, mean of the last 4000<"));
    assert_int_equal(count_words(text, "class=\"raw\""), 1);
    free(text);
    mtlm_losses_free(&losses);
    free(path);
}

/* A mean of four losses forgets a huge one, and a gap, when they have left. */
static void test_a_huge_loss_leaves_the_means(void **state)
{
    enum { N = 200, HUGE_LOSS = 50, GAP = 100 };
    char *path = put_file("huge", HEADER);
    FILE *f = fopen(path, "a");
    struct mtlm_losses losses;

    (void) state;
    assert_non_null(f);
    for (int i = 0; i < N; i++)
        fprintf(f, "{\"iteration\":%d,\"lm_loss\":%s}\n", i + 1,
                i == HUGE_LOSS ? "1e20"
                : i == GAP     ? "null"
                : i % 2        ? "3"
                               : "1");
    fclose(f);
    losses = read_losses(path);
    assert_int_equal(losses.width, 4);
    assert_true(losses.mean[0] == 1 && losses.mean[1] == 2);
    for (int i = 3; i < N; i++)
        if (i >= HUGE_LOSS && i < HUGE_LOSS + 4)
            assert_true(losses.mean[i] > 1e19);
        else if (i < GAP || i > GAP + 3)
            assert_true(losses.mean[i] == 2);
    mtlm_losses_free(&losses);
    free(path);
}

static void test_learning_rates_have_three_digits(void **state)
{
    char *path = put_file("rate", HEADER "{\"iteration\":1,\"learning_rate\":"
                                         "1.25e-5,\"lm_loss\":4}\n");
    struct mtlm_losses losses = read_losses(path);
    char *text = draw(&losses, 1);

    (void) state;
    assert_non_null(strstr(text, ">1.25e-05</text>"));
    free(text);
    mtlm_losses_free(&losses);
    free(path);
}

static void test_several_runs_have_colours_and_names(void **state)
{
    static const char *const name[] = {"a", "b & <c>"};
    struct mtlm_losses losses[2];
    char *path[2], *text;

    (void) state;
    for (int i = 0; i < 2; i++) {
        path[i] = put_file(name[i], small);
        losses[i] = read_losses(path[i]);
    }
    text = draw(losses, 2);
    assert_int_equal(count_words(text, "<path class=\"mean\" stroke=\"#4477aa"),
                     2); /* curve and legend */
    assert_int_equal(count_words(text, "<path class=\"mean\" stroke=\"#ee6677"),
                     2);
    assert_int_equal(count_words(text, "/a</text>"), 1);
    assert_int_equal(count_words(text, "/b &amp; &lt;c&gt;</text>"), 1);
    free(text);
    text = table_of(losses, 2);
    assert_int_equal(count_words(text, "\n"), 3);
    free(text);
    for (int i = 0; i < 2; i++) {
        mtlm_losses_free(&losses[i]);
        free(path[i]);
    }
}

static void test_other_files_are_refused(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", " has no losses"},
        {"{}\n", " is no file of mtlm-dag --metrics: its first line"},
        {"\x89PNG\n", " is no file of mtlm-dag --metrics: its first line"},
        {"{\"program\":\"other\"}\n", " is no file of mtlm-dag --metrics"},
        {HEADER, " has no losses"},
        {HEADER "{\"iteration\":1,\"lm_loss\":null}\n", " has no losses"},
        {HEADER "{\"iteration\":1,\"lm_loss\":\n"
                "{\"iteration\":2,\"lm_loss\":3}\n",
         ": line 2: no JSON"},
        {HEADER "{\"iteration\":1,\"lm_loss\":3}\ncut\ncut\n" HEADER,
         ": line 4: "},
        {HEADER "{\"iteration\":1,\"lm_loss\":\"3\"}\n",
         ": line 2: lm_loss is no number"},
        {HEADER "{\"iteration\":-1,\"lm_loss\":3}\n",
         ": line 2: iteration is no number of an iteration"},
        {HEADER "{\"iteration\":9223372036854775807,\"lm_loss\":3}\n",
         ": line 2: iteration is no number of an iteration"},
        {HEADER "{\"iteration\":1,\"lm_loss\":3,\"learning_rate\":[]}\n",
         ": line 2: learning_rate is no number"},
        {HEADER "[1]\n", ": line 2: iteration is no number"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *path = put_file("bad", cases[i].text);
        struct mtlm_losses losses;
        struct mtlm_error err;

        assert_int_equal(mtlm_losses_read(&losses, path, &err), -1);
        assert_int_equal(err.code, MTLM_EXIT_INPUT);
        if (!strstr(err.text, cases[i].want))
            fail_msg("%s, not %s", err.text, cases[i].want);
        free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DIR_TEST(test_picture_has_the_values_in_place),
        DIR_TEST(test_losses_of_a_task_are_not_of_tokens),
        DIR_TEST(test_table_has_the_last_losses_and_the_least),
        DIR_TEST(test_a_resumed_run_is_one_curve),
        DIR_TEST(test_a_cut_line_may_stand_before_a_header),
        DIR_TEST(test_long_runs_have_means_and_small_files),
        DIR_TEST(test_a_huge_loss_leaves_the_means),
        DIR_TEST(test_learning_rates_have_three_digits),
        DIR_TEST(test_several_runs_have_colours_and_names),
        DIR_TEST(test_other_files_are_refused),
    };

    return cmocka_run_group_tests_name("losses", tests, NULL, NULL);
}
