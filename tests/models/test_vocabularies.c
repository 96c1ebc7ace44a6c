/* Tokenizers with vocabularies: any bytes come back, with and without a cache,
 * and what BERT's samples have to know of WordPiece.  Which tokens they are is
 * compared in test_tokenizers.py. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "models/text/gpt2_bpe.h"
#include "models/text/merges.h"
#include "models/text/tokenizer_json.h"
#include "models/text/wordpiece.h"
#include "runtime/base/memory.h"
#include "tests/models/files.h"

/* The 256 bytes as GPT-2 writes them, from 300 on downwards so that no byte
 * is its own number, a few pairs, and the end. */
static const struct mtlm_tokenizer *open_bpe(void)
{
    static const char merges[] = "#version: 0.2\na b\nab a\n\303\203 \302\251\n"
                                 "\304\240 ab\nab aba\n";
    static const char *const pairs[] = {"ab", "aba", "\303\203\302\251",
                                        "\304\240ab", "ababa"};
    char *text = mtlm_calloc(1 << 15, 1), *p = text;
    const struct mtlm_tokenizer *tokenizer;
    int other = 256;

    p += sprintf(p, "{\"<|endoftext|>\": 0");
    for (int b = 0; b < 256; b++) {
        const int seen =
            (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;

        p += sprintf(p, ", \"\\u%04x\": %d", seen ? b : other, 261 - b);
        other += !seen;
    }
    for (int i = 0; i < 5; i++)
        p += sprintf(p, ", \"%s\": %d", pairs[i], i + 1);
    p += sprintf(p, "}");
    files_write("vocab.json", text, (size_t) (p - text));
    files_write("merges.txt", merges, sizeof(merges) - 1);
    tokenizer = mtlm_gpt2_bpe_open(files_path("vocab.json"),
                                   files_path("merges.txt"), NULL);
    assert_non_null(tokenizer);
    free(text);
    return tokenizer;
}

static int64_t decode(const struct mtlm_tokenizer *tokenizer,
                      const int32_t *token, int64_t n, char *text)
{
    int64_t bytes = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t some;
        const char *of = tokenizer->text(tokenizer, token[i], &some);

        memcpy(text + bytes, of, (size_t) some);
        bytes += some;
    }
    return bytes;
}

static void test_any_bytes_come_back(void **state)
{
    enum { MOST = 3000 };
    const struct mtlm_tokenizer *tokenizer = open_bpe();
    struct mtlm_word_cache *cache = mtlm_word_cache_create();
    char text[MOST], back[MOST];
    int32_t token[MOST], again[MOST];

    (void) state;
    assert_int_equal(tokenizer->vocab_size, 262);
    assert_int_equal(tokenizer->eod, 0);
    assert_null(tokenizer->bert);
    srand(1);
    for (int round = 0; round < 2000; round++) {
        const int64_t bytes = rand() % (round % 10 ? 60 : MOST);
        const int few = round % 3;
        int64_t n;

        for (int64_t i = 0; i < bytes; i++)
            text[i] = (char) (few == 0   ? rand()
                              : few == 1 ? "ab"[rand() % 2]
                                         : "ab \n\303\251"[rand() % 6]);
        n = tokenizer->encode(tokenizer, NULL, text, bytes, false, token);
        assert_in_range(n, 0, bytes);
        assert_int_equal(decode(tokenizer, token, n, back), bytes);
        assert_memory_equal(back, text, (size_t) bytes);
        assert_int_equal(
            tokenizer->encode(tokenizer, cache, text, bytes, false, again), n);
        assert_memory_equal(again, token, (size_t) n * sizeof(*token));
    }
    mtlm_word_cache_destroy(cache);
    mtlm_tokenizer_close(tokenizer);
}

/* Merges of newer tokenizer.json are arrays. */
static void test_a_wrong_merge_is_shown_whole(void **state)
{
    static const struct {
        const char *merges, *sentence;
    } cases[] = {
        {"[[\"a\", \"b\"], [\"b\", \"a\"]]",
         "f: merge 2: the vocabulary has no token for the pair \"b\\x20a\""},
        {"[[\"a\", \"b\"], [\"a\", \"b\"]]",
         "f: merge 2: a merge before it has the same pair \"a\\x20b\""},
        {"[[1, \"b\"]]", "f: merge 1: expected two tokens, found another type"},
    };
    json_t *tokens = json_loads("{\"a\": 0, \"b\": 1, \"ab\": 2}", 0, NULL);
    struct mtlm_vocabulary vocabulary = {0};
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_vocabulary_take_json(&vocabulary, tokens, "f", &err),
                     0);
    for (int i = 0; i < 3; i++) {
        json_t *list = json_loads(cases[i].merges, 0, NULL);
        struct mtlm_merges merges;

        assert_int_equal(
            mtlm_merges_take_json(&merges, &vocabulary, list, "f", &err), -1);
        assert_string_equal(err.text, cases[i].sentence);
        json_decref(list);
    }
    mtlm_vocabulary_free(&vocabulary);
    json_decref(tokens);
}

/* The refusal names the value that is wrong, not one beside it. */
static void test_another_rule_of_wordpiece_is_named(void **state)
{
    static const struct {
        const char *file, *sentence;
    } cases[] = {
        {"{\"model\": {\"type\": \"WordPiece\", "
         "\"continuing_subword_prefix\": \"##\", \"unk_token\": \"<unk>\"}}",
         "model.unk_token: expected [UNK], found \"\"<unk>\"\""},
        {"{\"model\": {\"type\": \"WordPiece\", "
         "\"continuing_subword_prefix\": \"@@\", \"unk_token\": \"[UNK]\"}}",
         "model.continuing_subword_prefix: expected the prefix ##, found "
         "\"\"@@\"\""},
    };
    struct mtlm_error err;

    (void) state;
    for (int i = 0; i < 2; i++) {
        files_write("words.json", cases[i].file, strlen(cases[i].file));
        assert_null(mtlm_tokenizer_json_open(files_path("words.json"), &err));
        assert_non_null(strstr(err.text, cases[i].sentence));
    }
}

/* The most that this process ever held, MiB. */
static long peak(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

static void test_lines_without_merges_take_no_memory(void **state)
{
    enum { BYTES = 8 << 20 };
    char *text = mtlm_calloc(BYTES, 1);
    struct mtlm_error err;
    long before;

    (void) state;
    mtlm_tokenizer_close(open_bpe());
    memset(text, '\n', BYTES);
    memcpy(text, "#version", 8);
    files_write("merges.txt", text, BYTES);
    free(text);
    before = peak();
    assert_null(mtlm_gpt2_bpe_open(files_path("vocab.json"),
                                   files_path("merges.txt"), &err));
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    assert_non_null(strstr(err.text, "line 2: expected two tokens"));
    assert_true(peak() - before < 64);
}

static void test_what_samples_know_of_wordpiece(void **state)
{
    static const char lines[] =
        "[UNK]\n[MASK]\nun\n##aff\n##able\n[PAD]\n#\n[SEP]\n[CLS]\n##\n";
    static const int32_t want[] = {2, 3, 4, 6, 6, 0};
    const struct mtlm_bert_vocab *bert;
    const struct mtlm_tokenizer *tokenizer;
    int32_t token[32];

    (void) state;
    files_write("vocab.txt", lines, sizeof(lines) - 1);
    tokenizer = mtlm_wordpiece_open(files_path("vocab.txt"), true, NULL);
    assert_non_null(tokenizer);
    bert = tokenizer->bert;
    assert_int_equal(tokenizer->vocab_size, 10);
    assert_int_equal(tokenizer->eod, 7);
    assert_int_equal(bert->size, 10);
    assert_int_equal(bert->ordinary, 10);
    assert_int_equal(bert->pad, 5);
    assert_int_equal(bert->cls, 8);
    assert_int_equal(bert->sep, 7);
    assert_int_equal(bert->mask, 1);
    assert_int_equal(tokenizer->encode(tokenizer, NULL, "Unaffable ## [PAX", 14,
                                       false, token),
                     6);
    assert_memory_equal(token, want, sizeof(want));
    for (int32_t i = 0; i < 10; i++)
        assert_int_equal(bert->continues(bert, 2, i),
                         i == 3 || i == 4 || i == 9);
    mtlm_tokenizer_close(tokenizer);
}

/* The hash of GPT-2's tokenizer after `from` in a file became `to`. */
static uint64_t hash_with(const char *name, const char *from, const char *to)
{
    const struct mtlm_tokenizer *tokenizer;
    uint64_t hash;
    size_t bytes;
    char *text, *other, *at;

    mtlm_tokenizer_close(open_bpe()); /* which writes the files */
    text = (char *) files_read(name, &bytes);
    other = mtlm_calloc(bytes + 64, 1);
    memcpy(other, text, bytes);
    at = strstr(other, from);
    assert_non_null(at);
    sprintf(at, "%s%.*s", to, (int) (bytes - strlen(from) - (at - other)),
            text + (at - other) + strlen(from));
    files_write(name, other, strlen(other));
    tokenizer = mtlm_gpt2_bpe_open(files_path("vocab.json"),
                                   files_path("merges.txt"), NULL);
    assert_non_null(tokenizer);
    hash = tokenizer->hash;
    mtlm_tokenizer_close(tokenizer);
    free(other);
    free(text);
    return hash;
}

/* Which text becomes which tokens decides, not how the file is written. */
static void test_the_hash_tells_tokenizers_apart(void **state)
{
    const struct mtlm_tokenizer *tokenizer = open_bpe();
    const uint64_t hash = tokenizer->hash;

    (void) state;
    mtlm_tokenizer_close(tokenizer);
    assert_true(hash_with("vocab.json", "\"ab\": 1", "\n \"ab\" :1 ") == hash);
    assert_true(hash_with("merges.txt", "ab a\n", "ab a\r\n") == hash);
    assert_true(hash_with("vocab.json", "\"ab\": 1, \"aba\": 2",
                          "\"ab\": 2, \"aba\": 1")
                != hash);
    assert_true(hash_with("merges.txt", "a b\nab a\n", "ab a\na b\n") != hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_bytes_come_back),
        cmocka_unit_test(test_a_wrong_merge_is_shown_whole),
        cmocka_unit_test(test_another_rule_of_wordpiece_is_named),
        cmocka_unit_test(test_lines_without_merges_take_no_memory),
        cmocka_unit_test(test_what_samples_know_of_wordpiece),
        cmocka_unit_test(test_the_hash_tells_tokenizers_apart),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
