/* Files that grow while training runs, and the check sum of TensorBoard's.
 * What they hold is read by another program in tests/mpi/metrics.sh. */
#include "config.h"

#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/log/append_file.h"
#include "launch/log/metrics.h"
#include "launch/log/tfevents.h"
#include "runtime/base/memory.h"
#include "runtime/file/disk.h"
#include "tests/file_limit.h"
#include "trace_dir.h"

static void test_the_check_is_castagnolis(void **state)
{
    unsigned char bytes[32];

    (void) state;
    assert_int_equal(mtlm_tfevents_crc32c("123456789", 9), 0xE3069283);
    /* RFC 3720, B.4. */
    memset(bytes, 0, sizeof(bytes));
    assert_int_equal(mtlm_tfevents_crc32c(bytes, sizeof(bytes)), 0x8A9136AA);
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(mtlm_tfevents_crc32c(bytes, sizeof(bytes)), 0x62A8AB43);
    for (int i = 0; i < 32; i++)
        bytes[i] = i;
    assert_int_equal(mtlm_tfevents_crc32c(bytes, sizeof(bytes)), 0x46DD794E);
    assert_int_equal(mtlm_tfevents_crc32c(bytes, 0), 0);
}

static void test_a_missing_directory_is_an_error_with_its_path(void **state)
{
    struct mtlm_error err;

    (void) state;
    assert_null(mtlm_tfevents_open("there/is/none", &err));
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "there/is/none/events.out.tfevents."));
}

/* What text goes to stderr between this and its end, in a file. */
static int divert_stderr(const char *path)
{
    const int keep = dup(STDERR_FILENO);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    fflush(stderr);
    dup2(fd, STDERR_FILENO);
    close(fd);
    return keep;
}

static void restore_stderr(int keep)
{
    fflush(stderr);
    dup2(keep, STDERR_FILENO);
    close(keep);
}

static void test_a_piece_that_does_not_fit_is_taken_back(void **state)
{
    struct mtlm_error err;
    struct mtlm_append_file *file;
    char *path, *said, *text, *want;
    int keep, rc;

    (void) state;
    assert_int_equal(mkdir(trace_dir, 0777), 0);
    path = trace_dir_path("pieces");
    file = mtlm_append_file_open(path, &err);
    assert_non_null(file);
    said = trace_dir_path("said");
    keep = divert_stderr(said);
    mtlm_append_file_put(file, "0123456789", 10);
    file_limit(25);
    mtlm_append_file_put(file, "abcdefghij", 10);
    mtlm_append_file_put(file, "ABCDEFGHIJ", 10);
    mtlm_append_file_put(file, "x", 1);
    file_limit(RLIM_INFINITY);
    rc = mtlm_append_file_close(file);
    restore_stderr(keep);
    assert_int_equal(rc, -1);
    text = trace_dir_read("pieces");
    assert_string_equal(text, "0123456789abcdefghij");
    free(text);
    /* stderr is a file as well: nothing more than the first 25 bytes of the
     * one sentence, and what the end says. */
    text = trace_dir_read("said");
    want = mtlm_sprintf("mtlm-dag: cannot write trmtlm-dag: %s is incomplete: "
                        "File too large\n",
                        path);
    assert_string_equal(text, want);
    free(want);
    free(text);
    free(said);
    free(path);
}

/* Two jobs append to one file; the disk is full for one of them. */
static void test_pieces_of_another_job_stay(void **state)
{
    struct mtlm_append_file *file[2];
    struct mtlm_error err;
    char *path, *said, *text;
    int keep;

    (void) state;
    assert_int_equal(mkdir(trace_dir, 0777), 0);
    path = trace_dir_path("pieces");
    said = trace_dir_path("said");
    for (int written = 0; written < 2; written++) {
        for (int i = 0; i < 2; i++)
            file[i] = mtlm_append_file_open(path, &err);
        if (written)
            mtlm_append_file_put(file[0], "0123456789", 10);
        mtlm_append_file_put(file[1], "abcdefghij", 10);
        keep = divert_stderr(said);
        file_limit(written ? 20 : 10);
        mtlm_append_file_put(file[0], "x", 1);
        file_limit(RLIM_INFINITY);
        for (int i = 0; i < 2; i++)
            mtlm_append_file_close(file[i]);
        restore_stderr(keep);
        text = trace_dir_read("pieces");
        assert_string_equal(text,
                            written ? "0123456789abcdefghij" : "abcdefghij");
        free(text);
        unlink(path);
    }
    free(said);
    free(path);
}

static void test_pieces_come_behind_what_is_there(void **state)
{
    struct mtlm_error err;
    char *path, *text;

    (void) state;
    assert_int_equal(mkdir(trace_dir, 0777), 0);
    path = trace_dir_path("pieces");
    for (int i = 0; i < 2; i++) {
        struct mtlm_append_file *file = mtlm_append_file_open(path, &err);

        assert_non_null(file);
        mtlm_append_file_put(file, "piece", 5);
        assert_int_equal(mtlm_append_file_close(file), 0);
    }
    text = trace_dir_read("pieces");
    assert_string_equal(text, "piecepiece");
    /* What holds something stays, even without a new piece. */
    assert_int_equal(mtlm_append_file_close(mtlm_append_file_open(path, &err)),
                     0);
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    assert_int_equal(mtlm_append_file_close(mtlm_append_file_open(path, &err)),
                     0);
    assert_int_equal(access(path, F_OK), -1);
    free(text);
    free(path);
}

/* A crash cut the last line: the next run's lines do not go on with it. */
static void test_a_cut_line_gets_its_end(void **state)
{
    static const char *const before[] = {"", "whole\n", "whole\ncut"};
    struct mtlm_append_file *file;
    struct mtlm_error err;
    char *path, *text, *want;

    (void) state;
    assert_int_equal(mkdir(trace_dir, 0777), 0);
    path = trace_dir_path("lines");
    for (int i = 0; i < 3; i++) {
        file = mtlm_append_file_open(path, &err);
        mtlm_append_file_put(file, before[i], strlen(before[i]));
        mtlm_append_file_close(file);
        file = mtlm_append_file_open(path, &err);
        mtlm_append_file_end_line(file);
        mtlm_append_file_put(file, "next\n", 5);
        assert_int_equal(mtlm_append_file_close(file), 0);
        text = trace_dir_read("lines");
        want = mtlm_sprintf("%s%snext\n", before[i], i == 2 ? "\n" : "");
        assert_string_equal(text, want);
        free(want);
        free(text);
        unlink(path);
    }
    free(path);
}

/* The open would wait for a reader. */
static void test_a_fifo_without_a_reader_is_refused(void **state)
{
    struct mtlm_error err;
    char *path, *want;

    (void) state;
    assert_int_equal(mkdir(trace_dir, 0777), 0);
    path = trace_dir_path("fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_null(mtlm_append_file_open(path, &err));
    assert_int_equal(err.code, MTLM_EXIT_IO);
    want = mtlm_sprintf("%s: cannot be written: a FIFO that no program reads",
                        path);
    assert_string_equal(err.text, want);
    assert_int_equal(access(path, F_OK), 0);
    free(want);
    free(path);
}

/* The piece is longer than the FIFO holds: the write waits for the reader. */
static void test_a_fifo_gets_whole_pieces(void **state)
{
    static char piece[1 << 20], got[1 << 20];
    struct mtlm_append_file *file;
    struct mtlm_error err;
    int fd, status;
    pid_t reader;
    char *path;

    (void) state;
    assert_int_equal(mkdir(trace_dir, 0777), 0);
    path = trace_dir_path("fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    fd = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(fd >= 0);
    file = mtlm_append_file_open(path, &err);
    assert_non_null(file);
    mtlm_append_file_end_line(file);
    assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
    memset(piece, 'x', sizeof(piece));
    reader = fork();
    if (reader == 0)
        _exit(mtlm_disk_read(fd, got, sizeof(got)) != sizeof(got)
              || memcmp(got, piece, sizeof(got)) != 0);
    mtlm_append_file_put(file, piece, sizeof(piece));
    assert_int_equal(mtlm_append_file_close(file), 0);
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
    assert_int_equal(access(path, F_OK), 0);
    close(fd);
    free(path);
}

/* The value of a tag in the event file of trace_dir. */
static float event_value(const char *tag)
{
    char *pattern = trace_dir_path("events.out.tfevents.*");
    static char bytes[4096];
    glob_t found;
    float value;
    size_t n;
    FILE *f;
    const char *at;

    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    f = fopen(found.gl_pathv[0], "rb");
    assert_non_null(f);
    n = fread(bytes, 1, sizeof(bytes), f);
    fclose(f);
    at = memmem(bytes, n, tag, strlen(tag));
    assert_non_null(at);
    memcpy(&value, at + strlen(tag) + 1, sizeof(value)); /* behind its key */
    globfree(&found);
    free(pattern);
    return value;
}

/* Nor does a NaN become a perplexity of e^20. */
static void test_a_validation_keeps_its_nan(void **state)
{
    static struct mtlm_options options;
    struct mtlm_metrics *metrics;
    struct mtlm_error err;
    char *text;

    (void) state;
    assert_int_equal(mkdir(trace_dir, 0777), 0);
    options.metrics = trace_dir_path("metrics");
    options.tensorboard_dir = trace_dir;
    assert_int_equal(mtlm_metrics_open(&options, &metrics, &err), 0);
    mtlm_metrics_validation(metrics, 3, "validation", NAN, NAN, NAN);
    assert_int_equal(mtlm_metrics_close(metrics), 0);
    text = trace_dir_read("metrics");
    assert_non_null(strstr(text, "\"validation\":{\"lm_loss\":null,"
                                 "\"sop_loss\":null,\"sop_accuracy\":null}"));
    assert_true(isnan(event_value("lm loss validation ppl")));
    assert_true(isnan(event_value("sop loss validation")));
    free(text);
    free(options.metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_check_is_castagnolis),
        cmocka_unit_test(test_a_missing_directory_is_an_error_with_its_path),
        DIR_TEST(test_a_piece_that_does_not_fit_is_taken_back),
        DIR_TEST(test_pieces_of_another_job_stay),
        DIR_TEST(test_pieces_come_behind_what_is_there),
        DIR_TEST(test_a_cut_line_gets_its_end),
        DIR_TEST(test_a_fifo_without_a_reader_is_refused),
        DIR_TEST(test_a_fifo_gets_whole_pieces),
        DIR_TEST(test_a_validation_keeps_its_nan),
    };

    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
