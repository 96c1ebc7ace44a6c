/* Chooses and masks the tokens that a BERT predicts, by Megatron's rules. */

#include "config.h"

#include <math.h>

#include "models/text/bert_mask.h"

enum { LONGEST = 3 }; /* words of an n-gram */

/* The words: word i is tokens begin[i] .. end[i] - 1. */
struct words {
    int32_t *begin, *end; /* [n] */
    int64_t n;
};

static void find_words(struct words *words, const struct mtlm_bert_vocab *vocab,
                       int64_t n, const int32_t *tokens)
{
    bool inside = false;

    words->n = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool ordinary =
            tokens[i] != vocab->cls && tokens[i] != vocab->sep;

        if (ordinary && inside
            && vocab->continues(vocab, tokens[i - 1], tokens[i])) {
            words->end[words->n - 1]++;
        } else if (ordinary) {
            words->begin[words->n] = (int32_t) i;
            words->end[words->n++] = (int32_t) i + 1;
        }
        inside = ordinary;
    }
}

/* Returns the tokens of n words from word first on. */
static int64_t length(const struct words *words, int64_t first, int64_t n)
{
    int64_t tokens = 0;

    for (int64_t i = first; i < first + n; i++)
        tokens += words->end[i] - words->begin[i];
    return tokens;
}

/* Words are chosen whole: check the first token. */
static bool touches(const struct words *words, int64_t first, int64_t n,
                    const int32_t *mask)
{
    for (int64_t i = first; i < first + n; i++)
        if (mask[words->begin[i]])
            return true;
    return false;
}

/* Draws 1, 2 or 3 words with 6, 3 and 2 chances of 11, at most the words left.
 */
static int64_t draw_length(struct mtlm_draw *draw, int64_t most)
{
    const int64_t u = mtlm_draw_below(draw, 11);
    const int64_t n = u < 6 ? 1 : u < 9 ? 2 : LONGEST;

    return n < most ? n : most;
}

static int32_t draw_token(const struct mtlm_bert_vocab *vocab,
                          struct mtlm_draw *draw, int32_t token)
{
    if (mtlm_draw_chance(draw, 0.8))
        return vocab->mask;
    if (mtlm_draw_chance(draw, 0.5))
        return token;
    return (int32_t) mtlm_draw_below(draw, vocab->ordinary);
}

/* Chooses tokens begin .. end - 1. */
static void choose_tokens(const struct mtlm_bert_vocab *vocab,
                          struct mtlm_draw *draw, int64_t begin, int64_t end,
                          int32_t *tokens, int32_t *mask)
{
    for (int64_t i = begin; i < end; i++) {
        tokens[i] = draw_token(vocab, draw, tokens[i]);
        mask[i] = 1;
    }
}

/* Chooses n words from word first on; returns how many tokens they are. */
static int64_t choose(const struct mtlm_bert_vocab *vocab,
                      struct mtlm_draw *draw, const struct words *words,
                      int64_t first, int64_t n, int32_t *tokens, int32_t *mask)
{
    for (int64_t w = first; w < first + n; w++)
        choose_tokens(vocab, draw, words->begin[w], words->end[w], tokens,
                      mask);
    return length(words, first, n);
}

/* Returns the shortest word, of several the first in order. */
static int64_t shortest(const struct words *words, const int32_t *order)
{
    int64_t w = order[0];

    for (int64_t i = 1; i < words->n; i++)
        if (length(words, order[i], 1) < length(words, w, 1))
            w = order[i];
    return w;
}

static int64_t budget(double probability, int64_t target, int64_t n)
{
    const int64_t most = (int64_t) (probability * (double) target);
    const int64_t share = llrint(probability * (double) n);
    const int64_t tokens = most < share ? most : share;

    return tokens > 1 ? tokens : probability > 0;
}

int64_t mtlm_bert_mask(const struct mtlm_bert_vocab *vocab, double probability,
                       int64_t target, struct mtlm_draw *draw, int64_t n,
                       int32_t *tokens, int32_t *mask, int32_t *room)
{
    struct words words = {.begin = room, .end = room + n};
    int32_t *order = room + 2 * n;
    int64_t left = budget(probability, target, n), all = left;

    find_words(&words, vocab, n, tokens);
    for (int64_t i = 0; i < words.n; i++)
        order[i] = (int32_t) i;
    for (int64_t i = 0; i < words.n && left > 0; i++) {
        /* The next element of a shuffle (Fisher and Yates). */
        const int64_t j = i + mtlm_draw_below(draw, words.n - i);
        const int32_t first = order[j];
        int64_t grams = draw_length(draw, words.n - first);

        order[j] = order[i];
        order[i] = first;
        while (grams > 0 && length(&words, first, grams) > left)
            grams--;
        if (grams > 0 && !touches(&words, first, grams, mask))
            left -= choose(vocab, draw, &words, first, grams, tokens, mask);
    }
    if (left == all && words.n > 0) { /* every word exceeds the budget */
        const int64_t first = words.begin[shortest(&words, order)];

        choose_tokens(vocab, draw, first, first + left, tokens, mask);
        left = 0;
    }
    return all - left;
}
