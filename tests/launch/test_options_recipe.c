/* How long to train, learning rate and weight decay: two ways to count, which
 * must not be mixed, and what gives way to what. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/checkpoint/job_checkpoint.h"
#include "launch/options/options_trace.h"
#include "runtime/base/memory.h"
#include "tests/launch/parse.h"

/* No preset: nothing that could give way. */
#define PLAIN                                                                  \
    "--num-layers 2 --hidden-size 96 --num-attention-heads 2 --seq-length 32 " \
    "--micro-batch-size 2 --global-batch-size 8 --lr 0.1 "

static void assert_schedule(double warmup, double decay, double wsd)
{
    assert_true(options.lr_schedule.warmup_samples == warmup);
    assert_true(options.lr_schedule.decay_samples == decay);
    assert_true(options.lr_schedule.wsd_samples == wsd);
}

static void test_iterations_count_as_samples(void **state)
{
    (void) state;
    accepts(PLAIN "--train-iters 50");
    assert_schedule(0, 400, 0);
    assert_int_equal(options.train_samples, 400);
    accepts(PLAIN "--train-iters 50 --lr-decay-iters 30 --lr-warmup-iters 7 "
                  "--lr-wsd-decay-iters 5 --lr-decay-style WSD");
    assert_schedule(56, 240, 40);
    assert_null(options.notes);
}

static void test_samples_make_iterations(void **state)
{
    (void) state;
    accepts(PLAIN "--train-samples 83");
    assert_int_equal(options.train_iters, 10);
    assert_schedule(0, 83, 0);
    accepts(PLAIN "--train-samples 83 --lr-decay-samples 50 "
                  "--lr-warmup-samples 9 --lr-wsd-decay-samples 11 "
                  "--lr-decay-style WSD");
    assert_schedule(9, 50, 11);
    refuses(PLAIN "--train-samples 7", "--train-samples 7 does not make one "
                                       "iteration of --global-batch-size 8");
}

/* Not rounded, as in Megatron. */
static void test_the_fraction_is_of_the_decay(void **state)
{
    (void) state;
    accepts(PLAIN "--train-iters 50 --lr-decay-iters 25 "
                  "--lr-warmup-fraction 0.0125");
    assert_schedule(2.5, 200, 0);
    accepts(PLAIN "--train-samples 50 --lr-warmup-fraction 0.25");
    assert_schedule(12.5, 50, 0);
}

static void test_the_same_twice_is_refused(void **state)
{
    static const char *const pairs[][2] = {
        {"train-iters", "train-samples"},
        {"lr-decay-iters", "lr-decay-samples"},
        {"lr-warmup-iters", "lr-warmup-samples"},
        {"lr-warmup-iters", "lr-warmup-fraction"},
        {"lr-warmup-samples", "lr-warmup-fraction"},
        {"lr-wsd-decay-iters", "lr-wsd-decay-samples"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char line[256], want[256];

        snprintf(line, sizeof(line), PLAIN "--%s 1 --%s 1", pairs[i][1],
                 pairs[i][0]);
        snprintf(want, sizeof(want),
                 "--%s and --%s say the same thing twice; give one of them",
                 pairs[i][0], pairs[i][1]);
        refuses(line, want);
    }
}

static void test_iterations_and_samples_are_not_mixed(void **state)
{
    static const char *const names[] = {"lr-decay", "lr-warmup",
                                        "lr-wsd-decay"};

    (void) state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char line[256], want[256];

        snprintf(line, sizeof(line), PLAIN "--train-iters 50 --%s-samples 8",
                 names[i]);
        snprintf(want, sizeof(want),
                 "--%s-samples counts samples and --train-iters iterations; "
                 "give --%s-iters, or --train-samples",
                 names[i], names[i]);
        refuses(line, want);
        snprintf(line, sizeof(line), PLAIN "--train-samples 50 --%s-iters 8",
                 names[i]);
        snprintf(want, sizeof(want),
                 "--%s-iters counts iterations and --train-samples samples; "
                 "give --%s-samples, or --train-iters",
                 names[i], names[i]);
        refuses(line, want);
    }
    refuses("--model gpt-tiny --lr-warmup-samples 8",
            "--lr-warmup-samples counts samples and --train-iters iterations; "
            "give --lr-warmup-iters, or --train-samples");
}

static void test_no_warm_up_contradicts_nothing(void **state)
{
    (void) state;
    accepts(PLAIN "--train-iters 50 --lr-warmup-iters 0 --lr-warmup-samples 0 "
                  "--lr-warmup-fraction 0.02");
    assert_schedule(8, 400, 0);
    accepts(PLAIN "--train-samples 400 --lr-warmup-fraction 0 "
                  "--lr-warmup-samples 3");
    assert_schedule(3, 400, 0);
    accepts(PLAIN "--train-samples 400 --lr-warmup-iters 0");
    assert_schedule(0, 400, 0);
}

static void test_a_preset_gives_way_to_the_other_form(void **state)
{
    (void) state;
    accepts("--model gpt-tiny --train-iters 200"); /* fraction 0.03 */
    assert_schedule(24, 800, 0);
    accepts("--model gpt-tiny --lr-warmup-iters 7");
    assert_schedule(28, 4000, 0);
    accepts("--model gpt-tiny --lr-warmup-iters 0");
    assert_schedule(0, 4000, 0);
    accepts("--model gpt-tiny --train-samples 1000");
    assert_int_equal(options.train_iters, 250);
    assert_schedule(30, 1000, 0);
    accepts("--model gpt-tiny --train-samples 1000 --lr-warmup-samples 33");
    assert_schedule(33, 1000, 0);
    assert_null(options.notes);
}

static void test_a_file_gives_way_to_the_line(void **state)
{
    (void) state;
    accepts_config("lr-warmup-iters = 7\n",
                   "--model gpt-tiny --lr-warmup-fraction 0.5");
    assert_schedule(2000, 4000, 0);
    accepts_config("train-iters = 70\nlr-decay-iters = 20\n",
                   "--model gpt-tiny --train-samples 80");
    assert_int_equal(options.train_iters, 20);
    assert_schedule(0.03 * 80, 80, 0);
}

static void test_the_schedule_must_fit_itself(void **state)
{
    (void) state;
    refuses(PLAIN, "--train-iters is missing (or --train-samples); give it, or "
                   "start from a preset such as --model gpt-tiny");
    refuses("--model gpt-tiny --lr 1e-5",
            "--min-lr 0.0001 is above --lr 1e-05");
    refuses(PLAIN "--train-iters 9 --lr-warmup-init 0.2",
            "--lr-warmup-init 0.2 is above --lr 0.1");
    refuses("--model gpt-tiny --lr-warmup-iters 1000",
            "--lr-warmup-iters: the warm-up of 1000 iterations is not shorter "
            "than the decay, which ends after 1000 iterations (--train-iters)");
    refuses("--model gpt-tiny --lr-warmup-iters 7 --lr-decay-iters 7",
            "--lr-warmup-iters: the warm-up of 7 iterations is not shorter "
            "than the decay, which ends after 7 iterations (--lr-decay-iters)");
    refuses("--model gpt-tiny --lr-warmup-fraction 1",
            "--lr-warmup-fraction: the warm-up of 1000 iterations is not "
            "shorter than the decay, which ends after 1000 iterations "
            "(--train-iters)");
    refuses(PLAIN "--train-samples 90 --lr-warmup-samples 91",
            "--lr-warmup-samples: the warm-up of 91 samples is not shorter "
            "than the decay, which ends after 90 samples (--train-samples)");
    refuses(PLAIN "--train-samples 90 --lr-decay-samples 50 "
                  "--lr-warmup-samples 91",
            "--lr-warmup-samples: the warm-up of 91 samples is not shorter "
            "than the decay, which ends after 50 samples "
            "(--lr-decay-samples)");
    refuses(PLAIN "--train-iters 9 --lr-decay-style WSD",
            "--lr-decay-style WSD needs --lr-wsd-decay-iters");
    refuses(PLAIN "--train-samples 90 --lr-decay-style WSD "
                  "--lr-wsd-decay-samples 91",
            "--lr-wsd-decay-samples is 91 samples, the whole decay "
            "(--lr-decay-samples) only 90 samples");
    accepts(PLAIN "--train-iters 9 --lr-wsd-decay-iters 2");
    assert_string_equal(options.notes, "--lr-wsd-decay-iters is not used "
                                       "without --lr-decay-style WSD");
    accepts(PLAIN "--train-iters 9 --lr-wsd-decay-style cosine");
    assert_string_equal(options.notes,
                        "--lr-wsd-decay-style changes nothing here: it is for "
                        "--lr-decay-style WSD");
    accepts(PLAIN "--train-iters 9 --lr-wsd-decay-style cosine "
                  "--lr-decay-style WSD --lr-wsd-decay-iters 2");
    assert_null(options.notes);
}

static void test_no_run_ends_before_it_begins(void **state)
{
    (void) state;
    accepts(PLAIN "--train-iters 10");
    assert_int_equal(mtlm_options_last_iteration(&options, 0), 10);
    assert_int_equal(mtlm_options_last_iteration(&options, 10), 10);
    assert_int_equal(mtlm_options_last_iteration(&options, 20), 20);
    accepts(PLAIN "--train-iters 10 --exit-interval 4");
    assert_int_equal(mtlm_options_last_iteration(&options, 4), 8);
    assert_int_equal(mtlm_options_last_iteration(&options, 8), 10);
    assert_int_equal(mtlm_options_last_iteration(&options, 20), 20);
}

#define RAMP(three)                                                            \
    PLAIN "--train-samples 100 --rampup-batch-size " three " --seed 5"

static void test_the_batch_ramps_up(void **state)
{
    static const char *const forms[] = {
        RAMP("2 2 30"), RAMP("2,2,30"),
        PLAIN "--rampup-batch-size=2 2 30 --seed 5 --train-samples 100"};

    (void) state;
    for (int i = 0; i < 3; i++) {
        accepts(forms[i]);
        assert_int_equal(options.ramp.start, 2);
        assert_int_equal(options.ramp.increment, 2);
        assert_int_equal(options.ramp.samples, 30);
        assert_int_equal(options.ramp.full, 8);
        assert_int_equal(options.train_iters, 18); /* 34 / 8 + 10 */
        assert_int_equal(options.seed, 5);
    }
    accepts_config("rampup-batch-size = 2 2 30\n", PLAIN "--train-samples 100");
    assert_int_equal(options.ramp.samples, 30);
    accepts(PLAIN "--train-iters 7");
    assert_int_equal(options.ramp.increment, 0);
}

static void test_a_ramp_must_fit(void **state)
{
    static const char *const malformed[] = {"2 2",   "2",      "2 2 x",
                                            "2 2 0", "-2 2 2", "2,2,2,2"};

    (void) state;
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        char line[512], want[256];

        snprintf(line, sizeof(line),
                 PLAIN "--train-samples 100 --rampup-batch-size %s --seed 5",
                 malformed[i]);
        snprintf(want, sizeof(want),
                 "--rampup-batch-size is '%s', it must be START INCREMENT "
                 "SAMPLES, three whole numbers from 1 on",
                 malformed[i]);
        refuses(line, want);
    }
    refuses(RAMP("8 2 30"), "--rampup-batch-size starts at 8, which is not "
                            "below --global-batch-size 8");
    refuses(RAMP("2 4 30"), "--rampup-batch-size does not get from 2 to "
                            "--global-batch-size 8 in steps of 4");
    refuses(RAMP("5 1 30"), "--rampup-batch-size: start 5 and increment 1 must "
                            "be multiples of --micro-batch-size 2");
    refuses(PLAIN "--train-iters 100 --rampup-batch-size 2 2 30",
            "--rampup-batch-size counts samples and --train-iters iterations; "
            "give --train-samples");
    refuses("--model gpt-tiny --rampup-batch-size 2 2 30",
            "--rampup-batch-size counts samples and --train-iters iterations; "
            "give --train-samples");
}

static void test_weight_decay_stays_or_grows(void **state)
{
    (void) state;
    accepts(PLAIN "--train-iters 9 --weight-decay 0.3");
    assert_true(options.lr_schedule.weight_decay == 0.3);
    assert_true(options.lr_schedule.end_weight_decay == 0.3);
    accepts(PLAIN "--train-iters 9 --start-weight-decay 0.1 "
                  "--end-weight-decay 0.4 --weight-decay-incr-style cosine");
    assert_true(options.lr_schedule.weight_decay == 0.1);
    assert_true(options.lr_schedule.end_weight_decay == 0.4);
    assert_true(options.lr_schedule.weight_decay_samples == 72);
    assert_null(options.notes);
    accepts(PLAIN "--train-iters 9 --start-weight-decay 0.1 --weight-decay 1 "
                  "--end-weight-decay 0.4 --weight-decay-incr-style cosine");
    assert_string_equal(options.notes,
                        "--weight-decay is not used: --weight-decay-incr-style "
                        "takes --start-weight-decay and --end-weight-decay");
    refuses(PLAIN "--train-iters 9 --end-weight-decay 0.4",
            "--end-weight-decay contradicts --weight-decay-incr-style "
            "constant; give --weight-decay, or linear or cosine");
    refuses(PLAIN "--train-iters 9 --end-weight-decay 0.4 "
                  "--weight-decay-incr-style linear",
            "--weight-decay-incr-style needs --start-weight-decay");
    refuses(PLAIN "--train-iters 9 --end-weight-decay 0.1 "
                  "--start-weight-decay 0.4 --weight-decay-incr-style linear",
            "--end-weight-decay 0.1 is below --start-weight-decay 0.4");
}

/* A loaded run begins anywhere: the iteration may have passed. */
static void test_a_nan_that_is_not_reached_is_noted(void **state)
{
    (void) state;
    accepts("--model gpt-tiny --train-iters 8 --inject-nan 3");
    mtlm_options_note_nan(&options, 2);
    assert_null(options.notes);
    mtlm_options_note_nan(&options, 3);
    assert_string_equal(options.notes,
                        "--inject-nan 3 is without effect: the run begins "
                        "after iteration 3 and ends with 8");
    accepts("--model gpt-tiny --train-iters 8 --inject-nan 7 "
            "--exit-interval 3");
    mtlm_options_note_nan(&options, 6);
    assert_null(options.notes);
    mtlm_options_note_nan(&options, 3);
    assert_string_equal(options.notes,
                        "--inject-nan 7 is without effect: the run begins "
                        "after iteration 3 and ends with 6");
    accepts("--model gpt-tiny --train-iters 8");
    mtlm_options_note_nan(&options, 8);
    assert_null(options.notes);
}

static void test_a_first_run_notes_a_nan_behind_its_end(void **state)
{
    struct mtlm_job *job = mtlm_calloc(1, sizeof(*job));
    struct mtlm_error err;

    (void) state;
    accepts("--model gpt-tiny --train-iters 8 --inject-nan 7 "
            "--exit-interval 3");
    job->options = options;
    assert_int_equal(mtlm_job_checkpoint_check(job, &err), 0);
    options = job->options; /* with the note */
    free(job);
    assert_string_equal(options.notes,
                        "--inject-nan 7 is without effect: the run begins "
                        "after iteration 0 and ends with 3");
}

/* A plan needs no length, and then no iteration is beyond it. */
static void test_a_plan_without_a_length_takes_any_iteration(void **state)
{
    (void) state;
    assert_int_equal(parse("--num-layers 2 --hidden-size 8 "
                           "--num-attention-heads 2 --seq-length 8 "
                           "--micro-batch-size 1 --mock-data --dry-run "
                           "--trace d --trace-iterations 3:5"),
                     MTLM_REQUEST_PLAN);
    assert_int_equal(options.trace_iterations.last, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iterations_count_as_samples),
        cmocka_unit_test(test_samples_make_iterations),
        cmocka_unit_test(test_the_fraction_is_of_the_decay),
        cmocka_unit_test(test_the_same_twice_is_refused),
        cmocka_unit_test(test_iterations_and_samples_are_not_mixed),
        cmocka_unit_test(test_no_warm_up_contradicts_nothing),
        cmocka_unit_test(test_a_preset_gives_way_to_the_other_form),
        cmocka_unit_test(test_a_file_gives_way_to_the_line),
        cmocka_unit_test(test_the_schedule_must_fit_itself),
        cmocka_unit_test(test_the_batch_ramps_up),
        cmocka_unit_test(test_a_ramp_must_fit),
        cmocka_unit_test(test_weight_decay_stays_or_grows),
        cmocka_unit_test(test_a_nan_that_is_not_reached_is_noted),
        cmocka_unit_test(test_a_first_run_notes_a_nan_behind_its_end),
        cmocka_unit_test(test_a_plan_without_a_length_takes_any_iteration),
        cmocka_unit_test(test_no_run_ends_before_it_begins),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
