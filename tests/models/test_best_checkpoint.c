/* best.json: what is written is read, whatever bytes are in the names. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "models/weights/best_checkpoint.h"
#include "tests/models/files.h"

static void test_what_is_written_is_read(void **state)
{
    const char *const names[] = {"dev.tsv: accuracy", "d\xffv.tsv: accuracy",
                                 "d\xc3\xa9v.tsv: accuracy"};
    double score[] = {71.5, 0, 100};
    const struct mtlm_best_checkpoint best = {.iteration = 6,
                                              .epoch = 2,
                                              .scored = 9,
                                              .data = 0xfedcba9876543210,
                                              .score = score,
                                              .scores = 3};
    struct mtlm_best_checkpoint found;
    struct mtlm_error err;
    unsigned char *text;
    size_t bytes;

    (void) state;
    mkdir(files_path("best"), 0777);
    assert_int_equal(
        mtlm_best_checkpoint_write(&best, names, files_path("best"), &err), 0);
    assert_int_equal(
        mtlm_best_checkpoint_read(&found, files_path("best"), &err), 1);
    assert_int_equal(found.iteration, 6);
    assert_int_equal(found.epoch, 2);
    assert_int_equal(found.scored, 9);
    assert_true(found.data == best.data);
    assert_int_equal(found.scores, 3);
    assert_memory_equal(found.score, score, sizeof(score));
    mtlm_best_checkpoint_free(&found);
    text = files_read("best/best.json", &bytes);
    assert_non_null(memmem(text, bytes, "d?v.tsv: accuracy", 17));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
