/* .bin and .idx that are damaged, or hold no tokens of the model, are refused.
 */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/text/indexed_dataset.h"
#include "tests/models/files.h"
#include "tests/models/indexed_image.h"

static struct mtlm_indexed_dataset *open_set(const char *name,
                                             int64_t vocab_size,
                                             struct mtlm_error *err)
{
    return mtlm_indexed_dataset_open(files_path(name), vocab_size, err);
}

static void refused(const char *name, int64_t vocab_size, const char *why)
{
    struct mtlm_error err = {0};

    assert_null(open_set(name, vocab_size, &err));
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void test_floats_and_unknown_types_are_refused(void **state)
{
    static const int codes[] = {6, 7, 0, 9, 255};
    static const char zeros[64];

    (void) state;
    files_write("float.bin", zeros, 48);
    for (int i = 0; i < 5; i++) {
        const struct indexed_image idx = indexed_image_small(codes[i], 8);

        indexed_image_write("float.idx", &idx);
        refused("float", 0, "float.idx: offset 17: type of the tokens");
    }
}

static void test_modes_at_the_end_are_passed_over(void **state)
{
    struct indexed_image idx = indexed_image_small(8, 2);
    static const char zeros[12];

    (void) state;
    indexed_image_put(&idx, "\0\0\0", 3);
    indexed_image_write("modes.idx", &idx);
    files_write("modes.bin", zeros, 12);
    mtlm_indexed_dataset_close(open_set("modes", 0, NULL));
    indexed_image_put(&idx, "", 1);
    indexed_image_write("modes.idx", &idx);
    refused("modes", 0, "modes.idx: offset 18");
}

/* One change of 8 bytes at an offset, and what is said of it. */
static void test_each_field_is_checked(void **state)
{
    static const struct {
        int offset, bytes;
        int64_t value;
        const char *why;
    } cases[] = {
        {0, 1, 'm', "offset 0: magic"},
        {9, 8, 2, "offset 9: version, expected 1, found 2"},
        {18, 8, 0, "offset 18"},
        {18, 8, 4, "offset 18: 4 sequences"},
        {18, 8, INT64_MAX, "offset 18"},
        {18, 8, (INT64_C(1) << 62) + 3, "offset 18"}, /* 12 n wraps to 36 */
        {26, 8, (INT64_C(1) << 61) + 4, "offset 18"}, /* 8 n wraps to 32 */
        {34, 4, -1, "offset 34: length of sequence 0"},
        {34, 4, 7, "offset 34: length of sequence 0"},
        {34, 4, INT32_MAX, "offset 34: length of sequence 0"},
        {38, 4, 2, "offset 62: byte where a sequence begins, expected 10"},
        {46, 8, 2, "offset 46: byte where a sequence begins, expected 0"},
        {54, 8, -6, "offset 54"},
        {54, 8, INT64_MAX, "offset 54"},
        {70, 8, 1, "offset 70: first document bound, expected 0, found 1"},
        {78, 8, 4, "offset 78: document bound 1, expected 0 .. 3, found 4"},
        {78, 8, -1, "offset 78: document bound 1"},
        {86, 8, 1, "offset 86: document bound 2, expected 2 .. 3, found 1"},
        {94, 8, 2, "offset 94: last document bound, expected 3, found 2"},
    };
    static const char zeros[12];

    (void) state;
    files_write("field.bin", zeros, 12);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct indexed_image idx = indexed_image_small(8, 2);

        memcpy(idx.data + cases[i].offset, &cases[i].value, cases[i].bytes);
        indexed_image_write("field.idx", &idx);
        refused("field", 0, cases[i].why);
    }
}

static void test_every_truncation_is_refused(void **state)
{
    const struct indexed_image idx = indexed_image_small(8, 2);
    static const char zeros[13];

    (void) state;
    for (size_t n = 0; n < idx.bytes; n++) {
        files_write("short.idx", idx.data, n);
        files_write("short.bin", zeros, 12);
        refused("short", 0, "short.idx: offset");
    }
    indexed_image_write("short.idx", &idx);
    for (size_t n = 0; n < 12; n++) {
        files_write("short.bin", zeros, n);
        refused("short", 0, "short.bin");
    }
    files_write("short.bin", zeros, 13);
    refused("short", 0, "short.bin: offset 12: end of the file");
}

/* What can be read of a damaged .idx that is not refused lies inside the .bin:
 * 2048 tokens, a page exactly, so that a read beyond would be seen. */
static bool read_damaged(void)
{
    struct mtlm_indexed_dataset *set = open_set("damage", 2048, NULL);
    int32_t tokens[2048];
    int64_t documents;

    if (!set)
        return false;
    documents = mtlm_indexed_dataset_documents(set);
    assert_int_equal(mtlm_indexed_dataset_tokens(set, 0, documents), 2048);
    for (int64_t d = 0; d < documents; d++)
        mtlm_indexed_dataset_read(
            set, d, 0, mtlm_indexed_dataset_tokens(set, d, d + 1), tokens);
    for (int64_t i = 0, n = mtlm_indexed_dataset_sequence(set, documents);
         i < n; i++)
        mtlm_indexed_dataset_sequence_read(
            set, i, 0, mtlm_indexed_dataset_sequence_tokens(set, i, n), tokens);
    mtlm_indexed_dataset_close(set);
    return true;
}

static void test_every_damaged_byte_is_refused_or_harmless(void **state)
{
    static const int64_t length[] = {1000, 0, 40, 1008};
    unsigned char *idx;
    size_t bytes;
    int opened = 0, fd;

    (void) state;
    files_write_numbered("damage", length, 4, 2048);
    idx = files_read("damage.idx", &bytes);
    fd = open(files_path("damage.idx"), O_WRONLY);
    for (size_t at = 0; at < bytes; at++) {
        for (int change = 1; change < 256; change++) {
            const unsigned char damaged = idx[at] ^ change;

            assert_int_equal(pwrite(fd, &damaged, 1, at), 1);
            opened += read_damaged();
        }
        assert_int_equal(pwrite(fd, &idx[at], 1, at), 1);
    }
    close(fd);
    /* u16 read as i16, and bounds moved over the empty sequence. */
    assert_in_range(opened, 1, 10);
    assert_true(read_damaged());
    free(idx);
}

/* An .idx of so many sequences of one token and so many document bounds. */
static void write_counts(int64_t sequences, int64_t bounds)
{
    struct indexed_image idx = {.bytes = 0};

    indexed_image_put(&idx, "MMIDIDX\0\0", 9);
    indexed_image_put_i64(&idx, 1);
    indexed_image_put(&idx, "\x08", 1);
    indexed_image_put_i64(&idx, sequences);
    indexed_image_put_i64(&idx, bounds);
    for (int64_t i = 0; i < sequences; i++)
        indexed_image_put(&idx, "\1\0\0\0", 4);
    for (int64_t i = 0; i < sequences; i++)
        indexed_image_put_i64(&idx, 2 * i);
    for (int64_t i = 0; i < bounds; i++)
        indexed_image_put_i64(&idx, i);
    indexed_image_write("counts.idx", &idx);
}

static void test_nothing_in_it_is_refused(void **state)
{
    static const char counts[] = "expected at least 1 sequence and 2 document "
                                 "bounds";

    (void) state;
    files_write_numbered("empty", (const int64_t[]){0, 0}, 2, 257);
    refused("empty", 0, "empty.bin: expected at least 1 token");
    files_write("counts.bin", "\0\0\0\0", 4);
    write_counts(2, 3);
    mtlm_indexed_dataset_close(open_set("counts", 0, NULL));
    write_counts(2, 1);
    refused("counts", 0, counts);
    write_counts(2, 0);
    refused("counts", 0, counts);
    write_counts(0, 1);
    refused("counts", 0, counts);
    write_counts(0, 2);
    refused("counts", 0, counts);
    write_counts(0, 0);
    refused("counts", 0, counts);
}

static void test_a_token_beyond_the_vocabulary_is_named(void **state)
{
    static int32_t tokens[6] = {1, 2, 3, 4, 5, 6};
    const struct indexed_image idx = indexed_image_small(4, 4);

    (void) state;
    indexed_image_write("token.idx", &idx);
    files_write("token.bin", tokens, sizeof(tokens));
    mtlm_indexed_dataset_close(open_set("token", 7, NULL));
    refused("token", 6,
            "token.bin: offset 20: token 5, expected 0 .. 5, "
            "found 6");
    tokens[3] = -2;
    files_write("token.bin", tokens, sizeof(tokens));
    refused("token", 0,
            "token.bin: offset 12: token 3, expected 0 .. "
            "2147483647, found -2");
}

static void test_a_token_far_into_the_file_is_found(void **state)
{
    static const int64_t length[] = {10000, 10000};

    (void) state;
    files_write_numbered("far", length, 2, 20000);
    mtlm_indexed_dataset_close(open_set("far", 20000, NULL));
    refused("far", 19999, "far.bin: offset 39998: token 19999");
    refused("far", 4097, "far.bin: offset 8194: token 4097");
}

static void test_a_wide_token_is_not_cut_off(void **state)
{
    static const int64_t tokens[6] = {0, 0, 0, INT64_C(1) << 32, 0, 0};
    const struct indexed_image idx = indexed_image_small(5, 8);

    (void) state;
    indexed_image_write("wide.idx", &idx);
    files_write("wide.bin", tokens, sizeof(tokens));
    refused("wide", 0,
            "offset 24: token 3, expected 0 .. 2147483647, found "
            "4294967296");
}

static void test_missing_files_are_both_named(void **state)
{
    struct mtlm_error err = {0};
    static const int64_t length[] = {3};

    (void) state;
    assert_null(open_set("nothing", 0, &err));
    assert_non_null(strstr(err.text, "nothing.idx"));
    assert_non_null(strstr(err.text, "nothing.bin"));
    assert_null(strstr(err.text, "did you mean"));
    files_write_numbered("half_text_document", length, 1, 10);
    refused("half", 0, "half_text_document?");
    files_write_numbered("sentences_text_sentence", length, 1, 10);
    refused("sentences", 0, "sentences_text_sentence?");
    assert_int_equal(unlink(files_path("half_text_document.bin")), 0);
    refused("half_text_document", 0, "no file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats_and_unknown_types_are_refused),
        cmocka_unit_test(test_modes_at_the_end_are_passed_over),
        cmocka_unit_test(test_each_field_is_checked),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_every_damaged_byte_is_refused_or_harmless),
        cmocka_unit_test(test_nothing_in_it_is_refused),
        cmocka_unit_test(test_a_token_beyond_the_vocabulary_is_named),
        cmocka_unit_test(test_a_token_far_into_the_file_is_found),
        cmocka_unit_test(test_a_wide_token_is_not_cut_off),
        cmocka_unit_test(test_missing_files_are_both_named),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
