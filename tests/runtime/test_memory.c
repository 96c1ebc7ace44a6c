/* Memory that is never NULL, memory that a kernel works in, memory that the
 * machine has left. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/exit_code.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"

static void test_new_memory_is_zero_and_never_null(void **state)
{
    char *p = mtlm_calloc(1000, 8), *none = mtlm_calloc(0, 8);

    (void) state;
    for (int i = 0; i < 8000; i++)
        assert_int_equal(p[i], 0);
    assert_non_null(none);
    free(none);
    none = mtlm_realloc(NULL, 0, 8);
    assert_non_null(none);
    free(none);
    free(p);
}

/* Exit code of a process that asks for too much. */
static int code_of(void *(*take)(void) )
{
    int status;
    const pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        /* The sentence is not for this test's report. */
        if (!freopen("/dev/null", "w", stderr))
            _exit(99);
        take();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static volatile size_t huge = SIZE_MAX / 2 + 2;

/* n * size wraps round to a few bytes. */
static void *take_a_product_that_wraps(void)
{
    return mtlm_calloc(huge, 2);
}

static void *grow_to_a_product_that_wraps(void)
{
    return mtlm_realloc(NULL, huge, 2);
}

static void test_a_size_that_wraps_round_ends_the_job(void **state)
{
    (void) state;
    assert_int_equal(code_of(take_a_product_that_wraps), MTLM_EXIT_RESOURCE);
    assert_int_equal(code_of(grow_to_a_product_that_wraps), MTLM_EXIT_RESOURCE);
}

/* Half of it more wraps round to zero. */
static volatile size_t two_thirds = SIZE_MAX / 3 * 2 + 1;

static void *make_room_that_wraps(void)
{
    size_t room = 0;

    return mtlm_make_room(NULL, &room, two_thirds, 1);
}

static void test_room_that_wraps_round_ends_the_job(void **state)
{
    char *array = NULL;
    size_t room = 0;

    (void) state;
    array = mtlm_grow(array, &room, 1, 1);
    assert_non_null(array);
    assert_null(mtlm_grow(array, &room, two_thirds, 1));
    assert_in_range(room, 1, 100);
    assert_int_equal(code_of(make_room_that_wraps), MTLM_EXIT_RESOURCE);
    free(array);
}

static void test_an_array_that_grows_keeps_its_elements(void **state)
{
    int64_t *array = NULL;
    size_t room = 0, growths = 0;

    (void) state;
    for (size_t n = 0; n < 10000; n++) {
        const size_t before = room;

        array = mtlm_make_room(array, &room, n + 1, sizeof(*array));
        assert_true(room > n);
        growths += room != before;
        array[n] = 3 * n;
    }
    for (size_t n = 0; n < 10000; n++)
        assert_int_equal(array[n], 3 * n);
    assert_in_range(growths, 1, 30);
    assert_ptr_equal(mtlm_make_room(array, &room, 10000, sizeof(*array)),
                     array);
    free(array);
}

/* Leaves the process that many bytes of address space more. */
static void allow_memory(size_t bytes)
{
    FILE *file = fopen("/proc/self/statm", "r");
    struct rlimit limit;
    size_t pages;

    if (!file || fscanf(file, "%zu", &pages) != 1
        || getrlimit(RLIMIT_AS, &limit) < 0)
        _exit(99);
    fclose(file);
    limit.rlim_cur = pages * sysconf(_SC_PAGESIZE) + bytes;
    if (setrlimit(RLIMIT_AS, &limit) < 0)
        _exit(99);
}

/* Half of it more is refused. */
static void *make_room_that_just_fits(void)
{
    const size_t n = 128 << 20;
    size_t room = 0;
    char *array;

    allow_memory(n + (32 << 20));
    array = mtlm_make_room(NULL, &room, n, 1);
    if (room < n)
        _exit(98);
    array[n - 1] = 1;
    return array;
}

/* Grows an array by one element at a time until there is no memory. */
static void *grow_to_the_last_memory(void)
{
    const size_t size = 4096;
    size_t room = 0, before = 0, growths = 0, n = 0;
    char *array = NULL, *grown;

    allow_memory(64 << 20);
    while ((grown = mtlm_grow(array, &room, n + 1, size))) {
        array = grown;
        n++;
        growths += room != before;
        before = room;
    }
    if (n * size < 32 << 20)
        _exit(98);
    if (growths > 200)
        _exit(97);
    return array;
}

static void test_an_array_may_take_the_last_memory(void **state)
{
    (void) state;
#if __SANITIZE_ADDRESS__ || __SANITIZE_THREAD__
    skip(); /* sanitizers need address space of their own */
#endif
    assert_int_equal(code_of(make_room_that_just_fits), 0);
    assert_int_equal(code_of(grow_to_the_last_memory), 0);
}

static void test_text_is_formatted_whole(void **state)
{
    char *text = mtlm_sprintf("%0*d", 5000, 7), *copy = mtlm_strdup(text);

    (void) state;
    assert_int_equal(strlen(text), 5000);
    assert_string_equal(text, copy);
    free(text);
    free(copy);
}

static void test_written_text_is_whole(void **state)
{
    struct mtlm_text text;
    FILE *out = mtlm_text_open(&text);
    char *all;

    (void) state;
    for (int i = 0; i < 5000; i++)
        fprintf(out, "%04d ", i);
    all = mtlm_text_close(&text);
    assert_int_equal(text.bytes, 25000);
    assert_int_equal(strlen(all), 25000);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(atoi(all + 5 * i), i);
    free(all);
    mtlm_text_open(&text);
    all = mtlm_text_close(&text);
    assert_string_equal(all, "");
    free(all);
}

static void forbid_more_memory(void)
{
    const struct rlimit limit = {1 << 20, 1 << 20};

    if (setrlimit(RLIMIT_AS, &limit) < 0)
        _exit(99);
}

static void *format_too_much(void)
{
    forbid_more_memory();
    return mtlm_sprintf("%0*d", 1 << 28, 7);
}

static void *write_too_much(void)
{
    struct mtlm_text text;
    FILE *out = mtlm_text_open(&text);

    forbid_more_memory();
    for (int i = 0; i < 1 << 22; i++)
        fputs("Text of which there is more than memory for text.", out);
    return mtlm_text_close(&text);
}

static void test_text_without_memory_ends_the_job(void **state)
{
    (void) state;
#if __SANITIZE_ADDRESS__ || __SANITIZE_THREAD__
    skip(); /* sanitizers need address space of their own */
#endif
    assert_int_equal(code_of(format_too_much), MTLM_EXIT_RESOURCE);
    assert_int_equal(code_of(write_too_much), MTLM_EXIT_RESOURCE);
}

static void test_scratch_is_aligned_grows_and_stays(void **state)
{
    struct mtlm_scratch scratch = {0};
    char *small, *large;

    (void) state;
    small = mtlm_scratch_get(&scratch, 100);
    assert_int_equal((uintptr_t) small % 64, 0);
    memset(small, 1, 100);
    large = mtlm_scratch_get(&scratch, 1000003);
    assert_int_equal((uintptr_t) large % 64, 0);
    memset(large, 2, 1000003);
    assert_ptr_equal(mtlm_scratch_get(&scratch, 5), large);
    assert_ptr_equal(mtlm_scratch_get(&scratch, 1000003), large);
    mtlm_scratch_free(&scratch);
    assert_int_equal(scratch.bytes, 0);
}

static void test_some_of_the_machines_memory_is_available(void **state)
{
    const double all = (double) sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

    (void) state;
    assert_true(mtlm_memory_available() > 1 << 20);
    assert_true(mtlm_memory_available() <= all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_memory_is_zero_and_never_null),
        cmocka_unit_test(test_a_size_that_wraps_round_ends_the_job),
        cmocka_unit_test(test_room_that_wraps_round_ends_the_job),
        cmocka_unit_test(test_an_array_that_grows_keeps_its_elements),
        cmocka_unit_test(test_an_array_may_take_the_last_memory),
        cmocka_unit_test(test_text_is_formatted_whole),
        cmocka_unit_test(test_written_text_is_whole),
        cmocka_unit_test(test_text_without_memory_ends_the_job),
        cmocka_unit_test(test_scratch_is_aligned_grows_and_stays),
        cmocka_unit_test(test_some_of_the_machines_memory_is_available),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
