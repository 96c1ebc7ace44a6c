/* The directory of offloaded state: made where it is missing, refused where it
 * has no room. */

#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/memory.h"
#include "runtime/file/offload_dir.h"

static char dir[] = "/tmp/mtlm-offload.XXXXXX";

static void test_no_room_is_refused(void **state)
{
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_offload_dir_check(dir, 4096, &err), 0);
    assert_int_equal(mtlm_offload_dir_check(dir, INT64_C(1) << 50, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_USAGE);
    assert_non_null(strstr(err.text, "1048576.000 GiB"));
    assert_non_null(strstr(err.text, "are free there"));
}

static void test_directories_are_made(void **state)
{
    char *deep = mtlm_sprintf("%s/a/b/c", dir), *beside;
    struct mtlm_error err;

    (void) state;
    assert_true(mtlm_offload_dir_room(deep) > 0);
    assert_int_equal(access(deep, F_OK), -1);
    assert_int_equal(mtlm_offload_dir_check(deep, 1, &err), 0);
    assert_int_equal(access(deep, W_OK), 0);
    assert_int_equal(rmdir(deep), 0);
    close(open(deep, O_CREAT | O_WRONLY, 0600));
    beside = mtlm_sprintf("%s/d", deep);
    assert_int_equal(mtlm_offload_dir_check(beside, 1, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "cannot be made"));
    unlink(deep);
    free(beside);
    for (int i = 0; i < 2; i++) {
        *strrchr(deep, '/') = '\0';
        assert_int_equal(rmdir(deep), 0);
    }
    free(deep);
}

static void test_the_cache_of_the_user(void **state)
{
    char *cache = getenv("XDG_CACHE_HOME"), *found;
    char *home = mtlm_strdup(getenv("HOME") ? getenv("HOME") : "");

    (void) state;
    cache = cache ? mtlm_strdup(cache) : NULL;
    setenv("XDG_CACHE_HOME", "/x", 1);
    found = mtlm_offload_dir_default();
    assert_string_equal(found, "/x/mtlm-dag/offload");
    free(found);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/y", 1);
    found = mtlm_offload_dir_default();
    assert_string_equal(found, "/y/.cache/mtlm-dag/offload");
    free(found);
    unsetenv("HOME");
    assert_null(mtlm_offload_dir_default());
    setenv("HOME", home, 1);
    if (cache)
        setenv("XDG_CACHE_HOME", cache, 1);
    free(cache);
    free(home);
}

static int make_dir(void **state)
{
    (void) state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void) state;
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_room_is_refused),
        cmocka_unit_test(test_directories_are_made),
        cmocka_unit_test(test_the_cache_of_the_user),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
