/* safetensors: what is written is read, hostile files are refused. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/weights/safetensors.h"
#include "tests/models/files.h"

static void write_example(const char *name)
{
    static const float f32[6] = {1, 2, 3, 4, 5, 6};
    static const double f64[2] = {.5, -.25};
    static const int32_t i32[1] = {-7};
    struct mtlm_safetensors_writer *writer =
        mtlm_safetensors_writer_create(files_path(name));

    mtlm_safetensors_writer_metadata(writer, "format", "mtlm");
    mtlm_safetensors_writer_add(writer, "w.weight", MTLM_SAFETENSORS_F32, 2,
                                (const int64_t[]){2, 3}, f32);
    mtlm_safetensors_writer_add(writer, "b", MTLM_SAFETENSORS_F64, 1,
                                (const int64_t[]){2}, f64);
    mtlm_safetensors_writer_add(writer, "none", MTLM_SAFETENSORS_F64, 1,
                                (const int64_t[]){0}, NULL);
    mtlm_safetensors_writer_add(writer, "scalar", MTLM_SAFETENSORS_I32, 0, NULL,
                                i32);
    assert_int_equal(mtlm_safetensors_writer_commit(writer, NULL), 0);
    mtlm_safetensors_writer_destroy(writer);
}

static void test_what_is_written_is_read(void **state)
{
    const struct mtlm_safetensors_tensor *t;
    struct mtlm_safetensors *file;

    (void) state;
    write_example("a");
    file = mtlm_safetensors_open(files_path("a"), NULL);
    assert_non_null(file);
    assert_int_equal(mtlm_safetensors_count(file), 4);
    assert_string_equal(mtlm_safetensors_at(file, 0)->name, "b");
    assert_string_equal(mtlm_safetensors_at(file, 3)->name, "w.weight");
    assert_null(mtlm_safetensors_find(file, "c"));
    t = mtlm_safetensors_find(file, "w.weight");
    assert_int_equal(t->dtype, MTLM_SAFETENSORS_F32);
    assert_int_equal(t->rank, 2);
    assert_int_equal(t->dim[0], 2);
    assert_int_equal(t->dim[1], 3);
    assert_int_equal(t->bytes, 24);
    assert_true(((const float *) t->data)[5] == 6);
    t = mtlm_safetensors_find(file, "b");
    assert_true(((const double *) t->data)[1] == -.25);
    t = mtlm_safetensors_find(file, "none");
    assert_int_equal(t->bytes, 0);
    t = mtlm_safetensors_find(file, "scalar");
    assert_int_equal(t->rank, 0);
    assert_int_equal(*(const int32_t *) t->data, -7);
    mtlm_safetensors_close(file);
    mtlm_safetensors_close(NULL);
}

/* The bytes themselves, as the format's description has them. */
static void test_the_file_is_the_formats(void **state)
{
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"mtlm\"},"
        "\"four\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[0,4]}}"
        "      ";
    struct mtlm_safetensors_writer *writer =
        mtlm_safetensors_writer_create(files_path("bytes"));
    const int32_t value = 258;
    unsigned char *data;
    size_t bytes;

    (void) state;
    mtlm_safetensors_writer_metadata(writer, "format", "mtlm");
    mtlm_safetensors_writer_add(writer, "four", MTLM_SAFETENSORS_I32, 1,
                                (const int64_t[]){1}, &value);
    assert_int_equal(mtlm_safetensors_writer_commit(writer, NULL), 0);
    mtlm_safetensors_writer_destroy(writer);
    data = files_read("bytes", &bytes);
    assert_int_equal(strlen(header), 96);
    assert_int_equal(bytes, 8 + 96 + 4);
    assert_memory_equal(data, "\x60\0\0\0\0\0\0\0", 8);
    assert_memory_equal(data + 8, header, 96);
    assert_memory_equal(data + 104, "\2\1\0\0", 4);
    free(data);
}

static void refused(const char *name, const char *why)
{
    struct mtlm_error err = {0};

    assert_null(mtlm_safetensors_open(files_path(name), &err));
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    if (!strstr(err.text, why) || !strstr(err.text, name))
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

/* A file of this header and data_bytes zeros. */
static void write_hostile(const char *header, size_t data_bytes)
{
    const uint64_t n = strlen(header);
    unsigned char *all = calloc(1, 8 + n + data_bytes);

    memcpy(all, &n, 8);
    memcpy(all + 8, header, n);
    files_write("hostile", all, 8 + n + data_bytes);
    free(all);
}

#define X(dtype, shape, begin, end)                                            \
    "\"x\":{\"dtype\":\"" dtype "\",\"shape\":[" shape                         \
    "],\"data_offsets\":[" begin "," end "]}"
#define Y(begin, end)                                                          \
    ",\"y\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[" begin "," end  \
    "]}"

static void test_hostile_headers_are_refused(void **state)
{
    static const struct {
        const char *header;
        size_t data_bytes;
        const char *why;
    } cases[] = {
        {"", 0, "expected a JSON object"},
        {"[]", 0, "expected a JSON object"},
        {" {}", 0, "expected a JSON object"},
        {"{", 0, "header"},
        {"{}x", 0, "header"},
        {"{\"\xff\":1}", 0, "header"},
        {"{} ", 1, "end of the file"},
        {"{\"x\":1}", 0, "tensor \"x\""},
        {"{\"x\":{}}", 0, "tensor \"x\""},
        {"{\"__metadata__\":1}", 0, "expected an object"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "strings only"},
        {"{" X("F31", "1", "0", "4") "}", 4, "dtype"},
        {"{" X("F32", "1", "0", "4") "}", 3, "data_offsets"},
        {"{" X("F32", "1", "0", "4") "}", 5, "end of the file"},
        {"{" X("F32", "1", "1", "5") "}", 5, "expected to begin at 0"},
        {"{" X("F32", "1", "4", "0") "}", 4, "data_offsets"},
        {"{" X("F32", "1", "-4", "0") "}", 4, "data_offsets"},
        {"{" X("F32", "1", "1", "-9223372036854775808") "}", 4, "_offsets"},
        {"{" X("F32", "1", "-9223372036854775808", "4") "}", 4, "_offsets"},
        {"{" X("F32", "2", "0", "4") "}", 4, "data_offsets"},
        {"{" X("F32", "-1", "0", "4") "}", 4, "shape"},
        {"{" X("F32", "1.0", "0", "4") "}", 4, "shape"},
        {"{" X("F32", "1", "0", "4.0") "}", 4, "tensor \"x\""},
        {"{" X("F32", "9223372036854775807,2", "0", "4") "}", 4, "offsets"},
        {"{" X("F32", "4294967296,4294967296", "0", "0") "}", 0, "offsets"},
        {"{" X("F64", "2305843009213693952", "0", "0") "}", 0, "offsets"},
        {"{" X("F32", "99999999999999999999", "0", "4") "}", 4, "header"},
        {"{" X("U8", "1,1,1,1,1,1,1,1,1", "0", "1") "}", 1, "dimensions"},
        {"{" X("U8", "4", "0", "4") Y("2", "6") "}", 6, "expected to begin"},
        {"{" X("U8", "4", "0", "4") Y("5", "9") "}", 9, "expected to begin"},
        {"{" X("U8", "4", "0", "4") "," X("U8", "4", "4", "8") "}", 8,
         "duplicate"},
        {"{\"x\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],"
         "\"data_offsets\":[0,1]}}",
         1, "duplicate"},
        {"{\"x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],"
         "\"more\":1}}",
         1, "tensor \"x\""},
        {"{\"x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,2]}}", 1,
         "tensor \"x\""},
        {"{\"x\":{\"dtype\":\"U8\",\"shape\":1,\"data_offsets\":[0,1]}}", 1,
         "shape"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_hostile(cases[i].header, cases[i].data_bytes);
        refused("hostile", cases[i].why);
    }
    write_hostile("{" X("U8", "4", "4", "8") Y("0", "4") "}  ", 8);
    mtlm_safetensors_close(mtlm_safetensors_open(files_path("hostile"), NULL));
}

static void test_deep_nesting_is_refused(void **state)
{
    static char header[100000] = "{\"x\":";

    (void) state;
    memset(header + 5, '[', sizeof(header) - 6);
    write_hostile(header, 0);
    refused("hostile", "header");
}

static void test_absurd_lengths_are_refused(void **state)
{
    static const uint64_t lengths[] = {
        3, 100000001, UINT64_MAX, UINT64_MAX - 7, INT64_MAX, UINT64_C(1) << 63};

    (void) state;
    for (int i = 0; i < 6; i++) {
        unsigned char all[10] = {[8] = '{', [9] = '}'};

        memcpy(all, &lengths[i], 8);
        files_write("hostile", all, sizeof(all));
        refused("hostile", "offset 0: length of the header");
    }
}

static void test_every_truncation_is_refused(void **state)
{
    unsigned char *data;
    size_t bytes;

    (void) state;
    write_example("whole");
    data = files_read("whole", &bytes);
    for (size_t n = 0; n < bytes; n++) {
        files_write("cut", data, n);
        refused("cut", "cut");
    }
    free(data);
}

/* All that is still taken lies inside: the tensors cover the same bytes. */
static void test_every_damaged_byte_is_refused_or_harmless(void **state)
{
    unsigned char *data;
    size_t bytes;
    uint64_t header;

    (void) state;
    write_example("whole");
    data = files_read("whole", &bytes);
    memcpy(&header, data, 8);
    for (size_t at = 0; at < 8 + header; at++)
        for (int bit = 0; bit < 8; bit++) {
            struct mtlm_safetensors *file;
            size_t sum = 0;
            int seen = 0;

            data[at] ^= 1 << bit;
            files_write("damage", data, bytes);
            data[at] ^= 1 << bit;
            file = mtlm_safetensors_open(files_path("damage"), NULL);
            if (!file)
                continue;
            for (int64_t i = 0; i < mtlm_safetensors_count(file); i++) {
                const struct mtlm_safetensors_tensor *t =
                    mtlm_safetensors_at(file, i);

                for (size_t j = 0; j < t->bytes; j++)
                    seen += ((const unsigned char *) t->data)[j];
                sum += t->bytes;
            }
            assert_int_equal(sum, bytes - 8 - header);
            assert_true(seen > 0);
            mtlm_safetensors_close(file);
        }
    free(data);
}

static void test_failures_to_write_are_reported(void **state)
{
    struct mtlm_error err = {0};
    struct mtlm_safetensors_writer *writer =
        mtlm_safetensors_writer_create(files_path("missing/x"));

    (void) state;
    assert_int_equal(mtlm_safetensors_writer_commit(writer, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "missing/x: No such file"));
    mtlm_safetensors_writer_destroy(writer);
    mtlm_safetensors_writer_destroy(NULL);
    refused("nowhere", "No such file");
}

/* arg counts the calls. */
static int fail_to_read(void *arg, void *memory, struct mtlm_error *err)
{
    (void) memory;
    ++*(int *) arg;
    return mtlm_error_set(err, MTLM_EXIT_INPUT, "unreadable");
}

static void test_the_first_failure_to_read_ends_the_commit(void **state)
{
    const int before = files_count();
    const int64_t dim[] = {2};
    struct mtlm_error err = {0};
    struct mtlm_safetensors_writer *writer =
        mtlm_safetensors_writer_create(files_path("later"));
    int reads = 0;

    (void) state;
    mtlm_safetensors_writer_add_later(writer, "a", MTLM_SAFETENSORS_F32, 1, dim,
                                      fail_to_read, &reads);
    mtlm_safetensors_writer_add_later(writer, "b", MTLM_SAFETENSORS_F32, 1, dim,
                                      fail_to_read, &reads);
    assert_int_equal(mtlm_safetensors_writer_commit(writer, &err), -1);
    mtlm_safetensors_writer_destroy(writer);
    assert_int_equal(reads, 1);
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    assert_string_equal(err.text, "unreadable");
    assert_int_equal(files_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_the_file_is_the_formats),
        cmocka_unit_test(test_hostile_headers_are_refused),
        cmocka_unit_test(test_deep_nesting_is_refused),
        cmocka_unit_test(test_absurd_lengths_are_refused),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_every_damaged_byte_is_refused_or_harmless),
        cmocka_unit_test(test_failures_to_write_are_reported),
        cmocka_unit_test(test_the_first_failure_to_read_ends_the_commit),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
