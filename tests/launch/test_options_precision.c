/* --bf16, --fp16 and the scale of the loss on the command line. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/plan/layout_choice.h"
#include "tests/launch/parse.h"

#define TINY "--model gpt-tiny "

static struct mtlm_program_config config_of(const char *line)
{
    accepts(line);
    return mtlm_layout_choice_wish(&options, 1).config;
}

static void test_the_type_of_values(void **state)
{
    (void) state;
    assert_int_equal(config_of(TINY).value, MTLM_REAL);
    assert_int_equal(config_of(TINY "--bf16").value, MTLM_BF16);
    assert_int_equal(config_of(TINY "--fp16").value, MTLM_F16);
    refuses(TINY "--bf16 --fp16", "--bf16 and --fp16 contradict each other; "
                                  "give one of them");
    accepts_config("model = gpt-tiny\nbf16 = yes\n", "--fp16");
    assert_true(options.fp16 && !options.bf16);
}

static void test_megatrons_scale_is_the_default(void **state)
{
    const struct mtlm_loss_scale got = config_of(TINY "--fp16").loss_scale;

    (void) state;
    assert_true(got.dynamic && got.initial == 4294967296. && got.min == 1);
    assert_true(got.window == 1000 && got.hysteresis == 2);
    assert_true(config_of(TINY "--bf16").loss_scale.initial == 0);
    assert_false(config_of(TINY).loss_scale.dynamic);
}

static void test_the_scale_is_what_is_said(void **state)
{
    struct mtlm_loss_scale got;

    (void) state;
    got = config_of(TINY "--fp16 --initial-loss-scale 65536 --min-scale 4 "
                         "--loss-scale-window 7 --hysteresis 3")
              .loss_scale;
    assert_true(got.dynamic && got.initial == 65536 && got.min == 4);
    assert_true(got.window == 7 && got.hysteresis == 3);
    assert_string_equal(options.notes,
                        "--min-scale is spelled --min-loss-scale here");
    got = config_of(TINY "--fp16 --loss-scale 8192").loss_scale;
    assert_true(!got.dynamic && got.initial == 8192);
}

static void test_scales_that_make_no_sense_are_refused(void **state)
{
    (void) state;
    refuses(TINY "--bf16 --loss-scale 1024",
            "--loss-scale contradicts --bf16, which needs no scale of the "
            "loss; leave out one of them");
    accepts(TINY "--bf16 --initial-loss-scale 65536");
    assert_string_equal(options.notes,
                        "--initial-loss-scale changes nothing here: only "
                        "--fp16 scales the loss");
    assert_true(options.bf16);
    refuses(TINY "--fp16 --loss-scale 1024 --hysteresis 4",
            "--hysteresis contradicts --loss-scale 1024, which stays as it "
            "is; leave out one of them");
    refuses(TINY "--fp16 --min-loss-scale 8 --initial-loss-scale 4",
            "--min-loss-scale 8 is more than --initial-loss-scale 4");
    refuses(TINY "--fp16 --loss-scale 0", "--loss-scale is '0', it must be a "
                                          "number from 1 to 1e+15");
    refuses(TINY "--fp16 --hysteresis 0", "--hysteresis is '0', it must be a "
                                          "whole number from 1 to 1000000");
    accepts(TINY "--loss-scale-window 5");
    assert_string_equal(options.notes,
                        "--loss-scale-window changes nothing here: only "
                        "--fp16 scales the loss");
}

static void test_megatrons_other_words_of_precision(void **state)
{
    (void) state;
    accepts(TINY "--bf16 --accumulate-allreduce-grads-in-fp32");
    assert_string_equal(options.notes,
                        "--accumulate-allreduce-grads-in-fp32 changes nothing "
                        "here: always on");
    accepts(TINY "--fp16 --fp16-lm-cross-entropy");
    assert_string_equal(options.notes,
                        "--fp16-lm-cross-entropy changes nothing here: logits "
                        "have 16 bits, their sums fp32");
    refuses(TINY "--bf16 --grad-reduce-in-bf16",
            "--grad-reduce-in-bf16 is an option of Megatron-LM that this "
            "version does not have; leave it out; --grad-reduce-in-bf16: "
            "gradients are added up in fp32");
}

/* gpt-tiny's 3.3 million parameters: 4 + 4 + 8 bytes each, or 2 + 4 + 12. */
static void check_plan(const char *line, double weights, double gradients,
                       double states)
{
    const double mib = 1024 * 1024, n = 3323392;
    char *text = plan_of(line), *row = strstr(text, "\n0 ");
    double got[3];

    assert_non_null(row);
    assert_int_equal(
        sscanf(row, "%*s %*s %*s %*s %lf %lf %lf", &got[0], &got[1], &got[2]),
        3);
    assert_float_equal(got[0], weights * n / mib, 0.06);
    assert_float_equal(got[2], states * n / mib, 0.06);
    /* The output layer has a gradient of its own of the word embedding. */
    assert_float_equal(got[1], gradients * (n + 384 * 256) / mib, 0.06);
    assert_true(!strstr(text, "precision")
                == !(strstr(line, "bf16") || strstr(line, "fp16")));
    free(text);
}

static void test_the_plan_has_the_bytes_of_each_type(void **state)
{
    (void) state;
    check_plan(TINY "--dry-run", 4, 4, 8);
    check_plan(TINY "--dry-run --bf16 --pack-weights no", 2, 4, 12);
    check_plan(TINY "--dry-run --fp16", 2, 4, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_type_of_values),
        cmocka_unit_test(test_megatrons_scale_is_the_default),
        cmocka_unit_test(test_the_scale_is_what_is_said),
        cmocka_unit_test(test_scales_that_make_no_sense_are_refused),
        cmocka_unit_test(test_megatrons_other_words_of_precision),
        cmocka_unit_test(test_the_plan_has_the_bytes_of_each_type),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
