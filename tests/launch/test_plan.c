/* The layout and the micro batch that are chosen. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/options/options_layout.h"
#include "launch/options/options_print.h"
#include "launch/plan/layout_choice.h"
#include "tests/launch/choice_for.h"
#include "tests/launch/parse.h"

/* ---- what is free ---- */

static void test_only_what_nobody_gives_is_chosen(void **state)
{
    (void) state;
    accepts("--model gpt-tiny");
    assert_true(mtlm_options_layout_is_free(&options));
    assert_true(mtlm_options_micro_batch_is_free(&options));
    accepts("--model gpt-tiny --tensor-model-parallel-size 1");
    assert_false(mtlm_options_layout_is_free(&options));
    accepts("--model gpt-tiny --micro-batch-size 1");
    assert_false(mtlm_options_micro_batch_is_free(&options));
    accepts_config("pipeline-model-parallel-size = 2\nmicro-batch-size = 1\n",
                   "--model gpt-tiny");
    assert_false(mtlm_options_layout_is_free(&options));
    assert_false(mtlm_options_micro_batch_is_free(&options));
    assert_int_equal(options.tensor_parallel, 1);
}

static void test_a_chosen_layout_is_not_written_down_as_given(void **state)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void) state;
    accepts("--model gpt-tiny");
    mtlm_options_print(&options, out);
    fclose(out);
    assert_non_null(strstr(text, "\n# tensor-model-parallel-size = 1\n"));
    assert_non_null(strstr(text, "\n# pipeline-model-parallel-size = 1\n"));
    free(text);
}

static void test_the_preset_s_micro_batch_gives_way(void **state)
{
    struct mtlm_choice choice;
    struct mtlm_wish wish;

    (void) state;
    /* To a global batch that it does not divide. */
    accepts("--model gpt-1.7b --global-batch-size 24");
    assert_int_equal(options.micro_batch_size, 8);
    assert_string_equal(options.notes,
                        "micro batch of 8 samples: the preset's 16 do not "
                        "divide the global batch of 24");
    refuses("--model gpt-1.7b --global-batch-size 24 --micro-batch-size 16",
            "--global-batch-size 24 is not a multiple of --micro-batch-size "
            "16");
    /* To memory. */
    accepts("--model gpt2-345m");
    choice = choice_for(1, 1, 1e6);
    assert_true(choice.fits);
    assert_int_equal(choice.micro_batch, 4);
    choice = choice_for(1, 1, 0.7 * choice.need / GIB);
    assert_true(choice.fits);
    assert_int_equal(choice.micro_batch, 2);
    wish = mtlm_layout_choice_wish(&options, 1);
    assert_int_equal(mtlm_layout_choice_take(&options, &wish, &choice, &error),
                     0);
    assert_int_equal(options.micro_batch_size, 2);
    assert_string_equal(options.notes, "micro batch of 2 samples: the preset's "
                                       "4 need more memory than available");
}

static void test_ranks_that_cannot_share_are_refused(void **state)
{
    const struct mtlm_hosts hosts = {
        .ranks = 7, .per_host = 7, .available = GIB};
    struct mtlm_choice choice;
    struct mtlm_wish wish;

    (void) state;
    accepts("--model gpt-tiny");
    wish = mtlm_layout_choice_wish(&options, 1);
    assert_int_equal(
        mtlm_layout_choice_make(&options, &wish, &hosts, &choice, NULL, &error),
        -1);
    assert_int_equal(error.code, MTLM_EXIT_USAGE);
    assert_non_null(strstr(error.text, "7 ranks cannot train this model "
                                       "together: it has 4 layers"));
    assert_non_null(strstr(error.text, "mpirun -n 6"));
}

/* Other parts help only where one part, of all rows, can be shared. */
static void test_rows_that_cannot_be_shared_are_refused(void **state)
{
    static const struct {
        const char *line, *text;
    } cases[] = {
        {"--seq-length 63", "--seq-length 63 in 1 part; give another "
                            "--seq-length"},
        {"--seq-length 63 --row-parts 2", "--seq-length 63 in 2 parts; give "
                                          "another --seq-length"},
        {"--seq-length 8 --row-parts 8", "--seq-length 8 in 8 parts; give "
                                         "another --seq-length or "
                                         "--row-parts"}};
    const struct mtlm_hosts hosts = {
        .ranks = 2, .per_host = 2, .available = 4 * GIB};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *line = mtlm_sprintf("--model gpt-tiny --sequence-parallel "
                                  "--tensor-model-parallel-size 2 %s",
                                  cases[i].line);
        struct mtlm_choice choice;
        struct mtlm_wish wish;
        const char *text;

        accepts(line);
        wish = mtlm_layout_choice_wish(&options, 1);
        assert_int_equal(mtlm_layout_choice_make(&options, &wish, &hosts,
                                                 &choice, NULL, &error),
                         -1);
        assert_int_equal(error.code, MTLM_EXIT_USAGE);
        text = strstr(error.text, "of every part of a sample, ");
        assert_non_null(text);
        assert_string_equal(text + strlen("of every part of a sample, "),
                            cases[i].text);
        free(line);
    }
}

static void test_what_does_not_fit_is_said_with_its_numbers(void **state)
{
    struct mtlm_hosts hosts = {.ranks = 2, .per_host = 2, .available = 4 * GIB};
    struct mtlm_choice choice;

    (void) state;
    accepts("--model gpt2-8.3b");
    choice = choice_for(2, 2, 4);
    assert_int_equal(
        mtlm_layout_choice_check_memory(&options, &choice, &hosts, &error), -1);
    assert_int_equal(error.code, MTLM_EXIT_RESOURCE);
    assert_non_null(strstr(error.text, "not enough memory: gpt2-8.3b (tensor"));
    assert_non_null(strstr(error.text, "GiB on this machine (2 ranks), which "
                                       "has 4.00 GiB available"));
    choice.need = 4 * GIB;
    assert_int_equal(
        mtlm_layout_choice_check_memory(&options, &choice, &hosts, &error), 0);
    hosts.per_host = 1;
    choice.need = 5 * GIB;
    assert_int_equal(
        mtlm_layout_choice_check_memory(&options, &choice, &hosts, &error), -1);
    assert_non_null(strstr(error.text, "needs 5.00 GiB on a machine "
                                       "(1 rank), and the one with least has "
                                       "4.00 GiB available"));
}

/* The choice was made by other windows than the job has. */
static void test_a_settled_schedule_is_planned_again(void **state)
{
    static const struct mtlm_hosts hosts = {
        .ranks = 4, .per_host = 4, .available = 1e6 * GIB};
    static const char four[] =
        "--model gpt-tiny --num-layers 8 --workers 1 --micro-batch-size 1 "
        "--global-batch-size 16 --pipeline-model-parallel-size 4 "
        "--num-virtual-stages-per-pipeline-rank 1 --schedule ";
    static const struct {
        const char *schedule;
        bool again;
    } rows[] = {
        {"1f1b", false}, {"window", false}, {"zb-1p", true}, {"auto", true}};

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct mtlm_choice choice;
        struct mtlm_wish wish, before;
        char line[300];
        double need;

        snprintf(line, sizeof(line), "%s%s", four, rows[i].schedule);
        accepts(line);
        choice = choice_for(4, 4, 1e6);
        need = choice.need;
        before = wish = mtlm_layout_choice_wish(&options, 1);
        assert_int_equal(
            mtlm_layout_choice_take(&options, &wish, &choice, &error), 0);
        assert_int_equal(
            mtlm_layout_choice_plan_again(&before, &wish, &hosts, &choice),
            rows[i].again);
        assert_true(rows[i].again || choice.need == need);
        need = choice.need;
        wish.order = NULL;
        wish.config.act_mem = 0;
        wish.config.window = 2.5 * MTLM_ALPHA_1F1B;
        wish.config.schedule = mtlm_schedule_find("window");
        assert_true(
            mtlm_layout_choice_plan_again(&before, &wish, &hosts, &choice));
        assert_true(choice.need > need);
    }
}

/* ---- GPUs ---- */

/* Weight, gradient and two moments of each parameter lie on each rank's GPU,
 * and some activations; how many ranks a machine has does not matter. */
static void test_each_rank_needs_room_on_its_own_gpu(void **state)
{
    const struct mtlm_hosts hosts = {
        .ranks = 2, .per_host = 2, .gpus = 2, .available = 80 * GIB};
    struct mtlm_choice choice;
    struct mtlm_wish wish;
    double states;

    (void) state;
    accepts("--model gpt2-345m --tensor-model-parallel-size 1 "
            "--micro-batch-size 1");
    states = 16 * mtlm_model_parameters(&options.model);
    wish = mtlm_layout_choice_wish(&options, 1);
    assert_int_equal(
        mtlm_layout_choice_make(&options, &wish, &hosts, &choice, NULL, &error),
        0);
    assert_true(choice.dp == 2 && choice.fits);
    assert_true(choice.need > states && choice.need < 2 * states + 4 * GIB);
}

static void test_a_gpu_that_is_too_small_or_full_is_said(void **state)
{
    struct mtlm_hosts hosts = {
        .ranks = 2, .per_host = 2, .gpus = 2, .available = 4 * GIB};
    struct mtlm_choice choice = {
        .tp = 1, .pp = 1, .dp = 2, .micro_batch = 1, .need = 5 * GIB};

    (void) state;
    accepts("--model gpt2-345m");
    hosts.unshared = 4.5 * GIB;
    assert_int_equal(
        mtlm_layout_choice_check_memory(&options, &choice, &hosts, &error), -1);
    assert_int_equal(error.code, MTLM_EXIT_RESOURCE);
    assert_non_null(strstr(error.text, "needs 5.00 GiB on each rank's GPU, and "
                                       "the one with least has 4.00 GiB"));
    assert_null(strstr(error.text, "process"));
    hosts.unshared = 6 * GIB;
    assert_int_equal(
        mtlm_layout_choice_check_memory(&options, &choice, &hosts, &error), -1);
    assert_non_null(strstr(error.text, "no other process"));
    choice.need = 4 * GIB;
    assert_int_equal(
        mtlm_layout_choice_check_memory(&options, &choice, &hosts, &error), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_nobody_gives_is_chosen),
        cmocka_unit_test(test_a_chosen_layout_is_not_written_down_as_given),
        cmocka_unit_test(test_the_preset_s_micro_batch_gives_way),
        cmocka_unit_test(test_ranks_that_cannot_share_are_refused),
        cmocka_unit_test(test_rows_that_cannot_be_shared_are_refused),
        cmocka_unit_test(test_each_rank_needs_room_on_its_own_gpu),
        cmocka_unit_test(test_a_gpu_that_is_too_small_or_full_is_said),
        cmocka_unit_test(test_what_does_not_fit_is_said_with_its_numbers),
        cmocka_unit_test(test_a_settled_schedule_is_planned_again),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
