/* The directory of checkpoints: what was committed stays, whatever happens to
 * what comes after. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/weights/best_checkpoint.h"
#include "models/weights/checkpoint_dir.h"
#include "runtime/file/dir_lock.h"
#include "runtime/file/disk.h"
#include "tests/models/checkpoint_files.h"
#include "tests/models/files.h"

static const struct mtlm_checkpoint_list none;

static int newest(const char *dir)
{
    struct mtlm_checkpoint_id id = {-1, 0};

    return mtlm_checkpoint_dir_newest(dir, NULL, &id, NULL) == 1
               ? (int) (id.iteration * 10 + id.again)
               : -1;
}

static void save(const char *dir, int64_t iteration)
{
    struct mtlm_error err;
    char *path = mtlm_checkpoint_dir_temporary(dir, iteration);

    assert_int_equal(mtlm_checkpoint_dir_begin(dir, iteration, &err), 0);
    assert_int_equal(checkpoint_write(path, iteration, &err), 0);
    assert_int_equal(mtlm_checkpoint_dir_commit(dir, iteration, &err), 0);
    free(path);
}

static void test_the_newest_is_found(void **state)
{
    const char *dir = files_path("all");
    const struct mtlm_checkpoint_id before = {30, 0};
    struct mtlm_checkpoint_id id;
    int lock = -1;

    (void) state;
    assert_int_equal(mtlm_checkpoint_dir_newest(dir, NULL, &id, NULL), 0);
    mkdir(dir, 0777);
    assert_int_equal(mtlm_dir_lock_take(dir, &lock, NULL), 0);
    assert_int_equal(newest(dir), -1);
    save(dir, 9);
    save(dir, 10);
    save(dir, 30);
    assert_int_equal(newest(dir), 300);
    assert_int_equal(mtlm_checkpoint_dir_newest(dir, &before, &id, NULL), 1);
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
    assert_int_equal(mtlm_checkpoint_dir_begin(dir, 40, &err), 0);
    assert_int_equal(newest(dir), 302);
    /* Left behind by a killed job: in nobody's way. */
    files_write("all/iter_0000040.tmp/left", "x", 1);
    assert_int_equal(mtlm_checkpoint_dir_begin(dir, 40, &err), 0);
    assert_int_equal(access(files_path("all/iter_0000040.tmp/left"), F_OK), -1);
    mtlm_checkpoint_dir_discard(dir, -1);
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
    files_write("kept/manifest.json", "{}", 2); /* damaged, but ours */
    assert_int_equal(symlink("../kept", files_path("links/iter_0000001")), 0);
    assert_int_equal(symlink("../kept", files_path("links/iter_0000002.tmp")),
                     0);
    assert_int_equal(symlink("../kept", files_path("links/iter_0000003.tmp")),
                     0);
    assert_int_equal(symlink("../kept", files_path("links/iter_0000004")), 0);
    mtlm_checkpoint_dir_prune(dir, 1, 0, 0, &none);
    mtlm_checkpoint_dir_discard(dir, 2);
    mtlm_checkpoint_dir_discard(dir, -1);
    save(dir, 4); /* again, in place of the link */
    assert_int_equal(access(files_path("links/iter_0000001"), F_OK), -1);
    assert_int_equal(access(files_path("links/iter_0000001.tmp"), F_OK), -1);
    assert_int_equal(access(files_path("links/iter_0000002.tmp"), F_OK), -1);
    assert_int_equal(access(files_path("links/iter_0000003.tmp"), F_OK), -1);
    assert_int_equal(access(files_path("links/iter_0000004"), F_OK), -1);
    assert_int_equal(access(files_path("kept/precious"), F_OK), 0);
    free(dir);
}

/* What stands in the lock's place is named as what it is. */
static void test_a_lock_is_a_file(void **state)
{
    char *dir = strdup(files_path("locked"));
    char *path = strdup(files_path("locked/lock"));
    struct mtlm_error err;
    int lock = -1;

    (void) state;
    mkdir(dir, 0777);
    mkdir(path, 0777);
    assert_int_equal(mtlm_dir_lock_take(dir, &lock, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "/locked/lock: a directory stands in "));
    rmdir(path);
    assert_int_equal(symlink("lock", path), 0);
    assert_int_equal(mtlm_dir_lock_take(dir, &lock, &err), -1);
    assert_non_null(strstr(err.text, "/locked/lock: a symbolic link stands "));
    unlink(path);
    free(path);
    free(dir);
}

static void test_old_ones_go(void **state)
{
    const char *dir = files_path("all");
    struct mtlm_checkpoint_id id, older;

    (void) state;
    /* Later ones are damaged: what the job fell back to is not given for
     * them. */
    mtlm_checkpoint_dir_prune(dir, 10, 2, 0, &none);
    assert_int_equal(newest(dir), 302);
    assert_int_equal(access(files_path("all/iter_0000009"), F_OK), 0);
    mtlm_checkpoint_dir_prune(dir, 30, 2, 0, &none);
    assert_int_equal(mtlm_checkpoint_dir_newest(dir, NULL, &id, NULL), 1);
    assert_int_equal(id.iteration, 30);
    assert_int_equal(mtlm_checkpoint_dir_newest(dir, &id, &older, NULL), 1);
    assert_int_equal(older.iteration, 10);
    assert_int_equal(mtlm_checkpoint_dir_newest(dir, &older, &id, NULL), 0);
}

/* The names of those in dir, "9 10 30". */
static const char *all_of(const char *dir)
{
    static char text[128];
    struct mtlm_checkpoint_id before, id;
    char more[128];

    *text = '\0';
    for (int n = 0;
         mtlm_checkpoint_dir_newest(dir, n ? &before : NULL, &id, NULL) > 0;
         n++) {
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
    data = files_read("rot/iter_0000010/" CHECKPOINT_FILE, &bytes);
    files_write("rot/iter_0000010/" CHECKPOINT_FILE, data, bytes - 1);
    free(data);
    checkpoint_write_newer("rot/iter_0000030",
                           "rot/iter_0000030/manifest.json");
    files_write("rot/iter_0000050/manifest.json", "{}", 2);
    mtlm_checkpoint_dir_prune(dir, 25, 5, 0, &known); /* there are 5 15 25 */
    assert_string_equal(all_of(dir), "5 10 15 20 25 30 35 40 45 50");
    mtlm_checkpoint_dir_prune(dir, 25, 2, 0, &known);
    assert_string_equal(all_of(dir), "15 25 30 35 40 45 50");
    mtlm_checkpoint_dir_prune(dir, 35, 2, 0, &known);
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
    unlink(files_path("ill/iter_0000030/" CHECKPOINT_FILE));
    assert_int_equal(
        symlink(name, files_path("ill/iter_0000030/" CHECKPOINT_FILE)), 0);
    mtlm_checkpoint_dir_prune(dir, 40, 2, 0, &none);
    assert_string_equal(all_of(dir), "10 20 30 40 50");
    mtlm_checkpoint_dir_prune(dir, 50, 2, 0, &none);
    assert_string_equal(all_of(dir), "20 30 40 50");
    free(dir);
}

/* A copy that goes on, or a checkpoint of another program: not ours. */
static void test_what_has_no_manifest_stays(void **state)
{
    char *dir = strdup(files_path("other"));

    (void) state;
    mkdir(dir, 0777);
    for (int i = 10; i <= 40; i += 10)
        save(dir, i);
    mkdir(files_path("other/iter_0000015"), 0777);
    files_write("other/iter_0000015/rank.pt", "x", 1);
    mkdir(files_path("other/iter_0000050"), 0777);
    mtlm_checkpoint_dir_prune(dir, 40, 2, 0, &none);
    assert_string_equal(all_of(dir), "15 30 40 50");
    save(dir, 50);
    assert_int_equal(newest(dir), 501);
    assert_int_equal(access(files_path("other/iter_0000050"), F_OK), 0);
    free(dir);
}

/* The best one stays beside the newest ones, and is found; it is damaged like
 * others. */
static void test_the_best_one_stays(void **state)
{
    char *dir = strdup(files_path("good"));
    const struct mtlm_best_checkpoint best = {.iteration = 20,
                                              .epoch = 2,
                                              .scored = 30,
                                              .data = UINT64_MAX - 5,
                                              .score = (double[]){50, 62.5},
                                              .scores = 2};
    const char *const name[] = {"exact match", "F1"};
    struct mtlm_checkpoint_id id;
    struct mtlm_best_checkpoint read;
    struct mtlm_error err;

    (void) state;
    mkdir(dir, 0777);
    assert_int_equal(mtlm_best_checkpoint_read(&read, dir, &err), 0);
    assert_int_equal(mtlm_best_checkpoint_find(dir, &id, &err), -1);
    for (int i = 10; i <= 50; i += 10)
        save(dir, i);
    assert_int_equal(mtlm_best_checkpoint_write(&best, name, dir, &err), 0);
    assert_int_equal(mtlm_best_checkpoint_read(&read, dir, &err), 1);
    assert_int_equal(read.iteration, 20);
    assert_int_equal(read.epoch, 2);
    assert_int_equal(read.scored, 30);
    assert_true(read.data == UINT64_MAX - 5);
    assert_int_equal(read.scores, 2);
    assert_true(read.score[1] == 62.5);
    mtlm_best_checkpoint_free(&read);
    mtlm_checkpoint_dir_prune(dir, 50, 2, 20, &none);
    assert_string_equal(all_of(dir), "20 40 50");
    assert_int_equal(mtlm_best_checkpoint_find(dir, &id, &err), 0);
    assert_int_equal(id.iteration, 20);
    files_write("good/iter_0000020/manifest.json", "{}", 2);
    mtlm_checkpoint_dir_prune(dir, 50, 2, 20, &none);
    assert_string_equal(all_of(dir), "40 50");
    assert_int_equal(mtlm_best_checkpoint_find(dir, &id, &err), -1);
    files_write("good/best.json", "{\"iteration\": 1}", 16);
    assert_int_equal(mtlm_best_checkpoint_read(&read, dir, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
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
    mtlm_checkpoint_dir_prune(dir, 30, 2, 0, &none);
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
    assert_int_equal(mtlm_dir_lock_check(dir, &err), -1);
    assert_non_null(strstr(err.text, "one directory for all ranks"));
    assert_int_equal(mtlm_dir_lock_take(dir, &first, &err), 0);
    assert_int_equal(mtlm_dir_lock_check(dir, &err), 0);
    assert_int_equal(mtlm_dir_lock_take(dir, &second, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "another job"));
    close(first);
    assert_int_equal(mtlm_dir_lock_take(dir, &second, &err), 0);
    close(second);
}

static void remove_lock_once(void)
{
    mtlm_disk_on_call(NULL);
    mtlm_dir_lock_remove(files_path("all"));
}

/* A job whose start failed removes the lock that the next job has just opened:
 * a third one would make a new file, and hold its lock, too. */
static void test_a_removed_lock_is_made_again(void **state)
{
    char *dir = strdup(files_path("all"));
    struct mtlm_error err;
    int first, second;

    (void) state;
    mtlm_disk_on_call(remove_lock_once);
    assert_int_equal(mtlm_dir_lock_take(dir, &first, &err), 0);
    assert_int_equal(mtlm_dir_lock_check(dir, &err), 0);
    assert_int_equal(mtlm_dir_lock_take(dir, &second, &err), -1);
    close(first);
    free(dir);
}

static void test_space_is_measured(void **state)
{
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_checkpoint_dir_space(files_path("all"), 1, &err), 0);
    assert_int_equal(
        mtlm_checkpoint_dir_space(files_path("all"), INT64_MAX, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "are free"));
}

/* Others may free a little meanwhile. */
static void test_missing_space_is_seen_in_the_numbers(void **state)
{
    const char *numbers;
    struct statvfs at;
    struct mtlm_error err;
    double takes, free;
    int rc = 0;

    (void) state;
    for (int i = 0; i < 100 && rc == 0; i++) {
        assert_int_equal(statvfs(files_path("all"), &at), 0);
        rc = mtlm_checkpoint_dir_space(
            files_path("all"), (int64_t) (at.f_bavail * at.f_frsize) + 1, &err);
    }
    assert_int_equal(rc, -1);
    numbers = strstr(err.text, "takes");
    assert_non_null(numbers);
    assert_int_equal(
        sscanf(numbers, "takes %lf MB, but only %lf MB", &takes, &free), 2);
    assert_true(takes > free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_newest_is_found),
        cmocka_unit_test(test_what_is_begun_is_none),
        cmocka_unit_test(test_links_are_not_followed),
        cmocka_unit_test(test_a_lock_is_a_file),
        cmocka_unit_test(test_old_ones_go),
        cmocka_unit_test(test_damaged_ones_are_not_kept),
        cmocka_unit_test(test_what_cannot_be_looked_at_stays),
        cmocka_unit_test(test_what_has_no_manifest_stays),
        cmocka_unit_test(test_the_best_one_stays),
        cmocka_unit_test(test_renamed_ones_are_not_kept),
        cmocka_unit_test(test_two_jobs_are_one_too_many),
        cmocka_unit_test(test_a_removed_lock_is_made_again),
        cmocka_unit_test(test_space_is_measured),
        cmocka_unit_test(test_missing_space_is_seen_in_the_numbers),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
