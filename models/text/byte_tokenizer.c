#include "config.h"

#include "models/text/byte_tokenizer.h"

static int64_t encode(const char *text, int64_t bytes, int32_t *tokens)
{
    for (int64_t i = 0; i < bytes; i++)
        tokens[i] = (unsigned char) text[i];
    return bytes;
}

int64_t mtlm_byte_decode(const int32_t *tokens, int64_t n, char *text)
{
    int64_t bytes = 0;

    for (int64_t i = 0; i < n; i++)
        if (tokens[i] < MTLM_BYTE_EOD)
            text[bytes++] = (char) tokens[i];
    return bytes;
}

const struct mtlm_tokenizer mtlm_tokenizer_byte = {
    .name = "byte",
    .vocab_size = MTLM_BYTE_VOCAB_SIZE,
    .eod = MTLM_BYTE_EOD,
    .encode = encode,
};
