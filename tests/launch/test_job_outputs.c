/* The directories of a job whose start fails; directories that cannot be read
 * to their end, which are not taken for empty ones; and what an export says
 * that fails. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/job/job_outputs.h"
#include "launch/tools/convert_output.h"
#include "runtime/base/memory.h"
#include "runtime/file/dir_lock.h"
#include "runtime/file/disk.h"
#include "tests/models/files.h"

static int failure; /* errno that readdir() fails with; 0: the system answers */

struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);

struct dirent *__wrap_readdir(DIR *dir)
{
    if (failure == 0)
        return __real_readdir(dir);
    errno = failure;
    return NULL;
}

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

static void test_a_directory_that_is_read_in_part_is_not_empty(void **state)
{
    const struct mtlm_shards shards = {0};
    struct mtlm_convert_output output = {.shards = &shards};
    struct mtlm_error err;
    bool made;
    int lock = 0;

    (void) state;
    output.path = files_path("export");
    assert_int_equal(mkdir(output.path, 0777), 0);
    failure = EIO;
    assert_int_equal(mtlm_convert_output_claim(&output, 1, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_null(output.temporary);
    assert_int_equal(
        mtlm_job_outputs_take(output.path, "trace", &made, &lock, &err), -1);
    failure = 0;
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "cannot be read: Input/output error"));
    assert_false(made);
    assert_int_equal(lock, 0);
    assert_int_equal(rmdir(output.path), 0);
}

/* Exports to the directory, without the files if it is there, else without the
 * temporary directory.  Expects the sentence. */
static void fail_export(const char *name, bool there, const char *sentence)
{
    const struct mtlm_shards shards = {0};
    struct mtlm_convert_output output = {.path = files_path(name),
                                         .shards = &shards};
    struct mtlm_error err;
    char *want = mtlm_sprintf("%s: %s", output.path, sentence);

    if (there)
        assert_int_equal(mkdir(output.path, 0777), 0);
    assert_int_equal(mtlm_convert_output_claim(&output, 1, &err), 0);
    if (!there)
        assert_int_equal(rmdir(output.temporary), 0);
    assert_int_equal(mtlm_convert_output_commit(&output, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_string_equal(err.text, want);
    mtlm_convert_output_discard(&output);
    assert_int_equal(rmdir(output.path), there ? 0 : -1);
    free(output.temporary);
    free(want);
}

static void test_a_directory_that_is_there_is_written_not_made(void **state)
{
    (void) state;
    fail_export("there", true, "cannot be written: No such file or directory");
    fail_export("new", false, "cannot be made: No such file or directory");
}

static int calls; /* that the disk has noted */

/* Before the rename are open() and fsync(): of the temporary directory. */
static void forbid_files_after_two_calls(void)
{
    struct rlimit limit;

    if (++calls != 2)
        return;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void test_a_directory_that_has_its_name_is_written_not_made(void **state)
{
    const struct mtlm_shards shards = {0};
    struct mtlm_convert_output output = {.path = files_path("named"),
                                         .shards = &shards};
    struct mtlm_error err;
    struct rlimit limit;
    int rc;

    (void) state;
    assert_int_equal(mtlm_convert_output_claim(&output, 1, &err), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    mtlm_disk_on_call(forbid_files_after_two_calls);
    rc = mtlm_convert_output_commit(&output, &err);
    mtlm_disk_on_call(NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(
        strstr(err.text, "named: cannot be written: Too many open files"));
    assert_int_equal(rmdir(output.path), 0);
    mtlm_convert_output_discard(&output);
    free(output.temporary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_lock_of_another_job_stays),
        cmocka_unit_test(test_a_new_directory_goes),
        cmocka_unit_test(test_a_directory_that_is_read_in_part_is_not_empty),
        cmocka_unit_test(test_a_directory_that_is_there_is_written_not_made),
        cmocka_unit_test(
            test_a_directory_that_has_its_name_is_written_not_made),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
