/* The time of an iteration with a disk, at given rates. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/predict/outline.h"
#include "launch/plan/offload_forecast.h"
#include "runtime/base/memory.h"
#include "tests/graph/small.h"
#include "tests/launch/parse.h"

static struct mtlm_program_config config_of(int pp)
{
    struct mtlm_program_config config = small_config(1, pp, 2);

    config.offload = MTLM_OFFLOAD_OPTIMIZER;
    return config;
}

/* A slow disk takes its bytes over its rates, all of them if ranks share it. */
static void test_the_disk_takes_its_bytes_over_its_rates(void **state)
{
    const struct mtlm_offload_rates rates = {1e9, {1e5, 2e5}};

    (void) state;
    for (int pp = 1; pp <= 2; pp++) {
        const struct mtlm_program_config config = config_of(pp);
        struct mtlm_outline outline = mtlm_outline_create(&config, 0);
        struct mtlm_offload_forecast f;
        double seconds = 0;

        for (int i = 0; i < pp; i++)
            seconds += outline.plan[i].loaded_bytes / 1e5
                       + outline.plan[i].stored_bytes / 2e5;
        assert_true(mtlm_offload_forecast_make(&config, &rates, pp, 1, &f));
        assert_true(f.iteration_s >= seconds);
        assert_true(f.iteration_s < 1.05 * seconds);
        assert_true(f.products_s > 0 && f.products_s < f.iteration_s);
        assert_true(f.exposure.moving_s <= seconds * (1 + 1e-6));
        mtlm_outline_destroy(&outline);
    }
}

/* Products take their FLOPs over the rate of all workers. */
static void test_products_take_flops_over_the_rate(void **state)
{
    const struct mtlm_offload_rates one = {1e9, {1e9, 1e9}};
    const struct mtlm_offload_rates two = {2e9, {1e9, 1e9}};
    struct mtlm_program_config config = config_of(1);
    struct mtlm_offload_forecast a, b;

    (void) state;
    assert_true(mtlm_offload_forecast_make(&config, &one, 1, 1, &a));
    assert_true(mtlm_offload_forecast_make(&config, &two, 1, 1, &b));
    assert_float_equal(a.products_s, 2 * b.products_s, 1e-12);
    config.layout.workers *= 2;
    assert_true(mtlm_offload_forecast_make(&config, &one, 1, 1, &a));
    assert_float_equal(a.products_s, b.products_s, 1e-12);
}

static void test_what_is_unknown_has_no_forecast(void **state)
{
    const struct mtlm_offload_rates known = {1e9, {1e9, 1e9}};
    const struct mtlm_offload_rates unknown = {1e9, {0, 0}};
    struct mtlm_program_config config = config_of(1);
    struct mtlm_offload_forecast f;

    (void) state;
    assert_false(mtlm_offload_forecast_make(&config, &unknown, 1, 1, &f));
    assert_false(mtlm_offload_forecast_make(&config, &known, 1, 1e9, &f));
    config.eval_only = true;
    assert_false(mtlm_offload_forecast_make(&config, &known, 1, 1, &f));
}

/* A directory that is not there is not made: the one above is measured. */
static void test_a_measurement_leaves_nothing(void **state)
{
    char dir[] = "forecast.XXXXXX";
    struct mtlm_offload_rates rates;
    char *line;

    (void) state;
    assert_non_null(mkdtemp(dir));
    line = mtlm_sprintf("--model gpt-tiny --offload optimizer --offload-dir "
                        "%s/a/b",
                        dir);
    accepts(line);
    rates = mtlm_offload_forecast_measure(&options);
    assert_true(rates.flops_per_s > 1e6);
    assert_true(rates.speed.read > 0 && rates.speed.written > 0);
    assert_int_equal(rmdir(dir), 0);
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_disk_takes_its_bytes_over_its_rates),
        cmocka_unit_test(test_products_take_flops_over_the_rate),
        cmocka_unit_test(test_what_is_unknown_has_no_forecast),
        cmocka_unit_test(test_a_measurement_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
