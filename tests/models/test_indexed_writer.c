/* The writer: both files appear together, or nothing does. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/text/indexed_dataset.h"
#include "models/text/indexed_writer.h"
#include "tests/file_limit.h"
#include "tests/models/files.h"
#include "tests/override_modes.h"

/* Byte for byte what the layout in Megatron's source says. */
static void test_the_index_is_megatrons(void **state)
{
    static const unsigned char want[] = "MMIDIDX\0\0"
                                        "\1\0\0\0\0\0\0\0"
                                        "\x8"
                                        "\2\0\0\0\0\0\0\0"
                                        "\3\0\0\0\0\0\0\0"
                                        "\2\0\0\0"
                                        "\1\0\0\0"
                                        "\0\0\0\0\0\0\0\0"
                                        "\4\0\0\0\0\0\0\0"
                                        "\0\0\0\0\0\0\0\0"
                                        "\1\0\0\0\0\0\0\0"
                                        "\2\0\0\0\0\0\0";
    static const int64_t length[] = {2, 1};
    unsigned char *data;
    size_t bytes;

    (void) state;
    files_write_numbered("layout", length, 2, 257);
    data = files_read("layout.idx", &bytes);
    assert_int_equal(bytes, sizeof(want));
    assert_memory_equal(data, want, bytes);
    free(data);
    data = files_read("layout.bin", &bytes);
    assert_int_equal(bytes, 6);
    assert_memory_equal(data, "\0\0\1\0\2\0", 6);
    free(data);
}

/* Adds n tokens as one document to a new "out". */
static struct mtlm_indexed_writer *begin(int64_t n, struct mtlm_error *err)
{
    struct mtlm_indexed_writer *writer =
        mtlm_indexed_writer_create(files_path("out"), 70000, err);
    const int32_t token = 69999;

    for (int64_t i = 0; writer && i < n; i++)
        mtlm_indexed_writer_add(writer, &token, 1, err);
    if (writer)
        mtlm_indexed_writer_end_document(writer);
    return writer;
}

/* Writes a pair of one document of three tokens. */
static void write_old(const char *name)
{
    static const int64_t length[] = {3};

    files_write_numbered(name, length, 1, 70000);
}

/* The pair reads as one document of so many tokens. */
static void assert_tokens(const char *name, int64_t tokens)
{
    struct mtlm_indexed_dataset *set =
        mtlm_indexed_dataset_open(files_path(name), 0, NULL);

    assert_non_null(set);
    assert_int_equal(mtlm_indexed_dataset_tokens(set, 0, 1), tokens);
    mtlm_indexed_dataset_close(set);
}

/* Documents of 2 + 1, 3 and 0 tokens, and one whose only sequence was ended
 * by hand: as many sequences and no more. */
static void test_documents_may_have_several_sequences(void **state)
{
    static const int64_t first[] = {0, 2, 3, 4, 5}, length[] = {2, 1, 3, 0, 1};
    static const int32_t token[] = {1, 2, 3};
    struct mtlm_indexed_writer *writer =
        mtlm_indexed_writer_create(files_path("several"), 257, NULL);
    struct mtlm_indexed_dataset *set;

    (void) state;
    mtlm_indexed_writer_add(writer, token, 2, NULL);
    mtlm_indexed_writer_end_sequence(writer);
    assert_int_equal(mtlm_indexed_writer_pending(writer), 2);
    mtlm_indexed_writer_add(writer, token, 1, NULL);
    assert_int_equal(mtlm_indexed_writer_pending(writer), 3);
    mtlm_indexed_writer_end_document(writer);
    mtlm_indexed_writer_add(writer, token, 3, NULL);
    mtlm_indexed_writer_end_document(writer);
    mtlm_indexed_writer_end_document(writer);
    mtlm_indexed_writer_add(writer, token, 1, NULL);
    mtlm_indexed_writer_end_sequence(writer);
    mtlm_indexed_writer_end_document(writer);
    assert_int_equal(mtlm_indexed_writer_sequences(writer), 5);
    assert_int_equal(mtlm_indexed_writer_documents(writer), 4);
    assert_int_equal(mtlm_indexed_writer_commit(writer, NULL), 0);
    mtlm_indexed_writer_destroy(writer);
    set = mtlm_indexed_dataset_open(files_path("several"), 257, NULL);
    assert_non_null(set);
    for (int d = 0; d <= 4; d++)
        assert_int_equal(mtlm_indexed_dataset_sequence(set, d), first[d]);
    for (int i = 0; i < 5; i++)
        assert_int_equal(mtlm_indexed_dataset_sequence_tokens(set, i, i + 1),
                         length[i]);
    mtlm_indexed_dataset_close(set);
}

static void test_nothing_appears_before_commit(void **state)
{
    const int before = files_count();
    struct mtlm_indexed_writer *writer = begin(10, NULL);

    (void) state;
    assert_int_equal(mtlm_indexed_writer_documents(writer), 1);
    assert_int_equal(access(files_path("out.bin"), F_OK), -1);
    assert_int_equal(access(files_path("out.idx"), F_OK), -1);
    mtlm_indexed_writer_destroy(writer);
    mtlm_indexed_writer_destroy(NULL);
    assert_int_equal(files_count(), before);
}

/* What the file size limit refuses at the end, since all is buffered. */
static void commit_beyond_limit(rlim_t limit)
{
    struct mtlm_error err = {0};
    struct mtlm_indexed_writer *writer = begin(5000, NULL);

    assert_non_null(writer);
    file_limit(limit);
    assert_int_equal(mtlm_indexed_writer_commit(writer, &err), -1);
    file_limit(RLIM_INFINITY);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "File too large"));
    mtlm_indexed_writer_destroy(writer);
}

static void test_a_failed_write_leaves_nothing(void **state)
{
    const int before = files_count();

    (void) state;
    commit_beyond_limit(4096); /* not the .bin */
    commit_beyond_limit(0);    /* neither */
    assert_int_equal(files_count(), before);
}

static void test_a_failed_write_leaves_the_old_pair(void **state)
{
    (void) state;
    write_old("out");
    commit_beyond_limit(4096);
    assert_tokens("out", 3);
}

static int stop(struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_INTERRUPTED, "stopped");
}

static void test_a_stopped_commit_leaves_the_old_pair(void **state)
{
    struct mtlm_error err = {0};
    struct mtlm_indexed_writer *writer;
    int before;

    (void) state;
    write_old("out");
    before = files_count();
    writer = begin(20, NULL);
    mtlm_indexed_writer_stop(writer, stop);
    assert_int_equal(mtlm_indexed_writer_commit(writer, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_INTERRUPTED);
    mtlm_indexed_writer_destroy(writer);
    assert_tokens("out", 3);
    assert_int_equal(files_count(), before);
}

static void test_a_new_pair_replaces_the_old(void **state)
{
    struct mtlm_indexed_writer *writer;
    struct mtlm_indexed_dataset *old;
    int before;
    int32_t token;

    (void) state;
    write_old("out");
    before = files_count();
    old = mtlm_indexed_dataset_open(files_path("out"), 0, NULL);
    writer = begin(20, NULL);
    assert_int_equal(mtlm_indexed_writer_commit(writer, NULL), 0);
    mtlm_indexed_writer_destroy(writer);
    assert_tokens("out", 20);
    /* Who has the old one open reads on. */
    mtlm_indexed_dataset_read(old, 0, 2, 1, &token);
    assert_int_equal(token, 2);
    mtlm_indexed_dataset_close(old);
    assert_int_equal(files_count(), before);
}

/* The system refuses renames first_refused .. last_refused, counted from 1. */
static int renames, first_refused, last_refused;

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

int __wrap_rename(const char *from, const char *to)
{
    renames++;
    if (renames < first_refused || renames > last_refused)
        return __real_rename(from, to);
    errno = EACCES;
    return -1;
}

/* A commit renames the old .idx, the old .bin, the new .bin and the new .idx,
 * in this order. */
static void refuse_renames(int first, int last, struct mtlm_error *err)
{
    struct mtlm_indexed_writer *writer = begin(20, NULL);

    renames = 0;
    first_refused = first;
    last_refused = last;
    assert_int_equal(mtlm_indexed_writer_commit(writer, err), -1);
    last_refused = 0;
    mtlm_indexed_writer_destroy(writer);
    assert_int_equal(err->code, MTLM_EXIT_IO);
    assert_non_null(strstr(err->text, ": Permission denied"));
}

static void test_a_refused_rename_leaves_the_old_pair(void **state)
{
    struct mtlm_error err = {0};
    int before;

    (void) state;
    write_old("out");
    before = files_count();
    for (int n = 1; n <= 4; n++) {
        refuse_renames(n, n, &err);
        assert_null(strstr(err.text, "the old"));
        assert_tokens("out", 3);
        assert_int_equal(files_count(), before);
    }
}

static void test_old_files_that_cannot_return_are_named(void **state)
{
    struct mtlm_error err = {0};

    (void) state;
    write_old("out");
    for (int n = 3; n <= 4; n++) {
        refuse_renames(n, INT_MAX, &err);
        assert_non_null(
            strstr(err.text, "/out.bin.old.0; the old file is now "));
        assert_non_null(strstr(err.text, "/out.idx.old.0"));
        assert_null(mtlm_indexed_dataset_open(files_path("out"), 0, NULL));
        /* Under these names the pair is whole. */
        assert_int_equal(
            rename(files_path("out.bin.old.0"), files_path("out.bin")), 0);
        assert_int_equal(
            rename(files_path("out.idx.old.0"), files_path("out.idx")), 0);
        assert_tokens("out", 3);
    }
}

/* A process that died may have left the user's data. */
static void test_other_old_files_stay(void **state)
{
    struct mtlm_indexed_writer *writer;
    size_t bytes;
    char *kept;

    (void) state;
    write_old("out");
    files_write("out.bin.old.0", "kept", 4);
    writer = begin(20, NULL);
    assert_int_equal(mtlm_indexed_writer_commit(writer, NULL), 0);
    mtlm_indexed_writer_destroy(writer);
    assert_tokens("out", 20);
    assert_int_equal(access(files_path("out.bin.old.1"), F_OK), -1);
    kept = (char *) files_read("out.bin.old.0", &bytes);
    assert_non_null(kept);
    assert_int_equal(bytes, 4);
    assert_memory_equal(kept, "kept", 4);
    free(kept);
    unlink(files_path("out.bin.old.0"));
}

static void test_linked_files_are_replaced_where_they_are(void **state)
{
    static const char *const name[] = {"out.bin", "out.idx"};
    struct mtlm_indexed_writer *writer;
    struct stat st;

    (void) state;
    write_old("there");
    for (int i = 0; i < 2; i++) {
        unlink(files_path(name[i]));
        assert_int_equal(
            symlink(i ? "there.idx" : "there.bin", files_path(name[i])), 0);
    }
    for (int whole = 0; whole < 2; whole++) {
        writer = begin(20, NULL);
        if (whole)
            assert_int_equal(mtlm_indexed_writer_commit(writer, NULL), 0);
        mtlm_indexed_writer_destroy(writer);
        assert_tokens("there", whole ? 20 : 3);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lstat(files_path(name[i]), &st), 0);
        assert_true(S_ISLNK(st.st_mode));
    }
}

/* A .bin in a directory that refuses new files, whose .idx could be replaced.
 * Written in place, it would be half a .bin under the old .idx. */
static void test_a_linked_file_is_not_written_in_place(void **state)
{
    struct mtlm_error err = {0};
    struct mtlm_indexed_writer *writer;
    int before;

    (void) state;
    write_old("linked");
    assert_int_equal(mkdir(files_path("closed"), 0700), 0);
    assert_int_equal(
        rename(files_path("linked.bin"), files_path("closed/there")), 0);
    assert_int_equal(symlink("closed/there", files_path("linked.bin")), 0);
    before = files_count();
    assert_int_equal(chmod(files_path("closed"), 0500), 0);
    assert_true(override_modes(false));
    writer = mtlm_indexed_writer_create(files_path("linked"), 70000, &err);
    assert_true(override_modes(true));
    assert_int_equal(chmod(files_path("closed"), 0700), 0);
    mtlm_indexed_writer_destroy(writer);
    assert_null(writer);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "/linked.bin: Permission denied"));
    assert_tokens("linked", 3);
    assert_int_equal(files_count(), before);
}

static void test_a_directory_in_the_way_is_reported(void **state)
{
    struct mtlm_error err = {0};
    struct mtlm_indexed_writer *writer;
    int before;

    (void) state;
    unlink(files_path("out.bin"));
    unlink(files_path("out.idx"));
    assert_int_equal(mkdir(files_path("out.idx"), 0700), 0);
    before = files_count();
    writer = begin(20, NULL);
    assert_int_equal(mtlm_indexed_writer_commit(writer, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "out.idx"));
    mtlm_indexed_writer_destroy(writer);
    assert_int_equal(files_count(), before);
    assert_int_equal(rmdir(files_path("out.idx")), 0);
}

static void test_no_directory_is_reported(void **state)
{
    struct mtlm_error err = {0};

    (void) state;
    assert_null(mtlm_indexed_writer_create(files_path("missing/x"), 257, &err));
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "missing/x.bin: No such file"));
}

static void test_the_files_have_the_usual_permissions(void **state)
{
    struct mtlm_indexed_writer *writer;
    const mode_t mask = umask(027);
    struct stat st;

    (void) state;
    writer = begin(1, NULL);
    assert_int_equal(mtlm_indexed_writer_commit(writer, NULL), 0);
    mtlm_indexed_writer_destroy(writer);
    umask(mask);
    assert_int_equal(stat(files_path("out.bin"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_index_is_megatrons),
        cmocka_unit_test(test_documents_may_have_several_sequences),
        cmocka_unit_test(test_nothing_appears_before_commit),
        cmocka_unit_test(test_a_failed_write_leaves_nothing),
        cmocka_unit_test(test_a_failed_write_leaves_the_old_pair),
        cmocka_unit_test(test_a_stopped_commit_leaves_the_old_pair),
        cmocka_unit_test(test_a_new_pair_replaces_the_old),
        cmocka_unit_test(test_a_refused_rename_leaves_the_old_pair),
        cmocka_unit_test(test_old_files_that_cannot_return_are_named),
        cmocka_unit_test(test_other_old_files_stay),
        cmocka_unit_test(test_linked_files_are_replaced_where_they_are),
        cmocka_unit_test(test_a_linked_file_is_not_written_in_place),
        cmocka_unit_test(test_a_directory_in_the_way_is_reported),
        cmocka_unit_test(test_no_directory_is_reported),
        cmocka_unit_test(test_the_files_have_the_usual_permissions),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
