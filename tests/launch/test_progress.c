/* The progress of a long iteration: its text, and its count. */
#include "config.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "launch/progress.h"

static void assert_text(int64_t done, double seconds, const char *want)
{
    char text[160];

    assert_string_equal(
        mtlm_progress_text(12, done, 16, seconds, text, sizeof(text)), want);
}

static void test_text_has_count_rate_and_time_left(void **state)
{
    (void) state;
    assert_text(3, 2.5,
                "iteration 12: 3/16 microbatches, 1.2 microbatches/s,"
                " 11 s left");
    assert_text(1, 20,
                "iteration 12: 1/16 microbatches, 0.0500 microbatches/s,"
                " 300 s left");
    assert_text(16, 0.1,
                "iteration 12: 16/16 microbatches, 160 microbatches/s,"
                " 0 s left");
}

static void test_text_without_a_microbatch_promises_nothing(void **state)
{
    (void) state;
    assert_text(0, 10, "iteration 12: 0/16 microbatches");
    assert_text(0, 0, "iteration 12: 0/16 microbatches");
}

static void test_text_stays_inside_its_buffer(void **state)
{
    char text[20];

    (void) state;
    mtlm_progress_text(12, 3, 16, 2.5, text, sizeof(text));
    assert_string_equal(text, "iteration 12: 3/16 ");
}

static void *add_many(void *arg)
{
    (void) arg;
    for (int i = 0; i < 10000; i++)
        mtlm_progress_add();
    return NULL;
}

static void test_threads_lose_no_microbatch(void **state)
{
    pthread_t thread[4];

    (void) state;
    mtlm_progress_start(1, 40000);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, add_many, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(mtlm_progress_done(), 40000);
    mtlm_progress_end();
}

static void test_early_microbatches_count_for_the_next_iteration(void **state)
{
    (void) state;
    mtlm_progress_start(2, 4);
    assert_int_equal(mtlm_progress_done(), 0);
    for (int i = 0; i < 5; i++)
        mtlm_progress_add();
    assert_int_equal(mtlm_progress_done(), 4);
    mtlm_progress_end();
    mtlm_progress_add();
    mtlm_progress_start(3, 4);
    assert_int_equal(mtlm_progress_done(), 2);
    mtlm_progress_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_has_count_rate_and_time_left),
        cmocka_unit_test(test_text_without_a_microbatch_promises_nothing),
        cmocka_unit_test(test_text_stays_inside_its_buffer),
        cmocka_unit_test(test_threads_lose_no_microbatch),
        cmocka_unit_test(test_early_microbatches_count_for_the_next_iteration),
    };

    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
