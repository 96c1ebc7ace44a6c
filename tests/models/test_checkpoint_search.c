/* The search for the newest checkpoint: the result depends on the names in the
 * directory, not on the order in which the system reads them. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "models/weights/checkpoint_dir.h"

static const char *const *names; /* NULL ends them */
static int failure;              /* errno after the last name */

/* Replaces the system's: reads the names. */
struct dirent *readdir(DIR *d)
{
    static struct dirent entry;

    (void) d;
    if (!*names) {
        errno = failure;
        return NULL;
    }
    snprintf(entry.d_name, sizeof(entry.d_name), "%s", *names++);
    return &entry;
}

/* The newest of these names before the given one: "30.1", "none", "error". */
static const char *newest(const char *const *of,
                          const struct mtlm_checkpoint_id *before)
{
    static char text[64];
    struct mtlm_checkpoint_id id = {-1, -1};
    struct mtlm_error err = {0};
    int rc;

    names = of;
    rc = mtlm_checkpoint_dir_newest(".", before, &id, &err);
    if (rc < 0)
        assert_int_equal(err.code, MTLM_EXIT_IO);
    snprintf(text, sizeof(text), "%d.%d", (int) id.iteration, id.again);
    return rc < 0 ? "error" : rc ? text : "none";
}

static void test_the_order_of_the_names_does_not_matter(void **state)
{
    static const char *const orders[][6] = {
        {"iter_0000010", "iter_0000020", "iter_0000020.1", "iter_0000030"},
        {"iter_0000030", "iter_0000020.1", "iter_0000020", "iter_0000010"},
        {"iter_0000020", "iter_0000030", "iter_0000010", "iter_0000020.1"},
        {"iter_0000020.1", "iter_0000010", "iter_0000030", "iter_0000020"}};
    static const char *const expected[] = {"30.0", "20.1", "20.0", "10.0",
                                           "none"};
    static const struct mtlm_checkpoint_id before[] = {
        {31, 0}, {30, 0}, {20, 1}, {20, 0}, {10, 0}};

    (void) state;
    for (int i = 0; i < 4; i++) {
        assert_string_equal(newest(orders[i], NULL), "30.0");
        for (int k = 0; k < 5; k++)
            assert_string_equal(newest(orders[i], &before[k]), expected[k]);
    }
}

static void test_other_names_are_no_checkpoints(void **state)
{
    static const char *const some[] = {".",
                                       "..",
                                       "lock",
                                       "iter_0000050.tmp",
                                       "iter_50",
                                       "iter_00000050",
                                       "iter_0000050.0",
                                       "iter_0000050.-1",
                                       "iter_-000001",
                                       "iter_",
                                       NULL};
    static const char *const one[] = {"iter_0000000", "iter_0000050.tmp", NULL};

    (void) state;
    assert_string_equal(newest(some, NULL), "none");
    assert_string_equal(newest(one, NULL), "0.0");
}

static void test_a_directory_that_is_read_in_part_is_refused(void **state)
{
    static const char *const some[] = {"iter_0000010", NULL};

    (void) state;
    failure = EIO;
    assert_string_equal(newest(some, NULL), "error");
    assert_string_equal(newest(some + 1, NULL), "error");
    failure = 0;
    assert_string_equal(newest(some, NULL), "10.0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_order_of_the_names_does_not_matter),
        cmocka_unit_test(test_other_names_are_no_checkpoints),
        cmocka_unit_test(test_a_directory_that_is_read_in_part_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
