/* Writes to standard output that fail say why. */

#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/standard_output.h"
#include "tests/runtime/child.h"

/* Prints *n characters on a full disk; the errno of the flush. */
static int print_on_a_full_disk(const void *n)
{
    const int characters = *(const int *) n;

    if (!freopen("/dev/full", "w", stdout))
        return 0;
    setvbuf(stdout, NULL, _IOFBF, 4096);
    for (int i = 0; i < characters; i++)
        putchar('x');
    errno = 0;
    return mtlm_standard_output_flush();
}

/* printf() itself writes when the buffer is full. */
static void test_a_full_disk_is_named_for_any_length(void **state)
{
    static const int lengths[] = {1, 4095, 4096, 4097, 4135, 8192, 8193, 20000};

    (void) state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        char text[256];
        const int status =
            child_status(print_on_a_full_disk, &lengths[i], text);

        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), ENOSPC);
        assert_non_null(strstr(text, "No space left on device"));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_full_disk_is_named_for_any_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
