/* A checkpoint on the disk: what is damaged is found and named. */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/weights/manifest.h"
#include "tests/models/checkpoint_files.h"
#include "tests/models/files.h"

static void test_what_is_written_is_read(void **state)
{
    const char *dir = files_path("one");
    struct mtlm_manifest m;
    struct mtlm_error err;
    const struct mtlm_manifest_tensor *t;
    int reads;

    (void) state;
    mkdir(dir, 0777);
    reads = checkpoint_bias_reads();
    assert_int_equal(checkpoint_write(dir, 20, &err), 0);
    assert_int_equal(checkpoint_bias_reads() - reads, 1);
    assert_int_equal(mtlm_manifest_read(&m, dir, &err), 0);
    assert_int_equal(m.iteration, 20);
    assert_int_equal(m.samples, 160);
    assert_string_equal(json_string_value(json_object_get(m.settings, "a")),
                        "1");
    assert_true(json_real_value(json_object_get(m.state, "step")) == .1);
    assert_int_equal(m.files, 1);
    assert_int_equal(m.file[0].tensors, 2);
    t = &m.file[0].tensor[1];
    assert_string_equal(t->name, "a.bias");
    assert_int_equal(t->slice.full[0], 2);
    assert_int_equal(t->slice.count, 2);
    assert_int_equal(mtlm_manifest_verify(&m.file[0], dir, &err), 0);
    mtlm_manifest_free(&m);
}

/* What is said of a checkpoint whose byte n, and maybe all behind it, is not
 * what was written: the file's name, and that of the tensor whose byte it is.
 */
static void refused_at(const char *name, size_t n, size_t tensors_at)
{
    struct mtlm_error err;

    assert_int_equal(checkpoint_check(files_path("one"), &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    assert_non_null(strstr(err.text, name));
    if (n >= tensors_at)
        assert_non_null(
            strstr(err.text, n < tensors_at + CHECKPOINT_WEIGHT_BYTES
                                 ? "tensor \"a.weight\""
                                 : "tensor \"a.bias\""));
}

/* Cut at every length, and with every bit flipped. */
static void damage_each(const char *name, size_t tensors_at)
{
    char path[64];
    size_t bytes;
    unsigned char *data;
    struct mtlm_error err;

    snprintf(path, sizeof(path), "one/%s", name);
    data = files_read(path, &bytes);
    for (size_t n = 0; n < bytes; n++) {
        files_write(path, data, n);
        refused_at(name, n, tensors_at);
    }
    for (size_t n = 0; n < bytes; n++)
        for (int bit = 0; bit < 8; bit++) {
            data[n] ^= 1 << bit;
            files_write(path, data, bytes);
            refused_at(name, n, tensors_at);
            data[n] ^= 1 << bit;
        }
    files_write(path, data, bytes);
    assert_int_equal(checkpoint_check(files_path("one"), &err), 0);
    free(data);
}

static void test_every_truncation_and_every_flipped_bit_is_found(void **state)
{
    size_t bytes;
    unsigned char *data;

    (void) state;
    data = files_read("one/" CHECKPOINT_FILE, &bytes);
    free(data);
    damage_each(CHECKPOINT_FILE,
                bytes - CHECKPOINT_WEIGHT_BYTES - CHECKPOINT_BIAS_BYTES);
    damage_each("manifest.json", SIZE_MAX);
}

/* Another whole file of the same name; more behind it; none. */
static void test_exchanged_files_are_found(void **state)
{
    struct mtlm_error err;
    size_t bytes;
    unsigned char *data = files_read("one/" CHECKPOINT_FILE, &bytes), *more;

    (void) state;
    more = calloc(1, bytes + 8);
    memcpy(more, data, bytes);
    files_write("one/" CHECKPOINT_FILE, more, bytes + 8);
    assert_int_equal(checkpoint_check(files_path("one"), &err), -1);
    unlink(files_path("one/" CHECKPOINT_FILE));
    assert_int_equal(checkpoint_check(files_path("one"), &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    assert_non_null(strstr(err.text, CHECKPOINT_FILE ": No such file"));
    files_write("one/" CHECKPOINT_FILE, data, bytes);
    files_write("one/manifest.json.kept", NULL, 0);
    assert_int_equal(checkpoint_check(files_path("one"), &err), 0);
    free(more);
    free(data);
}

/* A disk that fails: reads of files of weights. */
static bool disk_fails;

ssize_t __real_read(int fd, void *data, size_t bytes);
ssize_t __wrap_read(int fd, void *data, size_t bytes);

ssize_t __wrap_read(int fd, void *data, size_t bytes)
{
    char link[64], path[300] = "";

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (disk_fails && readlink(link, path, sizeof(path) - 1) > 0
        && strstr(path, CHECKPOINT_FILE)) {
        errno = EIO;
        return -1;
    }
    return __real_read(fd, data, bytes);
}

static void test_a_failing_disk_is_an_error_and_no_end(void **state)
{
    struct mtlm_error err;

    (void) state;
    disk_fails = true;
    assert_int_equal(checkpoint_check(files_path("one"), &err), -1);
    disk_fails = false;
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, CHECKPOINT_FILE ": Input/output error"));
    assert_int_equal(checkpoint_check(files_path("one"), NULL), 0);
}

/* A file that is there and cannot be read now is not a damaged one. */
static void test_what_cannot_be_read_is_not_damaged(void **state)
{
    struct rlimit all, none;
    struct mtlm_error err;

    (void) state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    none = all;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(checkpoint_check(files_path("one"), &err), -1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "manifest.json: Too many open files"));
    /* Nobody can read where a process has no memory. */
    mkdir(files_path("bad"), 0777);
    assert_int_equal(symlink("/proc/self/mem", files_path("bad/manifest.json")),
                     0);
    assert_int_equal(checkpoint_check(files_path("bad"), &err), -1);
    unlink(files_path("bad/manifest.json"));
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "manifest.json: Input/output error"));
}

/* A manifest of any content, with the checksum that it must have: written by
 * putting words of the same length into a good one and its hash, as another
 * program would compute it. */
static void refused_manifest(const char *settings, const char *word,
                             enum mtlm_exit code)
{
    struct mtlm_manifest_tensor t = checkpoint_tensor("w", 2, 3, 0);
    struct mtlm_manifest_file file = {
        .name = (char *) settings, .tensor = &t, .tensors = 1};
    struct mtlm_manifest m = {.settings = json_object(),
                              .state = json_object(),
                              .file = &file,
                              .files = 1};
    struct mtlm_error err;

    mkdir(files_path("bad"), 0777);
    assert_int_equal(mtlm_manifest_write(&m, files_path("bad"), &err), 0);
    json_decref(m.settings);
    json_decref(m.state);
    assert_int_equal(mtlm_manifest_read(&m, files_path("bad"), &err), -1);
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.text, word));
}

/* A file of 1 TB, of which nearly all is a hole, takes neither memory nor time,
 * whatever it stands for. */
static void test_huge_files_are_found_at_once(void **state)
{
    static const char *const names[] = {CHECKPOINT_FILE, "manifest.json"};

    (void) state;
    for (int i = 0; i < 2; i++) {
        char path[64];
        struct mtlm_error err;
        size_t bytes;
        unsigned char *data;

        snprintf(path, sizeof(path), "one/%s", names[i]);
        data = files_read(path, &bytes);
        if (truncate(files_path(path), INT64_C(1) << 40) == 0) {
            assert_int_equal(checkpoint_check(files_path("one"), &err), -1);
            assert_int_equal(err.code, MTLM_EXIT_INPUT);
            assert_non_null(strstr(err.text, names[i]));
        }
        files_write(path, data, bytes);
        free(data);
    }
    assert_int_equal(checkpoint_check(files_path("one"), NULL), 0);
}

static void test_names_that_lead_elsewhere_are_refused(void **state)
{
    (void) state;
    refused_manifest("../x", "list of files is invalid", MTLM_EXIT_INPUT);
    refused_manifest("/etc/passwd", "list of files is invalid",
                     MTLM_EXIT_INPUT);
    refused_manifest("..", "list of files is invalid", MTLM_EXIT_INPUT);
    refused_manifest("", "list of files is invalid", MTLM_EXIT_INPUT);
}

static void test_newer_versions_are_refused(void **state)
{
    struct mtlm_manifest m;
    struct mtlm_error err;

    (void) state;
    mkdir(files_path("newer"), 0777);
    checkpoint_write_newer("one", "newer/manifest.json");
    assert_int_equal(mtlm_manifest_read(&m, files_path("newer"), &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_USAGE);
    assert_non_null(strstr(err.text, "version 7, this program reads versions "
                                     "up to 1"));
}

/* Reads a manifest of two files: the first tensor, and the n behind it. */
static int read_slices(struct mtlm_manifest_tensor *t, int n,
                       struct mtlm_error *err)
{
    char names[2][16] = {"a.safetensors", "b.safetensors"};
    struct mtlm_manifest_file file[2] = {
        {.name = names[0], .tensor = &t[0], .tensors = 1},
        {.name = names[1], .tensor = &t[1], .tensors = n}};
    struct mtlm_manifest m = {.settings = json_object(),
                              .state = json_object(),
                              .file = file,
                              .files = 2};
    int rc;

    mkdir(files_path("overlap"), 0777);
    assert_int_equal(mtlm_manifest_write(&m, files_path("overlap"), err), 0);
    json_decref(m.settings);
    json_decref(m.state);
    rc = mtlm_manifest_read(&m, files_path("overlap"), err);
    mtlm_manifest_free(&m);
    return rc;
}

static void test_slices_that_overlap_are_refused(void **state)
{
    struct mtlm_manifest_tensor t[2] = {checkpoint_tensor("w", 4, 3, 0),
                                        checkpoint_tensor("w", 4, 3, 0)};
    struct mtlm_error err;

    (void) state;
    t[0].slice.count = 7; /* to the first element of row 2 */
    t[1].slice.begin = 7;
    t[1].slice.count = 5;
    assert_int_equal(read_slices(t, 1, &err), 0);
    t[1].slice.begin = 6;
    assert_int_equal(read_slices(t, 1, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    assert_non_null(strstr(err.text, "overlap/manifest.json: two slices of "
                                     "tensor \"w\" overlap"));
    t[1].name = (char *) "v";
    assert_int_equal(read_slices(t, 1, &err), 0);
}

/* Slices of one element, all in one row, in no order; and one from the row
 * before. */
static void test_many_slices_of_a_row_are_compared(void **state)
{
    enum { COLS = 4001, STEP = 1009 };
    static struct mtlm_manifest_tensor t[COLS + 1];
    struct mtlm_error err;

    (void) state;
    for (int i = 0; i <= COLS; i++) {
        t[i] = checkpoint_tensor("w", 2, COLS, 0);
        t[i].slice.begin = COLS + (int64_t) i * STEP % COLS;
        t[i].slice.count = 1;
    }
    t[0].slice.begin = 5; /* of row 0; the last stands for row 1's first */
    assert_int_equal(read_slices(t, COLS, &err), 0);
    t[0].slice.count = COLS - 5;
    assert_int_equal(read_slices(t, COLS, &err), 0);
    t[0].slice.count++;
    assert_int_equal(read_slices(t, COLS, &err), -1);
    assert_non_null(strstr(err.text, "two slices of tensor \"w\" overlap"));
    t[0].slice.count--;
    t[7].slice.begin = t[COLS / 2].slice.begin;
    assert_int_equal(read_slices(t, COLS, &err), -1);
    t[7].slice.count = 0;
    assert_int_equal(read_slices(t, COLS, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_every_truncation_and_every_flipped_bit_is_found),
        cmocka_unit_test(test_exchanged_files_are_found),
        cmocka_unit_test(test_a_failing_disk_is_an_error_and_no_end),
        cmocka_unit_test(test_what_cannot_be_read_is_not_damaged),
        cmocka_unit_test(test_huge_files_are_found_at_once),
        cmocka_unit_test(test_names_that_lead_elsewhere_are_refused),
        cmocka_unit_test(test_newer_versions_are_refused),
        cmocka_unit_test(test_slices_that_overlap_are_refused),
        cmocka_unit_test(test_many_slices_of_a_row_are_compared),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
