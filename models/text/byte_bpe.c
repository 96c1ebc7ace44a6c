/* Byte-level byte-pair encoding. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "models/text/bloom_words.h"
#include "models/text/byte_bpe.h"
#include "models/text/gpt2_words.h"
#include "runtime/base/memory.h"

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
static void spell_tokens(struct mtlm_byte_bpe *bpe)
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

static int find_byte_tokens(struct mtlm_byte_bpe *bpe, const char *path,
                            struct mtlm_error *err)
{
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
    return 0;
}

static int64_t encode_words(const struct mtlm_added_tokens_text *t,
                            const char *text, int64_t bytes, bool more,
                            int32_t *tokens)
{
    const struct mtlm_byte_bpe *bpe = t->tokenizer;
    int64_t n = 0;

    for (int64_t at = 0; at < bytes;) {
        const char *word = text + at;
        const int64_t length = bpe->next(bpe, word, bytes - at, more);
        int64_t found =
            mtlm_word_cache_find(t->cache, word, length, tokens + n);

        if (found < 0) {
            for (int64_t i = 0; i < length; i++)
                tokens[n + i] = bpe->byte[(unsigned char) word[i]];
            found = mtlm_merges_apply(&bpe->merges, tokens + n, length);
            mtlm_word_cache_keep(t->cache, word, length, tokens + n, found);
        }
        n += found;
        at += length;
    }
    return n;
}

static int64_t encode(const struct mtlm_tokenizer *tokenizer,
                      struct mtlm_word_cache *cache, const char *text,
                      int64_t bytes, bool more, int32_t *tokens)
{
    const struct mtlm_byte_bpe *bpe = (const struct mtlm_byte_bpe *) tokenizer;
    const struct mtlm_added_tokens_text t = {
        .tokenizer = bpe, .cache = cache, .encode = encode_words};

    return mtlm_added_tokens_encode(&bpe->added, &t, text, bytes, more, tokens);
}

static const char *text_of(const struct mtlm_tokenizer *tokenizer,
                           int32_t token, int64_t *bytes)
{
    const struct mtlm_byte_bpe *bpe = (const struct mtlm_byte_bpe *) tokenizer;

    if (token >= bpe->vocabulary.n) { /* the model's vocabulary is padded */
        *bytes = 0;
        return bpe->text;
    }
    *bytes = bpe->length[token];
    return bpe->text + bpe->vocabulary.begin[token];
}

void mtlm_byte_bpe_destroy(struct mtlm_byte_bpe *bpe)
{
    mtlm_vocabulary_free(&bpe->vocabulary);
    mtlm_merges_free(&bpe->merges);
    mtlm_added_tokens_free(&bpe->added);
    free(bpe->bloom);
    free(bpe->text);
    free(bpe->length);
    free(bpe);
}

static void destroy(struct mtlm_tokenizer *tokenizer)
{
    mtlm_byte_bpe_destroy((struct mtlm_byte_bpe *) tokenizer);
}

static int64_t next_gpt2_word(const struct mtlm_byte_bpe *bpe, const char *text,
                              int64_t bytes, bool more)
{
    (void) bpe;
    return mtlm_gpt2_words_next(text, bytes, more);
}

struct mtlm_byte_bpe *mtlm_byte_bpe_create(const char *name)
{
    struct mtlm_byte_bpe *bpe = mtlm_calloc(1, sizeof(*bpe));

    bpe->tokenizer = (struct mtlm_tokenizer){
        .name = name, .encode = encode, .text = text_of, .destroy = destroy};
    bpe->next = next_gpt2_word;
    return bpe;
}

int mtlm_byte_bpe_find_bytes(struct mtlm_byte_bpe *bpe, const char *path,
                             struct mtlm_error *err)
{
    if (find_byte_tokens(bpe, path, err) < 0)
        return -1;
    bpe->tokenizer.vocab_size = bpe->vocabulary.n;
    spell_tokens(bpe);
    return 0;
}
