/* Byte tokens: every text comes back, and names are found or listed. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "models/text/byte_tokenizer.h"

static void test_all_bytes_come_back(void **state)
{
    char text[256];
    int32_t tokens[257];

    (void) state;
    for (int i = 0; i < 256; i++)
        text[i] = (char) (255 - i);
    assert_int_equal(mtlm_tokenizer_byte.encode(&mtlm_tokenizer_byte, NULL,
                                                text, 256, false, tokens),
                     256);
    for (int i = 0; i < 256; i++)
        assert_int_equal(tokens[i], 255 - i);
    tokens[256] = mtlm_tokenizer_byte.eod;
    for (int i = 0; i < 257; i++) {
        int64_t bytes;
        const char *of =
            mtlm_tokenizer_byte.text(&mtlm_tokenizer_byte, tokens[i], &bytes);

        assert_int_equal(bytes, i < 256);
        assert_true(i == 256 || *of == text[i]);
    }
    assert_int_equal(mtlm_tokenizer_byte.encode(&mtlm_tokenizer_byte, NULL, "",
                                                0, false, tokens),
                     0);
}

static void test_a_name_finds_its_tokenizer(void **state)
{
    const struct mtlm_tokenizer_files none = {0};
    struct mtlm_error err = {0};

    (void) state;
    assert_ptr_equal(mtlm_tokenizer_open("byte", &none, &err),
                     &mtlm_tokenizer_byte);
    assert_int_equal(mtlm_tokenizer_byte.vocab_size, 257);
    assert_null(mtlm_tokenizer_open("bite", &none, &err));
    assert_int_equal(err.code, MTLM_EXIT_USAGE);
    assert_non_null(strstr(err.text, "\"bite\"; known: byte"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_bytes_come_back),
        cmocka_unit_test(test_a_name_finds_its_tokenizer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
