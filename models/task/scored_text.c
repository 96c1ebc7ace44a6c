/* Spans of tokens as samples. */

#include "config.h"

#include <stdlib.h>

#include <xxhash.h>

#include "models/task/scored_text.h"
#include "runtime/base/memory.h"

/* Returns value k of a field of a span. */
static int32_t value_of(const struct mtlm_scored_text *text,
                        const struct mtlm_scored_span *span,
                        enum mtlm_field field, int64_t k)
{
    const int64_t labels = span->tokens - 1;

    switch (field) {
    case MTLM_FIELD_TOKENS:
        return k < span->tokens ? text->token[span->begin + k] : text->pad;
    case MTLM_FIELD_LABELS:
        return k < labels ? text->token[span->begin + k + 1] : text->pad;
    case MTLM_FIELD_LOSS_MASK:
        return k < labels && k >= labels - span->scored;
    case MTLM_FIELD_LENGTH: /* causal attention needs no padding */
        return (int32_t) text->source.seq_length;
    default:
        return 0;
    }
}

static void read_spans(struct mtlm_samples *source, int64_t sample,
                       enum mtlm_field field, int64_t first, int64_t n,
                       int32_t *values)
{
    static const struct mtlm_scored_span nothing;
    const struct mtlm_scored_text *text =
        (const struct mtlm_scored_text *) source;
    const struct mtlm_scored_span *span =
        sample < text->samples ? &text->span[sample] : &nothing;

    for (int64_t i = 0; i < n; i++)
        values[i] = value_of(text, span, field, first + i);
}

static void destroy(struct mtlm_samples *source)
{
    struct mtlm_scored_text *text = (struct mtlm_scored_text *) source;

    free(text->token);
    free(text->span);
    free(text);
}

struct mtlm_scored_text *mtlm_scored_text_create(int64_t seq_length,
                                                 int32_t pad, int64_t tokens,
                                                 int64_t samples)
{
    struct mtlm_scored_text *text = mtlm_calloc(1, sizeof(*text));

    text->source = (struct mtlm_samples){
        .seq_length = seq_length, .read = read_spans, .destroy = destroy};
    text->pad = pad;
    text->token = mtlm_calloc((size_t) tokens + 1, sizeof(*text->token));
    text->span = mtlm_calloc((size_t) samples + 1, sizeof(*text->span));
    return text;
}

void mtlm_scored_text_add(struct mtlm_scored_text *text,
                          struct mtlm_scored_span span)
{
    const int64_t over = span.tokens - (text->source.seq_length + 1);

    if (over > 0) {
        span.begin += over;
        span.tokens -= (int32_t) over;
        text->cut++;
    }
    text->span[text->samples++] = span;
    text->scored += span.scored;
}

void mtlm_scored_text_end(struct mtlm_scored_text *text)
{
    const size_t tokens = (size_t) text->tokens;
    const size_t samples = (size_t) text->samples;

    text->token = mtlm_realloc(text->token, tokens + 1, sizeof(*text->token));
    text->span = mtlm_realloc(text->span, samples + 1, sizeof(*text->span));
    text->source.epoch = text->samples;
    text->hash = XXH3_64bits(text->token, tokens * sizeof(*text->token))
                 ^ XXH3_64bits(text->span, samples * sizeof(*text->span));
}
