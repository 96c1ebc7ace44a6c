/* --synthetic and --jitter on the command line. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/launch/parse.h"

static void test_synthetic_runs_have_no_values(void **state)
{
    char *written;

    (void) state;
    accepts("--model gpt-tiny --synthetic x.ini --jitter "
            "0.1,transient=0.01x5,rank=1:1.2,rank=0:0.9 --slow-rank 3:0.8");
    assert_string_equal(options.cluster_file, "x.ini");
    assert_float_equal(options.jitter.sigma, 0.1, 1e-12);
    assert_float_equal(options.jitter.chance, 0.01, 1e-12);
    assert_float_equal(options.jitter.times, 5, 1e-12);
    assert_int_equal(options.jitter.ranks, 2);
    assert_int_equal(options.jitter.rank[0].rank, 1);
    assert_float_equal(options.jitter.rank[1].times, 0.9, 1e-12);
    written = mtlm_option_value_text(&options, MTLM_OPT_JITTER);
    assert_string_equal(written, "0.1,transient=0.01x5,rank=1:1.2,rank=0:0.9");
    free(written);
    assert_int_equal(options.slow_rank.rank, 3);
    assert_float_equal(options.slow_rank.speed, 0.8, 1e-12);
    assert_int_equal(options.eval_iters, 0);
    accepts("--model gpt-tiny --synthetic x.ini --eval-iters 2");
    assert_int_equal(options.eval_iters, 2);
    refuses("--model gpt-tiny --jitter 0.1",
            "--jitter changes modelled durations and needs --synthetic "
            "CLUSTER.ini, --simulate or --dry-run");
    assert_int_equal(parse("--model gpt-tiny --jitter 0.1 --dry-run"),
                     MTLM_REQUEST_PLAN);
    refuses("--model gpt-tiny --stretch 2",
            "--stretch changes modelled durations and needs --synthetic "
            "CLUSTER.ini");
    refuses("--model gpt-tiny --slow-rank 0:0.5",
            "--slow-rank changes modelled durations and needs --synthetic "
            "CLUSTER.ini");
    refuses(
        "--model gpt-tiny --synthetic x.ini --weight-hash",
        "--weight-hash needs computed values, and --synthetic computes none");
    refuses("--model gpt-tiny --synthetic x.ini --slow-rank 3",
            "--slow-rank is '3', it must be RANK:SPEED, a rank's number and a "
            "speed from 0.01 to 100");
    refuses("--model gpt-tiny --synthetic x.ini --slow-rank 1:0",
            "--slow-rank is '1:0', it must be RANK:SPEED, a rank's number and "
            "a speed from 0.01 to 100");
}

static void test_values_of_jitter_are_checked(void **state)
{
    static const char *const bad[] = {
        "1.5",
        "-0.1",
        "nan",
        "0.1,",
        "0.1,transient=0.1",
        "0.1,transient=2x5",
        "0.1,transient=0.1x0",
        "0.1,transient=0.1x5,transient=0.1x5",
        "0.1,rank=1",
        "0.1,rank=-1:2",
        "0.1,rank=1:nan",
        "0.1,rank=1:1.2,rank=1:1.3",
        "0.1,ranks=1:1.2",
        "transient=0.1x5",
    };

    (void) state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char line[128], why[256];

        snprintf(line, sizeof(line),
                 "--model gpt-tiny --synthetic x.ini --jitter %s", bad[i]);
        snprintf(why, sizeof(why), "--jitter is '%s', it must be %s", bad[i],
                 "SIGMA[,transient=CHANCExTIMES][,rank=RANK:TIMES]..., SIGMA "
                 "and CHANCE from 0 to 1, TIMES from 0.01 to 1000, at most 16 "
                 "ranks, each once");
        refuses(line, why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_synthetic_runs_have_no_values),
        cmocka_unit_test(test_values_of_jitter_are_checked),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
