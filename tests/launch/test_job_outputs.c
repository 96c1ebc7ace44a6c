/* The directories of a job whose start fails. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/job/job_outputs.h"
#include "runtime/base/memory.h"
#include "runtime/file/dir_lock.h"
#include "tests/models/files.h"

/* Returns a job that made its --save directory. */
static struct mtlm_job *create_job(const char *name)
{
    struct mtlm_job *job = mtlm_calloc(1, sizeof(*job));

    job->options.save_dir = mtlm_strdup(files_path(name));
    mkdir(job->options.save_dir, 0777);
    job->made_dir[job->n_made_dirs++] = job->options.save_dir;
    return job;
}

static void destroy_job(struct mtlm_job *job)
{
    if (job->checkpoint_lock > 0)
        close(job->checkpoint_lock);
    free(job->options.save_dir);
    free(job);
}

/* Two jobs start with the same new directory; the one that made it is the
 * second to lock it. */
static void test_the_lock_of_another_job_stays(void **state)
{
    struct mtlm_job *job = create_job("shared");
    struct mtlm_error err;
    int other = -1;

    (void) state;
    assert_int_equal(mtlm_dir_lock_take(job->options.save_dir, &other, &err),
                     0);
    assert_int_equal(
        mtlm_dir_lock_take(job->options.save_dir, &job->checkpoint_lock, &err),
        -1);
    mtlm_job_outputs_remove(job);
    assert_int_equal(mtlm_dir_lock_check(job->options.save_dir, &err), 0);
    close(other);
    destroy_job(job);
}

static void test_a_new_directory_goes(void **state)
{
    struct mtlm_job *job = create_job("own");
    struct mtlm_error err;

    (void) state;
    assert_int_equal(
        mtlm_dir_lock_take(job->options.save_dir, &job->checkpoint_lock, &err),
        0);
    mtlm_job_outputs_remove(job);
    assert_int_equal(access(job->options.save_dir, F_OK), -1);
    destroy_job(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_lock_of_another_job_stays),
        cmocka_unit_test(test_a_new_directory_goes),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
