/* Checkpoints on the disk: what is damaged is found and named, what was
 * committed stays, whatever happens to what comes after. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

#include "models/weights/checkpoint_dir.h"
#include "models/weights/manifest.h"
#include "tests/models/files.h"

#define NAME "rank-0.safetensors"

static const float weight[6] = {1, 2, 3, 4, 5, 6}, bias[2] = {7, 8};
static int reads;

static void read_bias(void *arg, void *memory)
{
    reads++;
    memcpy(memory, arg, sizeof(bias));
}

static struct mtlm_manifest_tensor tensor(const char *name, int64_t rows,
                                          int64_t cols, uint64_t hash)
{
    return (struct mtlm_manifest_tensor){
        (char *) name,
        {{rows, cols}, {0, 0}, {rows, cols}, 0, rows * cols},
        hash};
}

/* A checkpoint of one file in dir. */
static int write_checkpoint(const char *dir, int64_t iteration,
                            struct mtlm_error *err)
{
    char path[256];
    struct mtlm_manifest_tensor t[2];
    struct mtlm_manifest_file file = {.name = NAME, .tensor = t, .tensors = 2};
    struct mtlm_manifest manifest = {.iteration = iteration,
                                     .samples = 160,
                                     .settings = json_pack("{s:s}", "a", "1"),
                                     .state = json_pack("{s:f}", "step", .1),
                                     .file = &file,
                                     .files = 1};
    struct mtlm_safetensors_writer *writer;
    struct mtlm_safetensors_written written;
    int rc;

    snprintf(path, sizeof(path), "%s/" NAME, dir);
    writer = mtlm_safetensors_writer_create(path);
    mtlm_safetensors_writer_add(writer, "a.weight", MTLM_SAFETENSORS_F32, 2,
                                (const int64_t[]){2, 3}, weight);
    mtlm_safetensors_writer_add_later(writer, "a.bias", MTLM_SAFETENSORS_F32, 1,
                                      (const int64_t[]){2}, read_bias,
                                      (void *) bias);
    rc = mtlm_safetensors_writer_commit(writer, err);
    if (rc == 0) {
        written = mtlm_safetensors_writer_written(writer);
        t[0] =
            tensor("a.weight", 2, 3, mtlm_safetensors_writer_hash(writer, 0));
        t[1] = tensor("a.bias", 2, 1, mtlm_safetensors_writer_hash(writer, 1));
        file.bytes = written.bytes;
        file.hash = written.hash;
        rc = mtlm_manifest_write(&manifest, dir, err);
    }
    mtlm_safetensors_writer_destroy(writer);
    json_decref(manifest.settings);
    json_decref(manifest.state);
    return rc;
}

/* Whether it is a whole checkpoint. */
static int check(const char *dir, struct mtlm_error *err)
{
    struct mtlm_manifest manifest;
    int rc = mtlm_manifest_read(&manifest, dir, err);

    for (int64_t i = 0; i < manifest.files && rc == 0; i++)
        rc = mtlm_manifest_verify(&manifest.file[i], dir, err);
    mtlm_manifest_free(&manifest);
    return rc;
}

static void test_what_is_written_is_read(void **state)
{
    const char *dir = files_path("one");
    struct mtlm_manifest m;
    struct mtlm_error err;
    const struct mtlm_manifest_tensor *t;

    (void) state;
    mkdir(dir, 0777);
    reads = 0;
    assert_int_equal(write_checkpoint(dir, 20, &err), 0);
    assert_int_equal(reads, 1);
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

    assert_int_equal(check(files_path("one"), &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    assert_non_null(strstr(err.text, name));
    if (n >= tensors_at)
        assert_non_null(strstr(err.text, n < tensors_at + sizeof(weight)
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
    assert_int_equal(check(files_path("one"), &err), 0);
    free(data);
}

static void test_every_truncation_and_every_flipped_bit_is_found(void **state)
{
    size_t bytes;
    unsigned char *data;

    (void) state;
    data = files_read("one/" NAME, &bytes);
    free(data);
    damage_each(NAME, bytes - sizeof(weight) - sizeof(bias));
    damage_each("manifest.json", SIZE_MAX);
}

/* Another whole file of the same name; more behind it; none. */
static void test_exchanged_files_are_found(void **state)
{
    struct mtlm_error err;
    size_t bytes;
    unsigned char *data = files_read("one/" NAME, &bytes), *more;

    (void) state;
    more = calloc(1, bytes + 8);
    memcpy(more, data, bytes);
    files_write("one/" NAME, more, bytes + 8);
    assert_int_equal(check(files_path("one"), &err), -1);
    unlink(files_path("one/" NAME));
    assert_int_equal(check(files_path("one"), &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    assert_non_null(strstr(err.text, NAME ": No such file"));
    files_write("one/" NAME, data, bytes);
    files_write("one/manifest.json.kept", NULL, 0);
    assert_int_equal(check(files_path("one"), &err), 0);
    free(more);
    free(data);
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
    assert_int_equal(check(files_path("one"), &err), -1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "manifest.json: Too many open files"));
    /* Nobody can read where a process has no memory. */
    mkdir(files_path("bad"), 0777);
    assert_int_equal(symlink("/proc/self/mem", files_path("bad/manifest.json")),
                     0);
    assert_int_equal(check(files_path("bad"), &err), -1);
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
    struct mtlm_manifest_tensor t = tensor("w", 2, 3, 0);
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
    static const char *const names[] = {NAME, "manifest.json"};

    (void) state;
    for (int i = 0; i < 2; i++) {
        char path[64];
        struct mtlm_error err;
        size_t bytes;
        unsigned char *data;

        snprintf(path, sizeof(path), "one/%s", names[i]);
        data = files_read(path, &bytes);
        if (truncate(files_path(path), INT64_C(1) << 40) == 0) {
            assert_int_equal(check(files_path("one"), &err), -1);
            assert_int_equal(err.code, MTLM_EXIT_INPUT);
            assert_non_null(strstr(err.text, names[i]));
        }
        files_write(path, data, bytes);
        free(data);
    }
    assert_int_equal(check(files_path("one"), NULL), 0);
}

static void test_names_that_lead_elsewhere_are_refused(void **state)
{
    (void) state;
    refused_manifest("../x", "cannot be", MTLM_EXIT_INPUT);
    refused_manifest("/etc/passwd", "cannot be", MTLM_EXIT_INPUT);
    refused_manifest("..", "cannot be", MTLM_EXIT_INPUT);
    refused_manifest("", "cannot be", MTLM_EXIT_INPUT);
}

/* As a later version would write it. */
static void test_newer_versions_are_refused(void **state)
{
    size_t bytes;
    char *text = (char *) files_read("one/manifest.json", &bytes), *at,
         hash[17];
    struct mtlm_manifest m;
    struct mtlm_error err;

    (void) state;
    at = strstr(text, "\"version\": 1,");
    assert_non_null(at);
    at[11] = '7';
    mkdir(files_path("newer"), 0777);
    memset(text + bytes - 20, '0', 16);
    snprintf(hash, sizeof(hash), "%016llx",
             (unsigned long long) XXH3_64bits(text, bytes));
    memcpy(text + bytes - 20, hash, 16);
    files_write("newer/manifest.json", text, bytes);
    assert_int_equal(mtlm_manifest_read(&m, files_path("newer"), &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_USAGE);
    assert_non_null(strstr(err.text, "version 7, this program reads versions "
                                     "up to 1"));
    free(text);
}

/* ---- the directory ---- */

static const struct mtlm_checkpoint_list none;

static int newest(const char *dir)
{
    struct mtlm_checkpoint_id id = {-1, 0};

    return mtlm_checkpoint_newest(dir, NULL, &id, NULL) == 1
               ? (int) (id.iteration * 10 + id.again)
               : -1;
}

static void save(const char *dir, int64_t iteration)
{
    struct mtlm_error err;
    char *path = mtlm_checkpoint_temporary(dir, iteration);

    assert_int_equal(mtlm_checkpoint_begin(dir, iteration, &err), 0);
    assert_int_equal(write_checkpoint(path, iteration, &err), 0);
    assert_int_equal(mtlm_checkpoint_commit(dir, iteration, &err), 0);
    free(path);
}

static void test_the_newest_is_found(void **state)
{
    const char *dir = files_path("all");
    const struct mtlm_checkpoint_id before = {30, 0};
    struct mtlm_checkpoint_id id;
    int lock = -1;

    (void) state;
    assert_int_equal(mtlm_checkpoint_newest(dir, NULL, &id, NULL), 0);
    mkdir(dir, 0777);
    assert_int_equal(mtlm_checkpoint_lock(dir, &lock, NULL), 0);
    assert_int_equal(newest(dir), -1);
    save(dir, 9);
    save(dir, 10);
    save(dir, 30);
    assert_int_equal(newest(dir), 300);
    assert_int_equal(mtlm_checkpoint_newest(dir, &before, &id, NULL), 1);
    assert_int_equal(id.iteration, 10);
    /* Once more: the new one is there before the old one goes. */
    save(dir, 30);
    assert_int_equal(newest(dir), 301);
    assert_int_equal(access(files_path("all/iter_0000030"), F_OK), -1);
    save(dir, 30);
    assert_int_equal(newest(dir), 302);
    close(lock);
}

static void test_what_is_begun_is_none(void **state)
{
    const char *dir = files_path("all");
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_checkpoint_begin(dir, 40, &err), 0);
    assert_int_equal(newest(dir), 302);
    /* Left behind by a killed job: in nobody's way. */
    files_write("all/iter_0000040.tmp/left", "x", 1);
    assert_int_equal(mtlm_checkpoint_begin(dir, 40, &err), 0);
    assert_int_equal(access(files_path("all/iter_0000040.tmp/left"), F_OK), -1);
    mtlm_checkpoint_discard(dir, -1);
    assert_int_equal(access(files_path("all/iter_0000040.tmp"), F_OK), -1);
    assert_int_equal(newest(dir), 302);
}

/* A link to a checkpoint that someone keeps elsewhere: only the link goes. */
static void test_links_are_not_followed(void **state)
{
    char *dir = strdup(files_path("links"));

    (void) state;
    mkdir(dir, 0777);
    mkdir(files_path("kept"), 0777);
    files_write("kept/precious", "x", 1);
    assert_int_equal(symlink("../kept", files_path("links/iter_0000001")), 0);
    assert_int_equal(symlink("../kept", files_path("links/iter_0000002.tmp")),
                     0);
    assert_int_equal(symlink("../kept", files_path("links/iter_0000003.tmp")),
                     0);
    assert_int_equal(symlink("../kept", files_path("links/iter_0000004")), 0);
    mtlm_checkpoint_prune(dir, 1, 0, &none);
    mtlm_checkpoint_discard(dir, 2);
    mtlm_checkpoint_discard(dir, -1);
    save(dir, 4); /* again, in place of the link */
    assert_int_equal(access(files_path("links/iter_0000001"), F_OK), -1);
    assert_int_equal(access(files_path("links/iter_0000001.tmp"), F_OK), -1);
    assert_int_equal(access(files_path("links/iter_0000002.tmp"), F_OK), -1);
    assert_int_equal(access(files_path("links/iter_0000003.tmp"), F_OK), -1);
    assert_int_equal(access(files_path("links/iter_0000004"), F_OK), -1);
    assert_int_equal(access(files_path("kept/precious"), F_OK), 0);
    free(dir);
}

static void test_old_ones_go(void **state)
{
    const char *dir = files_path("all");
    struct mtlm_checkpoint_id id, older;

    (void) state;
    /* Later ones are damaged: what the job fell back to is not given for
     * them. */
    mtlm_checkpoint_prune(dir, 10, 2, &none);
    assert_int_equal(newest(dir), 302);
    assert_int_equal(access(files_path("all/iter_0000009"), F_OK), 0);
    mtlm_checkpoint_prune(dir, 30, 2, &none);
    assert_int_equal(mtlm_checkpoint_newest(dir, NULL, &id, NULL), 1);
    assert_int_equal(id.iteration, 30);
    assert_int_equal(mtlm_checkpoint_newest(dir, &id, &older, NULL), 1);
    assert_int_equal(older.iteration, 10);
    assert_int_equal(mtlm_checkpoint_newest(dir, &older, &id, NULL), 0);
}

/* The names of those in dir, "9 10 30". */
static const char *all_of(const char *dir)
{
    static char text[128];
    struct mtlm_checkpoint_id before, id;
    char more[128];

    *text = '\0';
    for (int n = 0;
         mtlm_checkpoint_newest(dir, n ? &before : NULL, &id, NULL) > 0; n++) {
        snprintf(more, sizeof(more), "%d%s%.99s", (int) id.iteration,
                 *text ? " " : "", text);
        strcpy(text, more);
        before = id;
    }
    return text;
}

/* What cannot be gone back to is not what is kept: of 10 a file is shorter, 20
 * is known not to be what was written; 30, of a newer program, is for others to
 * keep. */
static void test_damaged_ones_are_not_kept(void **state)
{
    char *dir = strdup(files_path("rot"));
    struct mtlm_checkpoint_id id = {20, 0};
    const struct mtlm_checkpoint_list known = {&id, 1};
    size_t bytes;
    unsigned char *data;

    (void) state;
    mkdir(dir, 0777);
    for (int i = 5; i <= 50; i += 5)
        save(dir, i);
    data = files_read("rot/iter_0000010/" NAME, &bytes);
    files_write("rot/iter_0000010/" NAME, data, bytes - 1);
    free(data);
    data = files_read("newer/manifest.json", &bytes);
    files_write("rot/iter_0000030/manifest.json", data, bytes);
    free(data);
    files_write("rot/iter_0000050/manifest.json", "{}", 2);
    mtlm_checkpoint_prune(dir, 25, 5, &known); /* there are 5 15 25 */
    assert_string_equal(all_of(dir), "5 10 15 20 25 30 35 40 45 50");
    mtlm_checkpoint_prune(dir, 25, 2, &known);
    assert_string_equal(all_of(dir), "15 25 30 35 40 45 50");
    mtlm_checkpoint_prune(dir, 35, 2, &known);
    assert_string_equal(all_of(dir), "25 30 35 40 45 50");
    free(dir);
}

/* A disk that fails now may be well again: neither removed nor one of those for
 * which others may go.  A name that is too long stands for all that keeps the
 * system from looking. */
static void test_what_cannot_be_looked_at_stays(void **state)
{
    char *dir = strdup(files_path("ill")), name[300];

    (void) state;
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    mkdir(dir, 0777);
    for (int i = 10; i <= 50; i += 10)
        save(dir, i);
    unlink(files_path("ill/iter_0000020/manifest.json"));
    assert_int_equal(
        symlink("/proc/self/mem", files_path("ill/iter_0000020/manifest.json")),
        0);
    unlink(files_path("ill/iter_0000030/" NAME));
    assert_int_equal(symlink(name, files_path("ill/iter_0000030/" NAME)), 0);
    mtlm_checkpoint_prune(dir, 40, 2, &none);
    assert_string_equal(all_of(dir), "10 20 30 40 50");
    mtlm_checkpoint_prune(dir, 50, 2, &none);
    assert_string_equal(all_of(dir), "20 30 40 50");
    free(dir);
}

/* 10 under another number is not what the job goes back to. */
static void test_renamed_ones_are_not_kept(void **state)
{
    char *dir = strdup(files_path("renamed"));
    char *from = strdup(files_path("renamed/iter_0000010"));

    (void) state;
    mkdir(dir, 0777);
    for (int i = 10; i <= 30; i += 10)
        save(dir, i);
    assert_int_equal(rename(from, files_path("renamed/iter_0000025")), 0);
    mtlm_checkpoint_prune(dir, 30, 2, &none);
    assert_string_equal(all_of(dir), "20 30");
    free(from);
    free(dir);
}

static void test_two_jobs_are_one_too_many(void **state)
{
    const char *dir = files_path("all");
    struct mtlm_error err;
    int first, second;

    (void) state;
    unlink(files_path("all/lock"));
    assert_int_equal(mtlm_checkpoint_shared(dir, &err), -1);
    assert_non_null(strstr(err.text, "one directory for all ranks"));
    assert_int_equal(mtlm_checkpoint_lock(dir, &first, &err), 0);
    assert_int_equal(mtlm_checkpoint_shared(dir, &err), 0);
    assert_int_equal(mtlm_checkpoint_lock(dir, &second, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "another job"));
    close(first);
    assert_int_equal(mtlm_checkpoint_lock(dir, &second, &err), 0);
    close(second);
}

static void test_space_is_measured(void **state)
{
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_checkpoint_space(files_path("all"), 1, &err), 0);
    assert_int_equal(mtlm_checkpoint_space(files_path("all"), INT64_MAX, &err),
                     -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "are free"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_every_truncation_and_every_flipped_bit_is_found),
        cmocka_unit_test(test_exchanged_files_are_found),
        cmocka_unit_test(test_what_cannot_be_read_is_not_damaged),
        cmocka_unit_test(test_huge_files_are_found_at_once),
        cmocka_unit_test(test_names_that_lead_elsewhere_are_refused),
        cmocka_unit_test(test_newer_versions_are_refused),
        cmocka_unit_test(test_the_newest_is_found),
        cmocka_unit_test(test_what_is_begun_is_none),
        cmocka_unit_test(test_links_are_not_followed),
        cmocka_unit_test(test_old_ones_go),
        cmocka_unit_test(test_damaged_ones_are_not_kept),
        cmocka_unit_test(test_what_cannot_be_looked_at_stays),
        cmocka_unit_test(test_renamed_ones_are_not_kept),
        cmocka_unit_test(test_two_jobs_are_one_too_many),
        cmocka_unit_test(test_space_is_measured),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
