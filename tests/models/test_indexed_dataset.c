/* .bin and .idx: what is written is read; prefixes are found, documents cut. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Every document, of numbered tokens, whole and in pieces. */
static void check_numbered(const struct mtlm_indexed_dataset *set,
                           const int64_t length[], int64_t documents)
{
    int32_t first = 0, *tokens = calloc(100000, sizeof(*tokens));

    assert_int_equal(mtlm_indexed_dataset_documents(set), documents);
    for (int64_t d = 0; d < documents; d++) {
        assert_int_equal(mtlm_indexed_dataset_tokens(set, d, d + 1), length[d]);
        mtlm_indexed_dataset_read(set, d, 0, length[d], tokens);
        for (int64_t i = 0; i < length[d]; i++)
            assert_int_equal(tokens[i], first + i);
        if (length[d] > 2) {
            mtlm_indexed_dataset_read(set, d, 1, length[d] - 2, tokens);
            assert_int_equal(tokens[0], first + 1);
        }
        first += length[d];
    }
    assert_int_equal(mtlm_indexed_dataset_tokens(set, 0, documents), first);
    free(tokens);
}

static void test_what_is_written_is_read(void **state)
{
    static const int64_t length[] = {5, 0, 1, 40000, 9000, 3};
    static const int64_t vocab[] = {65499, 65500, 1 << 20};

    (void) state;
    for (int i = 0; i < 3; i++) {
        struct mtlm_indexed_dataset *set;
        struct stat st;

        files_write_numbered("round", length, 6, vocab[i]);
        stat(files_path("round.bin"), &st);
        assert_int_equal(st.st_size, 49009 * (vocab[i] < 65500 ? 2 : 4));
        set = open_set("round", vocab[i], NULL);
        assert_non_null(set);
        check_numbered(set, length, 6);
        mtlm_indexed_dataset_close(set);
    }
    mtlm_indexed_dataset_close(NULL);
}

/* The tokens of all documents stay in their order. */
static void test_a_document_is_cut_at_a_token(void **state)
{
    static const int64_t length[] = {5, 0, 40, 3};
    static const int64_t cut[] = {5, 0, 10, 20, 7, 3, 3};
    struct mtlm_indexed_dataset *set;

    (void) state;
    files_write_numbered("cut", length, 4, 60);
    set = open_set("cut", 60, NULL);
    assert_int_equal(mtlm_indexed_dataset_cut(set, 0, false), 0);
    assert_int_equal(mtlm_indexed_dataset_cut(set, 15, false), 3);
    assert_int_equal(mtlm_indexed_dataset_cut(set, 35, false), 4);
    assert_int_equal(mtlm_indexed_dataset_cut(set, 42, false), 5);
    assert_int_equal(mtlm_indexed_dataset_cut(set, 45, false), 6);
    assert_int_equal(mtlm_indexed_dataset_cut(set, 48, false), 7);
    check_numbered(set, cut, 7);
    assert_int_equal(mtlm_indexed_dataset_sequence(set, 7), 7);
    mtlm_indexed_dataset_close(set);
}

static void test_a_cut_between_sentences_keeps_them_whole(void **state)
{
    static const int64_t length[] = {4, 6, 5, -1, 2, -1};
    struct mtlm_indexed_dataset *set;

    (void) state;
    files_write_sentences("cut", length, 2, 60);
    set = open_set("cut", 60, NULL);
    assert_int_equal(mtlm_indexed_dataset_cut(set, 12, true), 1);
    assert_int_equal(mtlm_indexed_dataset_cut(set, 15, true), 2);
    assert_int_equal(mtlm_indexed_dataset_documents(set), 3);
    assert_int_equal(mtlm_indexed_dataset_tokens(set, 0, 1), 10);
    assert_int_equal(mtlm_indexed_dataset_tokens(set, 1, 2), 5);
    assert_int_equal(mtlm_indexed_dataset_sequence(set, 2), 3);
    mtlm_indexed_dataset_close(set);
}

static void found(const char *name, bool sentences, const char *ending)
{
    char *prefix = mtlm_indexed_dataset_find(files_path(name), sentences);
    char want[256];

    snprintf(want, sizeof(want), "%s%s", files_path(name), ending);
    assert_non_null(prefix);
    assert_string_equal(prefix, want);
    free(prefix);
}

static void test_the_prefix_of_the_preprocessing_is_found(void **state)
{
    static const int64_t length[] = {5};

    (void) state;
    assert_null(mtlm_indexed_dataset_find(files_path("name"), false));
    files_write_numbered("name_text_document", length, 1, 60);
    found("name", false, "_text_document");
    assert_null(mtlm_indexed_dataset_find(files_path("name"), true));
    files_write_numbered("name_text_sentence", length, 1, 60);
    found("name", true, "_text_sentence");
    found("name", false, "_text_document");
    files_write_numbered("name", length, 1, 60);
    found("name", true, "");
}

static void test_every_integer_type_is_read(void **state)
{
    static const uint8_t u8[] = {0, 1, 2, 3, 4, 255};
    static const int8_t i8[] = {0, 1, 2, 3, 4, 127};
    static const int16_t i16[] = {0, 1, 2, 3, 4, 32767};
    static const int32_t i32[] = {0, 1, 2, 3, 4, INT32_MAX};
    static const int64_t i64[] = {0, 1, 2, 3, 4, INT32_MAX};
    static const uint16_t u16[] = {0, 1, 2, 3, 4, 65535};
    static const struct {
        int code, bytes;
        const void *data;
        int32_t largest;
    } types[] = {{1, 1, u8, 255},        {2, 1, i8, 127},
                 {3, 2, i16, 32767},     {4, 4, i32, INT32_MAX},
                 {5, 8, i64, INT32_MAX}, {8, 2, u16, 65535}};

    (void) state;
    for (int i = 0; i < 6; i++) {
        const struct indexed_image idx =
            indexed_image_small(types[i].code, types[i].bytes);
        struct mtlm_indexed_dataset *set;
        int32_t tokens[4];

        indexed_image_write("type.idx", &idx);
        files_write("type.bin", types[i].data, 6 * types[i].bytes);
        set = open_set("type", 0, NULL);
        assert_non_null(set);
        assert_int_equal(mtlm_indexed_dataset_documents(set), 3);
        assert_int_equal(mtlm_indexed_dataset_tokens(set, 1, 2), 0);
        mtlm_indexed_dataset_read(set, 0, 0, 4, tokens);
        for (int j = 0; j < 4; j++)
            assert_int_equal(tokens[j], j);
        mtlm_indexed_dataset_read(set, 2, 1, 1, tokens);
        assert_int_equal(tokens[0], types[i].largest);
        mtlm_indexed_dataset_close(set);
    }
}

static void test_sequences_are_told_apart_in_their_documents(void **state)
{
    static const int64_t first[] = {0, 2, 2, 3};
    const struct indexed_image idx = indexed_image_small(1, 1);
    struct mtlm_indexed_dataset *set;
    int32_t tokens[3];

    (void) state;
    indexed_image_write("sequences.idx", &idx);
    files_write("sequences.bin", "\0\1\2\3\4\5", 6);
    set = open_set("sequences", 0, NULL);
    assert_non_null(set);
    for (int d = 0; d <= 3; d++)
        assert_int_equal(mtlm_indexed_dataset_sequence(set, d), first[d]);
    assert_int_equal(mtlm_indexed_dataset_sequence_tokens(set, 0, 1), 3);
    assert_int_equal(mtlm_indexed_dataset_sequence_tokens(set, 1, 3), 3);
    assert_int_equal(mtlm_indexed_dataset_sequence_tokens(set, 3, 3), 0);
    mtlm_indexed_dataset_sequence_read(set, 1, 0, 3, tokens);
    for (int i = 0; i < 3; i++)
        assert_int_equal(tokens[i], 3 + i);
    mtlm_indexed_dataset_sequence_read(set, 0, 2, 1, tokens);
    assert_int_equal(tokens[0], 2);
    mtlm_indexed_dataset_close(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_a_document_is_cut_at_a_token),
        cmocka_unit_test(test_a_cut_between_sentences_keeps_them_whole),
        cmocka_unit_test(test_the_prefix_of_the_preprocessing_is_found),
        cmocka_unit_test(test_every_integer_type_is_read),
        cmocka_unit_test(test_sequences_are_told_apart_in_their_documents),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
