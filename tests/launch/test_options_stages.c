/* Virtual stages on the command line: how many a rank holds, which ones, with
 * how many layers. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/options/options_layout.h"
#include "launch/plan/layout_choice.h"
#include "tests/launch/parse.h"

#define TEN "--model gpt-tiny --num-layers 10 "
#define P "--pipeline-model-parallel-size "
#define V "--num-virtual-stages-per-pipeline-rank "
#define N "--num-layers-per-virtual-pipeline-stage "

/* What the line stands for, on so many ranks. */
static struct mtlm_layout layout_of(const char *line, int ranks)
{
    const struct mtlm_hosts hosts = {
        .ranks = ranks, .per_host = ranks, .available = 1e12};
    struct mtlm_wish wish;
    struct mtlm_choice choice;

    accepts(line);
    wish = mtlm_layout_choice_wish(&options, 1);
    if (mtlm_layout_choice_make(&options, &wish, &hosts, &choice, NULL, &error)
        < 0)
        fail_msg("%s: %s", line, error.text);
    return mtlm_choice_config(&wish, &choice).layout;
}

static void gives(const char *line, int ranks, int pp, int v, const char *text)
{
    const struct mtlm_layout layout = layout_of(line, ranks);
    char *got =
        mtlm_layout_choice_stages_text(&layout, options.model.num_layers);

    assert_int_equal(layout.pp, pp);
    assert_int_equal(layout.virtual_stages, v);
    assert_string_equal(got, text);
    free(got);
}

static void test_stages_are_dealt_out_evenly(void **state)
{
    (void) state;
    gives(TEN, 1, 1, 1, "1, layers 10");
    gives(TEN P "4", 4, 4, 1, "4, layers 3 3 2 2");
    gives(TEN P "3 " V "2", 3, 3, 2,
          "6, 2 on each rank (placement loop), layers 2 2 2 2 1 1");
    gives(TEN V "5", 1, 1, 5,
          "5, 5 on each rank (placement loop), layers 2 2 2 2 2");
    gives("--model gpt-tiny --num-layers 70 " P "4 " V "5", 4, 4, 5,
          "20, 5 on each rank (placement loop), layers 10 x 4 10 x 3");
}

/* No number has to divide another. */
static void test_the_layers_of_a_stage_give_their_number(void **state)
{
    (void) state;
    gives(TEN P "2 " N "2", 2, 2, 3,
          "6, 3 on each rank (placement loop), layers 2 2 2 2 1 1");
    gives(TEN P "2 " N "5", 2, 2, 1, "2, layers 5 5");
    gives(TEN P "2 " N "4", 2, 2, 2,
          "4, 2 on each rank (placement loop), layers 3 3 2 2");
    gives(TEN P "1 " N "100", 1, 1, 1, "1, layers 10");
    /* Also where the ranks are not known yet. */
    gives(TEN N "2", 2, 2, 3,
          "6, 3 on each rank (placement loop), layers 2 2 2 2 1 1");
}

static void test_the_v_has_two_stages_per_rank(void **state)
{
    (void) state;
    gives(TEN P "2 --placement v", 2, 2, 2,
          "4, 2 on each rank (placement v), layers 3 3 2 2");
    gives(TEN P "2 --placement v " V "3", 2, 2, 3,
          "6, 3 on each rank (placement v), layers 2 2 2 2 1 1");
    gives(TEN P "2 --placement v " N "5", 2, 2, 1, "2, layers 5 5");
    refuses(TEN "--placement w",
            "--placement is 'w', it must be one of loop/v/policy");
}

/* With placement policy, P is how many there are, and one rank has them. */
static void test_one_rank_has_the_stages_that_a_policy_places(void **state)
{
    (void) state;
    gives(TEN P "4 --placement policy", 1, 1, 4,
          "4, 4 on each rank (placement policy), layers 3 3 2 2");
    gives(TEN P "1 --placement policy", 3, 1, 1, "1, layers 10");
    gives(TEN P "3 --placement policy --tensor-model-parallel-size 2 "
                "--stage-layers 5,2,3",
          4, 1, 3, "3, 3 on each rank (placement policy), layers 5 2 3");
    assert_int_equal(mtlm_options_layout_check(&options, 4, &error), 0);
    assert_int_equal(mtlm_options_layout_check(&options, 3, &error), -1);
    assert_string_equal(error.text,
                        "--tensor-model-parallel-size 2 ranks hold a model "
                        "with --placement policy, but this job has 3, which is "
                        "not a multiple; start with mpirun -n 2");
    refuses(TEN "--placement policy",
            "--placement policy needs --pipeline-model-parallel-size, the "
            "number of stages on a rank");
    refuses(TEN P "4 --placement policy " V "2",
            "--num-virtual-stages-per-pipeline-rank sets the stages of each "
            "rank; with --placement policy --pipeline-model-parallel-size 4 "
            "says how many there are");
    refuses(TEN P "4 --placement policy " N "2",
            "--num-layers-per-virtual-pipeline-stage sets the stages of each "
            "rank; with --placement policy --pipeline-model-parallel-size 4 "
            "says how many there are");
    refuses(TEN P "2 --placement policy --stage-layers 1,2,3,4",
            "--stage-layers names 4 stages, and with --placement policy "
            "--pipeline-model-parallel-size says 2");
    refuses(TEN P "11 --placement policy",
            "--num-layers 10 cannot fill --pipeline-model-parallel-size 11 "
            "stages");
}

static void test_stages_have_the_layers_they_are_given(void **state)
{
    (void) state;
    gives(TEN P "2 --stage-layers 4,1,3,2", 2, 2, 2,
          "4, 2 on each rank (placement loop), layers 4 1 3 2");
    gives(TEN P "2 --placement v --stage-layers 4,6", 2, 2, 1, "2, layers 4 6");
    gives(TEN "--stage-layers 1,2,3,4", 2, 2, 2,
          "4, 2 on each rank (placement loop), layers 1 2 3 4");
    gives(TEN "--stage-layers 1,2,3,4 " V "1", 4, 4, 1, "4, layers 1 2 3 4");
    gives(TEN P "2 --stage-layers 0,6,4,0", 2, 2, 2,
          "4, 2 on each rank (placement loop), layers 0 6 4 0");
    accepts_config("stage-layers = 3, 7\n", TEN);
    assert_int_equal(options.n_layers_of_stage, 2);
    assert_int_equal(options.layers_of_stage[1], 7);
    refuses(TEN "--stage-layers 4,5",
            "--stage-layers 4,5: together 9 layers, and --num-layers says 10");
    for (const char *const *text =
             (const char *const[]){"4,,6", "4,6,", "4,0,6", "-1,11", "4;6", "x",
                                   "99999999999999999999", "4,6x", NULL};
         *text; text++) {
        char *line = mtlm_sprintf(TEN "--stage-layers %s", *text);
        char *sentence = mtlm_sprintf("--stage-layers is '%s', it must be "
                                      "whole numbers from 1 on, such as "
                                      "3,3,4,2; the first and the last "
                                      "may be 0",
                                      *text);

        refuses(line, sentence);
        free(sentence);
        free(line);
    }
    refuses(TEN P "3 --stage-layers 4,6",
            "--stage-layers names 2 stages, which is no multiple of "
            "--pipeline-model-parallel-size 3");
    refuses(TEN P "2 " V "2 --stage-layers 4,6",
            "--stage-layers names 2 stages, and "
            "--pipeline-model-parallel-size 2 x "
            "--num-virtual-stages-per-pipeline-rank 2 are 4");
}

static void test_more_stages_than_layers_are_refused(void **state)
{
    struct mtlm_hosts hosts = {.ranks = 3, .per_host = 3, .available = 1e12};
    struct mtlm_wish wish;
    struct mtlm_choice choice;

    (void) state;
    accepts(TEN P "5 " V "2");
    refuses(TEN P "4 " V "3",
            "--num-layers 10 cannot fill --pipeline-model-parallel-size 4 x "
            "--num-virtual-stages-per-pipeline-rank 3 = 12 stages");
    refuses(TEN P "6 --placement v",
            "--num-layers 10 cannot fill --pipeline-model-parallel-size 6 x "
            "--num-virtual-stages-per-pipeline-rank 2 = 12 stages");
    refuses(TEN P "4 " N "1", "--num-layers 10 cannot fill the stages that "
                              "--pipeline-model-parallel-size 4 and "
                              "--num-layers-per-virtual-pipeline-stage 1 make");
    refuses(TEN P "11 " N "2",
            "--num-layers 10 cannot fill --pipeline-model-parallel-size 11 "
            "stages");
    /* Where the layout is open, the ranks decide. */
    accepts(TEN V "4");
    wish = mtlm_layout_choice_wish(&options, 1);
    assert_int_equal(
        mtlm_layout_choice_make(&options, &wish, &hosts, &choice, NULL, &error),
        -1);
    assert_int_equal(error.code, MTLM_EXIT_USAGE);
    assert_non_null(strstr(error.text, "10 layers for pipeline stages (4 on "
                                       "each rank), "));
    /* A list may have more stages than layers: each of 4 is on up to 4 ranks.
     */
    hosts.ranks = 17;
    accepts("--model gpt-tiny --num-layers 2 --global-batch-size 1 " V
            "1 --stage-layers 0,1,1,0");
    wish = mtlm_layout_choice_wish(&options, 1);
    assert_int_equal(
        mtlm_layout_choice_make(&options, &wish, &hosts, &choice, NULL, &error),
        -1);
    assert_string_equal(strrchr(error.text, ' '), " 16");
    /* Unless no number of them is enough. */
    refuses(TEN V "11", "--num-layers 10 cannot fill "
                        "--num-virtual-stages-per-pipeline-rank 11 stages");
    refuses(TEN V "2 --stage-layers 3,3,4",
            "--stage-layers names 3 stages, which is no multiple of "
            "--num-virtual-stages-per-pipeline-rank 2");
}

static void test_one_of_two_ways_is_enough(void **state)
{
    (void) state;
    refuses(TEN V "2 " N "2",
            "--num-virtual-stages-per-pipeline-rank and "
            "--num-layers-per-virtual-pipeline-stage say the same thing twice; "
            "give one of them");
    refuses(TEN "--stage-layers 4,6 " N "2",
            "--stage-layers and --num-layers-per-virtual-pipeline-stage say "
            "the same thing twice; give one of them");
    /* The stronger source counts. */
    accepts_config("num-layers-per-virtual-pipeline-stage = 2\n", TEN V "1");
    assert_int_equal(options.layers_per_stage, 0);
    accepts_config("stage-layers = 4,6\n", TEN N "2");
    assert_null(options.stage_layers);
    assert_null(options.layers_of_stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stages_are_dealt_out_evenly),
        cmocka_unit_test(test_the_layers_of_a_stage_give_their_number),
        cmocka_unit_test(test_the_v_has_two_stages_per_rank),
        cmocka_unit_test(test_one_rank_has_the_stages_that_a_policy_places),
        cmocka_unit_test(test_stages_have_the_layers_they_are_given),
        cmocka_unit_test(test_more_stages_than_layers_are_refused),
        cmocka_unit_test(test_one_of_two_ways_is_enough),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
