/* Makes a BERT sample from two segments of text. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/text/bert_mask.h"
#include "models/text/bert_sample.h"
#include "runtime/base/memory.h"

/* Tokens at .. at + n - 1 of the text. */
struct segment {
    int64_t at, n;
};

struct layout {
    struct segment a, b;
    bool swapped;
    int64_t length; /* of the sample without padding */
    int64_t types;  /* where type 1 begins */
};

int64_t mtlm_bert_sample_target(const struct mtlm_bert_recipe *recipe,
                                struct mtlm_draw *draw)
{
    const int64_t most = recipe->seq_length - 3;

    assert(recipe->seq_length >= MTLM_BERT_SHORTEST);
    return mtlm_draw_chance(draw, recipe->short_seq_prob)
               ? 2 + mtlm_draw_below(draw, most - 1)
               : most;
}

static void shorten(struct layout *layout, int64_t target,
                    struct mtlm_draw *draw)
{
    while (layout->a.n + layout->b.n > target) {
        struct segment *longer =
            layout->a.n > layout->b.n ? &layout->a : &layout->b;

        longer->n--;
        longer->at += mtlm_draw_chance(draw, 0.5);
    }
}

static struct layout lay_out(const struct mtlm_bert_recipe *recipe,
                             const struct mtlm_bert_text *text, int64_t target,
                             struct mtlm_draw *draw)
{
    struct layout layout = {.a = {0, text->tokens}};

    if (recipe->binary_head) {
        const struct segment front = {0, text->pivot};
        const struct segment back = {text->pivot, text->tokens - text->pivot};

        layout.swapped = mtlm_draw_chance(draw, 0.5);
        layout.a = layout.swapped ? back : front;
        layout.b = layout.swapped ? front : back;
    }
    shorten(&layout, target, draw);
    layout.types = layout.a.n + 2;
    layout.length = layout.types + (recipe->binary_head ? layout.b.n + 1 : 0);
    return layout;
}

/* Writes the tokens [seq_length] of the sample before masking. */
static void put_together(const struct mtlm_bert_recipe *recipe,
                         const struct mtlm_bert_text *text,
                         const struct layout *layout, int32_t *tokens)
{
    const struct mtlm_bert_vocab *vocab = recipe->vocab;

    tokens[0] = vocab->cls;
    text->read(text, layout->a.at, layout->a.n, tokens + 1);
    tokens[layout->types - 1] = vocab->sep;
    if (recipe->binary_head) {
        text->read(text, layout->b.at, layout->b.n, tokens + layout->types);
        tokens[layout->length - 1] = vocab->sep;
    }
    for (int64_t i = layout->length; i < recipe->seq_length; i++)
        tokens[i] = vocab->pad;
}

/* Writes values of TOKENS, LABELS or LOSS_MASK, which need the text. */
static void read_text(const struct mtlm_bert_recipe *recipe,
                      const struct mtlm_bert_text *text, int64_t target,
                      const struct layout *layout, struct mtlm_draw *draw,
                      enum mtlm_field field, int64_t first, int64_t n,
                      int32_t *values)
{
    const int64_t s = recipe->seq_length;
    int32_t *tokens = mtlm_calloc(5 * s, sizeof(*tokens));
    int32_t *mask = tokens + s, *room = tokens + 2 * s;

    put_together(recipe, text, layout, tokens);
    if (field != MTLM_FIELD_LABELS)
        mtlm_bert_mask(recipe->vocab, recipe->mask_prob, target, draw,
                       layout->length, tokens, mask, room);
    memcpy(values, (field == MTLM_FIELD_LOSS_MASK ? mask : tokens) + first,
           n * sizeof(*values));
    free(tokens);
}

void mtlm_bert_sample_read(const struct mtlm_bert_recipe *recipe,
                           const struct mtlm_bert_text *text, int64_t target,
                           struct mtlm_draw draw, enum mtlm_field field,
                           int64_t first, int64_t n, int32_t *values)
{
    const struct layout layout = lay_out(recipe, text, target, &draw);

    assert(first >= 0 && n >= 0);
    assert(first + n <= mtlm_field_size(field, recipe->seq_length));
    switch (field) {
    case MTLM_FIELD_TYPES:
        for (int64_t i = 0; i < n; i++)
            values[i] = first + i >= layout.types && first + i < layout.length;
        break;
    case MTLM_FIELD_LENGTH:
        for (int64_t i = 0; i < n; i++)
            values[i] = (int32_t) layout.length;
        break;
    case MTLM_FIELD_ORDER:
        for (int64_t i = 0; i < n; i++)
            values[i] = layout.swapped;
        break;
    default:
        read_text(recipe, text, target, &layout, &draw, field, first, n,
                  values);
    }
}
