/* The table of layouts that --dry-run compares. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/plan/layout_choice.h"
#include "launch/plan/layout_table.h"
#include "runtime/base/memory.h"
#include "tests/launch/parse.h"

enum { LAYOUTS = 6 };

/* A row of the table of layouts. */
struct row {
    int tp, pp, dp, v;
    double seconds, rate;
};

/* Fails unless the text has a table of six layouts of four ranks, of one
 * virtual stage on each rank, by falling rates. */
static void read_rows(const char *text, struct row row[LAYOUTS])
{
    const char *at = strstr(text, "tensor pipeline");

    assert_non_null(at);
    for (int i = 0; i < LAYOUTS; i++) {
        struct row *r = &row[i];

        at = strchr(at + 1, '\n');
        assert_non_null(at);
        assert_int_equal(sscanf(at, "%d %d %d %d %*d none %lf %lf", &r->tp,
                                &r->pp, &r->dp, &r->v, &r->seconds, &r->rate),
                         6);
        assert_int_equal(r->tp * r->pp * r->dp, 4);
        assert_int_equal(r->v, 1);
        assert_true(i == 0 || r->rate <= row[i - 1].rate);
    }
}

/* Four ranks, four heads and four layers have six layouts.  Without messages
 * between machines none beats replicas, which the plan takes. */
static void test_a_plan_compares_layouts_of_ranks_that_need_not_exist(
    void **state)
{
    static const char line[] = "--model gpt-tiny --dry-run --eval-iters 0 "
                               "--no-gpu --global-batch-size 64 --world-size 4";
    char *text = plan_of(line), *more;
    struct row row[LAYOUTS];

    (void) state;
    assert_non_null(
        strstr(text, "tensor 1 x pipeline 1 x data 4 = 4 ranks (chosen)"));
    assert_non_null(strstr(text, "Layouts of shortest forecast, of 6 that"));
    read_rows(text, row);
    assert_int_equal(row[0].dp, 4);
    for (int i = 0; i < LAYOUTS; i++)
        assert_float_equal(row[i].rate * row[i].seconds, 64, 0.01);
    free(text);
    more = mtlm_sprintf("%s --tensor-model-parallel-size 2", line);
    text = plan_of(more);
    assert_null(strstr(text, "Layouts of"));
    free(text);
    free(more);
    text = plan_of("--model gpt-1t --dry-run --no-gpu --world-size 64 "
                   "--micro-batch-size 1 --global-batch-size 64");
    assert_non_null(
        strstr(text, "No layout of 64 ranks with the micro batch 1 fits on "
                     "machines like this one, so none are compared.\n"
                     "--synthetic CLUSTER.ini plans for another"));
    free(text);
}

/* Iterations of more replicas then have more samples.  The choice may take 2 %
 * longer for a sample than the fastest layout. */
static void test_a_plan_compares_layouts_without_a_global_batch(void **state)
{
    char *text = plan_of("--dry-run --eval-iters 0 --no-gpu --world-size 4 "
                         "--num-layers 4 --hidden-size 128 "
                         "--num-attention-heads 4 --seq-length 64 "
                         "--micro-batch-size 4 --lr 1e-3 --train-iters 1");
    struct row row[LAYOUTS];
    int found = 0;

    (void) state;
    read_rows(text, row);
    for (int i = 0; i < LAYOUTS; i++) {
        const struct row *r = &row[i];

        assert_float_equal(r->rate * r->seconds, 4 * r->dp, 0.01);
        if (r->tp == options.tensor_parallel
            && r->pp == options.pipeline_parallel) {
            assert_true(r->rate >= 0.97 * row[0].rate);
            found++;
        }
    }
    assert_int_equal(found, 1);
    free(text);
}

/* --schedule auto sets virtual stages, and a chosen layout the batch, after the
 * layouts were compared. */
static void test_rows_of_layouts_are_those_that_were_compared(void **state)
{
    const struct mtlm_hosts hosts = {
        .ranks = 4, .per_host = 4, .available = 1e12};
    struct mtlm_wish wish;
    struct mtlm_choice choice;
    struct mtlm_choices compared;
    struct row row[LAYOUTS];
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void) state;
    accepts("--model gpt-tiny --eval-iters 0 --global-batch-size 64");
    wish = mtlm_layout_choice_wish(&options, 1);
    assert_int_equal(mtlm_choose_comparing(&wish, &hosts, &choice, &compared),
                     0);
    wish.stages.virtual_stages = 2;
    wish.global_batch = 256;
    mtlm_layout_table_print_compared(&wish, &compared, out);
    fclose(out);
    read_rows(text, row);
    for (int i = 0; i < LAYOUTS; i++)
        assert_float_equal(row[i].rate * row[i].seconds, 64, 0.01);
    free(compared.list);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_a_plan_compares_layouts_of_ranks_that_need_not_exist),
        cmocka_unit_test(test_a_plan_compares_layouts_without_a_global_batch),
        cmocka_unit_test(test_rows_of_layouts_are_those_that_were_compared),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
