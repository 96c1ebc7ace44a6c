/* Cores: their number, their shares, and what the user is told. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "runtime/machine/cpu.h"

/* hwloc describes the machine named in HWLOC_SYNTHETIC instead of this. */
static void test_hardware_threads_count_once(void **state)
{
    struct mtlm_cpu cpu;

    (void) state;
    setenv("HWLOC_SYNTHETIC", "package:2 core:3 pu:2", 1);
    assert_int_equal(mtlm_cpu_detect(&cpu, NULL), 0);
    unsetenv("HWLOC_SYNTHETIC");
    /* A quota of this machine's own may be smaller. */
    assert_in_range(cpu.machine_cores, 1, 6);
    assert_int_equal(cpu.allowed_cores, cpu.machine_cores);
}

static void test_this_machine_has_cores(void **state)
{
    struct mtlm_cpu cpu, again;

    (void) state;
    assert_int_equal(mtlm_cpu_detect(&cpu, NULL), 0);
    assert_int_equal(mtlm_cpu_detect(&again, NULL), 0);
    assert_in_range(cpu.allowed_cores, 1, cpu.machine_cores);
    assert_true(cpu.mask_hash == again.mask_hash);
}

static void test_shares_add_up_to_the_cores(void **state)
{
    const struct mtlm_cpu cpu = {.machine_cores = 8, .allowed_cores = 7};

    (void) state;
    for (int ranks = 1; ranks <= 7; ranks++) {
        int sum = 0;

        for (int rank = 0; rank < ranks; rank++)
            sum += mtlm_cpu_share(&cpu, ranks, rank);
        assert_int_equal(sum, 7);
    }
    assert_int_equal(mtlm_cpu_share(&cpu, 9, 8), 1); /* never none */
}

static void test_a_narrow_binding_is_pointed_out(void **state)
{
    const struct mtlm_cpu bound = {.machine_cores = 8, .allowed_cores = 1};
    const struct mtlm_cpu whole = {.machine_cores = 8, .allowed_cores = 8};
    char text[128];

    (void) state;
    assert_string_equal(mtlm_cpu_hint(&bound, 2, text, sizeof(text)),
                        "the job is bound to 2 of this machine's 8 cores; "
                        "mpirun --bind-to none lets it use all of them");
    assert_null(mtlm_cpu_hint(&bound, 8, text, sizeof(text)));
    assert_null(mtlm_cpu_hint(&whole, 2, text, sizeof(text)));
}

static void test_a_quota_is_rounded_up(void **state)
{
    (void) state;
    assert_int_equal(mtlm_cpu_quota("200000 100000\n"), 2);
    assert_int_equal(mtlm_cpu_quota("150000 100000\n"), 2);
    assert_int_equal(mtlm_cpu_quota("max 100000\n"), 0);
    assert_int_equal(mtlm_cpu_quota(""), 0);
    assert_int_equal(mtlm_cpu_quota("5 0"), 0);
    assert_int_equal(mtlm_cpu_quota("-5 100000"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hardware_threads_count_once),
        cmocka_unit_test(test_this_machine_has_cores),
        cmocka_unit_test(test_shares_add_up_to_the_cores),
        cmocka_unit_test(test_a_narrow_binding_is_pointed_out),
        cmocka_unit_test(test_a_quota_is_rounded_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
