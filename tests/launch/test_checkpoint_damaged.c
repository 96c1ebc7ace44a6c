/* A checkpoint that was found damaged, and a new one of the same name. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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

/* Fails the test unless the checkpoint is there, or is not. */
static void assert_there(const struct mtlm_job *job, const char *name,
                         bool there)
{
    char *path = mtlm_sprintf("%s/%s", job->options.save_dir, name);

    assert_int_equal(access(path, F_OK), there ? 0 : -1);
    free(path);
}

/* Returns a job that saves to a new directory. */
static struct mtlm_job *create_job(const char *name)
{
    struct mtlm_job *job = mtlm_calloc(1, sizeof(*job));

    job->options.save_dir = mtlm_strdup(files_path(name));
    mkdir(job->options.save_dir, 0777);
    return job;
}

/* The job found 300 damaged at its start. */
static void find_damaged(struct mtlm_job *job)
{
    job->options.keep_last = 2;
    job->saves_there = job->begin_is_saved = true;
    job->damaged.id = mtlm_calloc(1, sizeof(*job->damaged.id));
    job->damaged.id[job->damaged.n++] =
        (struct mtlm_checkpoint_id){.iteration = 300};
}

static void destroy_job(struct mtlm_job *job)
{
    free(job->damaged.id);
    free(job->options.save_dir);
    free(job);
}

/* The job went on from 200, and its user removed 300. */
static void test_a_new_one_of_that_name_is_kept(void **state)
{
    struct mtlm_job *job = create_job("removed");

    (void) state;
    save(job, 100);
    save(job, 200);
    find_damaged(job);
    save(job, 300);
    assert_there(job, "iter_0000300", true);
    assert_there(job, "iter_0000200", true);
    save(job, 400);
    assert_there(job, "iter_0000300", true);
    assert_there(job, "iter_0000200", false);
    destroy_job(job);
}

/* While 300 is there, it is removed with the old ones. */
static void test_the_damaged_one_is_removed(void **state)
{
    struct mtlm_job *job = create_job("there");

    (void) state;
    save(job, 200);
    save(job, 300);
    find_damaged(job);
    save(job, 400);
    assert_there(job, "iter_0000300", false);
    assert_there(job, "iter_0000200", true);
    destroy_job(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_one_of_that_name_is_kept),
        cmocka_unit_test(test_the_damaged_one_is_removed),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
