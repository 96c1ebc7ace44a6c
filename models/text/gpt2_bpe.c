/* GPT-2's byte-level byte-pair encoding. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "models/text/gpt2_bpe.h"
#include "models/text/gpt2_words.h"
#include "models/text/merges.h"
#include "models/text/vocabulary.h"
#include "runtime/base/memory.h"

struct gpt2_bpe {
    struct mtlm_tokenizer tokenizer;
    struct mtlm_vocabulary vocabulary; /* in the characters of the file */
    struct mtlm_merges merges;
    int32_t byte[256]; /* the token of a byte */
    char *text;        /* the bytes of token i begin at vocabulary.begin[i] */
    int32_t *length;   /* [tokens] bytes of each token */
};

/* The characters of bytes: a printable character of Latin-1 stands for itself;
 * the other bytes get characters from 256 on. */
static int32_t character(int byte)
{
    int32_t other = 256;

    for (int b = 0; b < 256; b++) {
        const bool seen =
            (b >= 33 && b <= 126) || (b >= 161 && b != 173 && b <= 255);

        if (b == byte)
            return seen ? b : other;
        other += !seen;
    }
    return -1;
}

/* Fills length and text with the bytes of each token.  Other characters, in
 * tokens that no text becomes, stand for themselves. */
static void find_bytes(struct gpt2_bpe *bpe)
{
    const struct mtlm_vocabulary *v = &bpe->vocabulary;
    int32_t byte_of[512];

    memset(byte_of, -1, sizeof(byte_of));
    for (int b = 0; b < 256; b++)
        byte_of[character(b)] = b;
    bpe->text = mtlm_calloc((size_t) v->begin[v->n], 1);
    bpe->length = mtlm_calloc((size_t) v->n, sizeof(*bpe->length));
    for (int64_t i = 0; i < v->n; i++) {
        char *out = bpe->text + v->begin[i];

        for (int64_t at = v->begin[i]; at < v->begin[i + 1];) {
            const char *from = v->text + at;
            utf8proc_int32_t c;
            const utf8proc_ssize_t n = utf8proc_iterate(
                (const utf8proc_uint8_t *) from, v->begin[i + 1] - at, &c);

            at += n;
            if (c < 512 && byte_of[c] >= 0)
                *out++ = (char) byte_of[c];
            else
                memcpy(out, from, (size_t) n), out += n;
        }
        bpe->length[i] = (int32_t) (out - (bpe->text + v->begin[i]));
    }
}

static int find_special(struct gpt2_bpe *bpe, const char *path,
                        struct mtlm_error *err)
{
    static const char end[] = "<|endoftext|>";

    for (int b = 0; b < 256; b++) {
        utf8proc_uint8_t text[4];
        const utf8proc_ssize_t n = utf8proc_encode_char(character(b), text);

        bpe->byte[b] =
            mtlm_vocabulary_find(&bpe->vocabulary, (const char *) text, n);
        if (bpe->byte[b] < 0)
            return mtlm_error_set(err, MTLM_EXIT_INPUT,
                                  "%s: not a vocabulary of bytes: no token "
                                  "stands for byte %d (character U+%04X)",
                                  path, b, character(b));
    }
    bpe->tokenizer.eod =
        mtlm_vocabulary_find(&bpe->vocabulary, end, sizeof(end) - 1);
    if (bpe->tokenizer.eod < 0)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: the vocabulary has no token \"%s\"", path,
                              end);
    return 0;
}

static int64_t encode(const struct mtlm_tokenizer *tokenizer,
                      struct mtlm_word_cache *cache, const char *text,
                      int64_t bytes, bool more, int32_t *tokens)
{
    const struct gpt2_bpe *bpe = (const struct gpt2_bpe *) tokenizer;
    int64_t n = 0;

    for (int64_t at = 0; at < bytes;) {
        const char *word = text + at;
        const int64_t length = mtlm_gpt2_words_next(word, bytes - at, more);
        int64_t found = mtlm_word_cache_find(cache, word, length, tokens + n);

        if (found < 0) {
            for (int64_t i = 0; i < length; i++)
                tokens[n + i] = bpe->byte[(unsigned char) word[i]];
            found = mtlm_merges_apply(&bpe->merges, tokens + n, length);
            mtlm_word_cache_keep(cache, word, length, tokens + n, found);
        }
        n += found;
        at += length;
    }
    return n;
}

static const char *text_of(const struct mtlm_tokenizer *tokenizer,
                           int32_t token, int64_t *bytes)
{
    const struct gpt2_bpe *bpe = (const struct gpt2_bpe *) tokenizer;

    *bytes = bpe->length[token];
    return bpe->text + bpe->vocabulary.begin[token];
}

/* Checks the number of merges.  A token is a byte, the result of a merge, or
 * one of few special tokens: a truncated merges file makes too few tokens. */
static int check_pair(const struct gpt2_bpe *bpe, const char *vocab_file,
                      const char *merge_file, struct mtlm_error *err)
{
    enum { SPECIAL = 1024 };
    const int64_t n = bpe->merges.n, made = n + 256;

    if (bpe->vocabulary.n <= made + SPECIAL)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: line %" PRId64 ": the file ends after %" PRId64
                          " merges, too few for the %" PRId64 " tokens of %s",
                          merge_file, n + 1, n, bpe->vocabulary.n, vocab_file);
}

static void destroy(struct mtlm_tokenizer *tokenizer)
{
    struct gpt2_bpe *bpe = (struct gpt2_bpe *) tokenizer;

    mtlm_vocabulary_free(&bpe->vocabulary);
    mtlm_merges_free(&bpe->merges);
    free(bpe->text);
    free(bpe->length);
    free(bpe);
}

const struct mtlm_tokenizer *mtlm_gpt2_bpe_open(const char *vocab_file,
                                                const char *merge_file,
                                                struct mtlm_error *err)
{
    struct gpt2_bpe *bpe = mtlm_calloc(1, sizeof(*bpe));

    bpe->tokenizer = (struct mtlm_tokenizer){.name = "GPT2BPETokenizer",
                                             .encode = encode,
                                             .text = text_of,
                                             .destroy = destroy};
    if (mtlm_vocabulary_read_json(&bpe->vocabulary, vocab_file, err) < 0
        || find_special(bpe, vocab_file, err) < 0
        || mtlm_merges_read(&bpe->merges, &bpe->vocabulary, merge_file, err) < 0
        || check_pair(bpe, vocab_file, merge_file, err) < 0) {
        destroy(&bpe->tokenizer);
        return NULL;
    }
    bpe->tokenizer.vocab_size = bpe->vocabulary.n;
    bpe->tokenizer.hash = bpe->merges.hash;
    find_bytes(bpe);
    return &bpe->tokenizer;
}
