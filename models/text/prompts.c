/* Prompts to continue, from the command line or a file. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "models/text/byte_order_mark.h"
#include "models/text/prompts.h"
#include "runtime/base/memory.h"
#include "runtime/file/mapped_file.h"

enum { MOST_BYTES = 64 << 20 };

static void read_prompt(struct mtlm_samples *source, int64_t sample,
                        enum mtlm_field field, int64_t first, int64_t n,
                        int32_t *values)
{
    int64_t length;
    const int32_t *token = mtlm_prompts_tokens(
        (const struct mtlm_prompts *) source, sample, &length);

    for (int64_t i = 0; i < n; i++)
        values[i] = field == MTLM_FIELD_TOKENS && first + i < length
                        ? token[first + i]
                        : 0;
}

static struct mtlm_prompts *begin_prompts(int32_t begin, int64_t samples)
{
    struct mtlm_prompts *prompts = mtlm_calloc(1, sizeof(*prompts));

    prompts->source.read = read_prompt;
    prompts->samples = samples;
    prompts->first = begin;
    prompts->begin = mtlm_calloc(1, sizeof(*prompts->begin));
    return prompts;
}

static void add_prompt(struct mtlm_prompts *prompts,
                       const struct mtlm_tokenizer *tokenizer, const char *text,
                       int64_t bytes)
{
    const int64_t at = prompts->begin[prompts->prompts];
    int64_t n;

    prompts->token =
        mtlm_realloc(prompts->token, at + bytes + 1, sizeof(*prompts->token));
    n = tokenizer->encode(tokenizer, NULL, text, bytes, false,
                          prompts->token + at);
    prompts->empty = mtlm_realloc(prompts->empty, prompts->prompts + 1,
                                  sizeof(*prompts->empty));
    prompts->empty[prompts->prompts++] = n == 0;
    if (n == 0)
        prompts->token[at + n++] = prompts->first;
    prompts->begin = mtlm_realloc(prompts->begin, prompts->prompts + 1,
                                  sizeof(*prompts->begin));
    prompts->begin[prompts->prompts] = at + n;
    prompts->longest = n > prompts->longest ? n : prompts->longest;
}

static struct mtlm_prompts *end_prompts(struct mtlm_prompts *prompts)
{
    const size_t bytes = prompts->begin[prompts->prompts] * sizeof(int32_t);

    prompts->sequences = prompts->prompts * prompts->samples;
    prompts->hash =
        XXH3_64bits(prompts->token, bytes)
        ^ XXH3_64bits(prompts->begin, (prompts->prompts + 1) * sizeof(int64_t));
    return prompts;
}

struct mtlm_prompts *mtlm_prompts_create(const struct mtlm_tokenizer *tokenizer,
                                         int32_t begin, const char *text,
                                         int64_t samples)
{
    struct mtlm_prompts *prompts = begin_prompts(begin, samples);

    add_prompt(prompts, tokenizer, text, strlen(text));
    return end_prompts(prompts);
}

/* Adds the line at text and returns the bytes of the line with its end. */
static int64_t add_line(struct mtlm_prompts *prompts,
                        const struct mtlm_tokenizer *tokenizer,
                        const char *text, int64_t left)
{
    const char *end = memchr(text, '\n', left);
    const int64_t bytes = end ? end - text : left;

    add_prompt(prompts, tokenizer, text,
               bytes - (bytes > 0 && text[bytes - 1] == '\r'));
    return bytes + (end != NULL);
}

struct mtlm_prompts *mtlm_prompts_read(const struct mtlm_tokenizer *tokenizer,
                                       int32_t begin, const char *path,
                                       int64_t samples, struct mtlm_error *err)
{
    struct mtlm_mapped_file file;
    struct mtlm_prompts *prompts;

    if (mtlm_mapped_file_read(&file, path, MOST_BYTES, err) < 0)
        return NULL;
    prompts = begin_prompts(begin, samples);
    for (int64_t at =
             mtlm_byte_order_mark((const char *) file.data, file.bytes);
         at < file.bytes;)
        at += add_line(prompts, tokenizer, (const char *) file.data + at,
                       file.bytes - at);
    mtlm_mapped_file_close(&file);
    if (prompts->prompts > 0)
        return end_prompts(prompts);
    mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: the file holds no prompt", path);
    mtlm_prompts_destroy(prompts);
    return NULL;
}

void mtlm_prompts_destroy(struct mtlm_prompts *prompts)
{
    if (!prompts)
        return;
    free(prompts->begin);
    free(prompts->empty);
    free(prompts->token);
    free(prompts);
}

bool mtlm_prompts_empty(const struct mtlm_prompts *prompts, int64_t sequence)
{
    return prompts->empty[sequence / prompts->samples];
}

const int32_t *mtlm_prompts_tokens(const struct mtlm_prompts *prompts,
                                   int64_t sequence, int64_t *n)
{
    const int64_t *begin = &prompts->begin[sequence / prompts->samples];

    *n = begin[1] - begin[0];
    return prompts->token + begin[0];
}
