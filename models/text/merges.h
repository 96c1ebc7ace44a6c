#ifndef MTLM_MERGES_H
#define MTLM_MERGES_H

#include "models/text/vocabulary.h"

/* The merges of byte-pair encoding: pairs of tokens, lowest rank first. */
struct mtlm_merge {
    uint64_t pair; /* left << 32 | right; MTLM_NO_PAIR: free slot */
    int32_t rank, token;
};
#define MTLM_NO_PAIR UINT64_MAX

struct mtlm_merges {
    struct mtlm_merge *merge; /* [mask + 1], open addressing */
    uint64_t mask;
    int64_t n;
    uint64_t hash; /* of the vocabulary and the pairs by rank */
};

/* Reads a merges file; the caller frees the merges.  -1 and MTLM_EXIT_INPUT
 * with the line: bad format, or a token that the vocabulary lacks. */
int mtlm_merges_read(struct mtlm_merges *merges,
                     const struct mtlm_vocabulary *vocabulary, const char *path,
                     struct mtlm_error *err);

/* Takes the merges of a JSON array that path holds: pairs of tokens, as "left
 * right" or as ["left", "right"]; otherwise like mtlm_merges_read(). */
int mtlm_merges_take_json(struct mtlm_merges *merges,
                          const struct mtlm_vocabulary *vocabulary,
                          const json_t *list, const char *path,
                          struct mtlm_error *err);

/* Frees the merges.  Does nothing for zeroed ones. */
void mtlm_merges_free(struct mtlm_merges *merges);

/* Returns the slot of a pair: its merge, or a free one. */
static inline struct mtlm_merge *mtlm_merges_slot(const struct mtlm_merges *m,
                                                  uint64_t pair)
{
    uint64_t i = (pair * 0x9e3779b97f4a7c15) >> 20;

    for (i &= m->mask; m->merge[i].pair != pair; i = (i + 1) & m->mask)
        if (m->merge[i].pair == MTLM_NO_PAIR)
            break;
    return &m->merge[i];
}

/* Returns the merge of two tokens; NULL: there is none. */
static inline const struct mtlm_merge *mtlm_merges_find(
    const struct mtlm_merges *m, int32_t left, int32_t right)
{
    const struct mtlm_merge *merge =
        mtlm_merges_slot(m, (uint64_t) left << 32 | (uint32_t) right);

    return merge->pair == MTLM_NO_PAIR ? NULL : merge;
}

/* Applies merges to tokens [n] in place.  Returns the number of tokens that
 * remain.  Defined in merges_apply.c. */
int64_t mtlm_merges_apply(const struct mtlm_merges *m, int32_t *tokens,
                          int64_t n);

#endif /* MTLM_MERGES_H */
