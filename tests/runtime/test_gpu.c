/* Which rank drives which GPU, and what is said where none can be used: of
 * machines that need not exist. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/machine/gpu.h"

enum { RANKS = 8 };

/* n ranks that see the devices with the numbers first, first + 1, ... */
static void see(struct mtlm_gpus gpus[], int n, int first, int count)
{
    for (int r = 0; r < n; r++) {
        gpus[r] = (struct mtlm_gpus){
            .toolkit = 13000, .driver = 13000, .count = count};
        for (int i = 0; i < count; i++)
            gpus[r].gpu[i].id = 1000 + first + i;
    }
}

static void expect(const struct mtlm_gpus gpus[], int n, int per_gpu,
                   const int want[])
{
    int gpu[RANKS];

    mtlm_gpus_assign(gpus, n, per_gpu, gpu);
    for (int r = 0; r < n; r++)
        assert_int_equal(gpu[r], want[r]);
}

static void test_ranks_drive_a_gpu_each_in_order(void **state)
{
    struct mtlm_gpus gpus[RANKS];

    (void) state;
    see(gpus, 4, 0, 4);
    expect(gpus, 4, 1, (int[]){0, 1, 2, 3});
    see(gpus, 2, 0, 8);
    expect(gpus, 2, 1, (int[]){0, 1});
}

static void test_ranks_beyond_the_gpus_have_none(void **state)
{
    struct mtlm_gpus gpus[RANKS];

    (void) state;
    see(gpus, 5, 0, 2);
    expect(gpus, 5, 1, (int[]){0, 1, -1, -1, -1});
    expect(gpus, 5, 2, (int[]){0, 1, 0, 1, -1});
    expect(gpus, 5, 64, (int[]){0, 1, 0, 1, 0});
    see(gpus, 3, 0, 0);
    expect(gpus, 3, 1, (int[]){-1, -1, -1});
}

/* As srun --gpus-per-task=1 starts them: each sees its own as number 0. */
static void test_ranks_that_see_one_gpu_each_drive_that(void **state)
{
    struct mtlm_gpus gpus[RANKS];

    (void) state;
    for (int r = 0; r < 3; r++)
        see(&gpus[r], 1, r, 1);
    expect(gpus, 3, 1, (int[]){0, 0, 0});
    see(&gpus[2], 1, 0, 1); /* the same as the first */
    expect(gpus, 3, 1, (int[]){0, 0, -1});
    expect(gpus, 3, 2, (int[]){0, 0, 0});
    assert_int_equal(mtlm_gpus_sharing(gpus, 3, (int[]){0, 0, 0}, 0), 2);
    assert_int_equal(mtlm_gpus_sharing(gpus, 3, (int[]){0, 0, 0}, 1), 1);
    assert_int_equal(mtlm_gpus_sharing(gpus, 3, (int[]){0, 0, -1}, 0), 1);
}

static void test_only_devices_that_cannot_be_used_are_refused(void **state)
{
    struct mtlm_gpus gpus = {0};
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_gpus_check(&gpus, &err), 0);
    assert_null(mtlm_gpus_missing(&gpus)); /* built without CUDA */
    gpus.toolkit = 13000;
    assert_int_equal(mtlm_gpus_check(&gpus, &err), 0);
    assert_string_equal(mtlm_gpus_missing(&gpus), "none, there is no driver");
    gpus.driver = 13010;
    assert_int_equal(mtlm_gpus_check(&gpus, &err), 0);
    assert_string_equal(mtlm_gpus_missing(&gpus), "none is visible");
    gpus.unwanted = true;
    assert_non_null(strstr(mtlm_gpus_missing(&gpus), "--no-gpu"));
    gpus.unwanted = false;
    strcpy(gpus.trouble, "it is on fire");
    assert_int_equal(mtlm_gpus_check(&gpus, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_PEER);
    assert_non_null(strstr(err.text, "it is on fire"));
    gpus.driver = 12040;
    assert_int_equal(mtlm_gpus_check(&gpus, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_USAGE);
    assert_non_null(strstr(err.text, "12.4"));
    assert_non_null(strstr(err.text, "13.0"));
}

static void test_ranks_of_a_gpu_divide_what_is_free(void **state)
{
    const double libraries = MTLM_GPU_LIBRARIES_BYTES;

    (void) state;
    assert_true(mtlm_gpu_share(10 * libraries, 1) == 9 * libraries);
    assert_true(mtlm_gpu_share(10 * libraries, 2) == 4 * libraries);
    assert_true(mtlm_gpu_share(libraries / 2, 1) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_drive_a_gpu_each_in_order),
        cmocka_unit_test(test_ranks_beyond_the_gpus_have_none),
        cmocka_unit_test(test_ranks_that_see_one_gpu_each_drive_that),
        cmocka_unit_test(test_only_devices_that_cannot_be_used_are_refused),
        cmocka_unit_test(test_ranks_of_a_gpu_divide_what_is_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
