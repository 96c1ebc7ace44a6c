/* Applies merges to a word: joins all occurrences of the pair with the least
 * rank, then searches again.  The order matters: a file may rank a pair before
 * the pair that makes its parts. */

#include "config.h"

#include <stdlib.h>

#include "models/text/merges.h"
#include "runtime/base/memory.h"

enum { SHORT = 48 }; /* tokens; longer words use the heap */

/* Applies merges to a short word: searches all pairs for each rank. */
static int64_t apply_short(const struct mtlm_merges *m, int32_t *tokens,
                           int64_t n)
{
    for (;;) {
        const struct mtlm_merge *found[SHORT], *least = NULL;
        int64_t kept = 0;

        for (int64_t i = 0; i + 1 < n; i++) {
            found[i] = mtlm_merges_find(m, tokens[i], tokens[i + 1]);
            if (found[i] && (!least || found[i]->rank < least->rank))
                least = found[i];
        }
        if (!least)
            return n;
        for (int64_t i = 0; i < n; i++)
            if (i + 1 < n && found[i] == least) {
                tokens[kept++] = least->token;
                i++;
            } else {
                tokens[kept++] = tokens[i];
            }
        n = kept;
    }
}

/* A long word: a list of tokens, each at the place of its first byte, and a
 * heap of pairs by rank, then place.  n log n. */
struct word {
    const struct mtlm_merges *m;
    int32_t *token;          /* [n]; -1: joined to an earlier token */
    int64_t *before, *after; /* [n]; places of the neighbours, or -1 */
    uint64_t *heap;          /* rank << 40 | place */
    int64_t heaped;
    uint64_t *late; /* pairs to push after the current rank */
    int64_t n_late;
};
enum { PLACE_BITS = 40 };
#define PLACE_MASK ((UINT64_C(1) << PLACE_BITS) - 1)

static void push_heap(struct word *w, uint64_t key)
{
    int64_t i = w->heaped++;

    for (; i > 0 && w->heap[(i - 1) / 2] > key; i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = key;
}

static uint64_t pop(struct word *w)
{
    const uint64_t least = w->heap[0], key = w->heap[--w->heaped];
    int64_t i = 0, child;

    while ((child = 2 * i + 1) < w->heaped) {
        if (child + 1 < w->heaped && w->heap[child + 1] < w->heap[child])
            child++;
        if (w->heap[child] >= key)
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = key;
    return least;
}

/* The merge of the token at a place and the next one, or NULL. */
static const struct mtlm_merge *merge_at(const struct word *w, int64_t place)
{
    return place < 0 || w->token[place] < 0 || w->after[place] < 0
               ? NULL
               : mtlm_merges_find(w->m, w->token[place],
                                  w->token[w->after[place]]);
}

static void note_merge(struct word *w, int64_t place)
{
    const struct mtlm_merge *merge = merge_at(w, place);

    if (merge)
        w->late[w->n_late++] =
            (uint64_t) merge->rank << PLACE_BITS | (uint64_t) place;
}

static void join_tokens(struct word *w, int64_t place, int32_t token)
{
    const int64_t next = w->after[place];

    w->token[place] = token;
    w->token[next] = -1;
    w->after[place] = w->after[next];
    if (w->after[next] >= 0)
        w->before[w->after[next]] = place;
    note_merge(w, w->before[place]);
    note_merge(w, place);
}

static void heap_late(struct word *w)
{
    for (int64_t i = 0; i < w->n_late; i++)
        push_heap(w, w->late[i]);
    w->n_late = 0;
}

static int64_t apply_long(const struct mtlm_merges *m, int32_t *tokens,
                          int64_t n)
{
    int64_t *links = mtlm_calloc((size_t) n, 2 * sizeof(*links));
    /* A join makes two pairs, and there are less than n joins. */
    uint64_t *keys = mtlm_calloc((size_t) n, 5 * sizeof(*keys));
    struct word w = {.m = m,
                     .token = tokens,
                     .before = links,
                     .after = links + n,
                     .heap = keys,
                     .late = keys + 3 * n};
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++) {
        w.before[i] = i - 1;
        w.after[i] = i + 1 < n ? i + 1 : -1;
    }
    for (int64_t i = 0; i < n; i++)
        note_merge(&w, i);
    heap_late(&w);
    while (w.heaped > 0) {
        const uint64_t rank = w.heap[0] >> PLACE_BITS;

        while (w.heaped > 0 && w.heap[0] >> PLACE_BITS == rank) {
            const int64_t place = (int64_t) (pop(&w) & PLACE_MASK);
            const struct mtlm_merge *merge = merge_at(&w, place);

            if (merge && (uint64_t) merge->rank == rank)
                join_tokens(&w, place, merge->token);
        }
        heap_late(&w);
    }
    for (int64_t i = 0; i < n; i++)
        if (tokens[i] >= 0)
            tokens[kept++] = tokens[i];
    free(keys);
    free(links);
    return kept;
}

int64_t mtlm_merges_apply(const struct mtlm_merges *m, int32_t *tokens,
                          int64_t n)
{
    return n <= SHORT ? apply_short(m, tokens, n) : apply_long(m, tokens, n);
}
