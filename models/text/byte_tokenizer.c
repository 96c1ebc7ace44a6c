/* The tokenizer with one token per byte. */

#include "config.h"

#include "models/text/byte_tokenizer.h"

static int64_t encode(const struct mtlm_tokenizer *tokenizer,
                      struct mtlm_word_cache *cache, const char *text,
                      int64_t bytes, bool more, int32_t *tokens)
{
    (void) tokenizer, (void) cache, (void) more;
    for (int64_t i = 0; i < bytes; i++)
        tokens[i] = (unsigned char) text[i];
    return bytes;
}

#define FOUR(n) n, n + 1, n + 2, n + 3
#define SIXTEEN(n) FOUR(n), FOUR(n + 4), FOUR(n + 8), FOUR(n + 12)
#define SIXTY_FOUR(n)                                                          \
    SIXTEEN(n), SIXTEEN(n + 16), SIXTEEN(n + 32), SIXTEEN(n + 48)

static const char *text_of(const struct mtlm_tokenizer *tokenizer,
                           int32_t token, int64_t *bytes)
{
    static const unsigned char all[MTLM_BYTE_EOD] = {
        SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128), SIXTY_FOUR(192)};

    (void) tokenizer;
    *bytes = token < MTLM_BYTE_EOD;
    return (const char *) &all[*bytes ? token : 0];
}

/* Whether a token is a letter or digit of ASCII, independent of the locale, or
 * beyond ASCII. */
static bool in_word(int32_t token)
{
    return (token >= '0' && token <= '9') || (token >= 'A' && token <= 'Z')
           || (token >= 'a' && token <= 'z')
           || (token >= 128 && token < MTLM_BYTE_EOD);
}

static bool continues(const struct mtlm_bert_vocab *vocab, int32_t before,
                      int32_t token)
{
    (void) vocab;
    return in_word(token) && (in_word(before) || before == ' ');
}

const struct mtlm_bert_vocab mtlm_bert_vocab_byte = {
    .size = MTLM_BYTE_BERT_VOCAB_SIZE,
    .cls = MTLM_BYTE_CLS,
    .sep = MTLM_BYTE_SEP,
    .mask = MTLM_BYTE_MASK,
    .pad = MTLM_BYTE_PAD,
    .ordinary = MTLM_BYTE_VOCAB_SIZE,
    .continues = continues,
};

const struct mtlm_tokenizer mtlm_tokenizer_byte = {
    .name = "byte",
    .vocab_size = MTLM_BYTE_VOCAB_SIZE,
    .eod = MTLM_BYTE_EOD,
    .bert = &mtlm_bert_vocab_byte,
    .encode = encode,
    .text = text_of,
};
