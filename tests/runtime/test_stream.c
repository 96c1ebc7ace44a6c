/* Copies past the caches copy these bytes and no other, wherever they begin. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/stream.h"

enum { BYTES = 96, ROOM = BYTES + 2 * 16 };

static void check_copy(size_t begin, size_t bytes)
{
    _Alignas(16) char to[ROOM], want[ROOM];
    char from[BYTES + 1];

    for (int i = 0; i <= BYTES; i++)
        from[i] = i + 1;
    memset(to, 0, ROOM);
    memset(want, 0, ROOM);
    memcpy(want + begin, from + 1, bytes);
    mtlm_stream_copy(to + begin, from + 1, bytes);
    mtlm_stream_end();
    assert_memory_equal(to, want, ROOM);
}

static void test_copies_of_any_place_and_size(void **state)
{
    (void) state;
    for (size_t begin = 0; begin <= 16; begin++)
        for (size_t bytes = 0; bytes <= BYTES; bytes++)
            check_copy(begin, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_of_any_place_and_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
