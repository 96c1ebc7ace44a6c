/* A checkpoint that was found damaged, and a new one of the same name. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/checkpoint/checkpoint.h"
#include "models/weights/checkpoint_dir.h"
#include "runtime/base/memory.h"
#include "tests/models/checkpoint_files.h"
#include "tests/models/files.h"

/* Saves as the saver of rank 0 does. */
static void save(struct mtlm_job *job, int64_t iteration)
{
    char *dir = mtlm_checkpoint_dir_temporary(job->options.save_dir, iteration);
    struct mtlm_manifest m;
    struct mtlm_error err;

    assert_int_equal(
        mtlm_checkpoint_dir_begin(job->options.save_dir, iteration, &err), 0);
    assert_int_equal(checkpoint_write(dir, iteration, &err), 0);
    assert_int_equal(mtlm_manifest_read(&m, dir, &err), 0);
    assert_int_equal(mtlm_checkpoint_complete(job, &m, &err), 0);
    mtlm_checkpoint_remove_old(job, iteration);
    mtlm_manifest_free(&m);
    free(dir);
}

/* The job found 300 damaged, and went on from 200.  Its user removed 300. */
static void test_a_new_one_of_that_name_is_kept(void **state)
{
    char *dir = mtlm_strdup(files_path("all"));
    struct mtlm_job *job = mtlm_calloc(1, sizeof(*job));

    (void) state;
    mkdir(dir, 0777);
    job->options.save_dir = dir;
    save(job, 100);
    save(job, 200);
    job->options.keep_last = 2;
    job->saves_there = job->begin_is_saved = true;
    job->damaged.id = mtlm_calloc(1, sizeof(*job->damaged.id));
    job->damaged.id[job->damaged.n++] =
        (struct mtlm_checkpoint_id){.iteration = 300};
    save(job, 300);
    assert_int_equal(access(files_path("all/iter_0000300"), F_OK), 0);
    assert_int_equal(access(files_path("all/iter_0000200"), F_OK), 0);
    save(job, 400);
    assert_int_equal(access(files_path("all/iter_0000300"), F_OK), 0);
    assert_int_equal(access(files_path("all/iter_0000200"), F_OK), -1);
    free(job->damaged.id);
    free(job);
    free(dir);
}

/* While 300 is there, it is removed with the old ones. */
static void test_the_damaged_one_is_removed(void **state)
{
    char *dir = mtlm_strdup(files_path("there"));
    struct mtlm_job *job = mtlm_calloc(1, sizeof(*job));

    (void) state;
    mkdir(dir, 0777);
    job->options.save_dir = dir;
    save(job, 200);
    save(job, 300);
    job->options.keep_last = 2;
    job->saves_there = job->begin_is_saved = true;
    job->damaged.id = mtlm_calloc(1, sizeof(*job->damaged.id));
    job->damaged.id[job->damaged.n++] =
        (struct mtlm_checkpoint_id){.iteration = 300};
    save(job, 400);
    assert_int_equal(access(files_path("there/iter_0000300"), F_OK), -1);
    assert_int_equal(access(files_path("there/iter_0000200"), F_OK), 0);
    free(job->damaged.id);
    free(job);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_one_of_that_name_is_kept),
        cmocka_unit_test(test_the_damaged_one_is_removed),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
