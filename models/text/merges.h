#ifndef MTLM_MERGES_H
#define MTLM_MERGES_H

#include "models/text/vocabulary.h"

/* The pairs of tokens that byte-pair encoding joins: rank 0 comes first. */
struct mtlm_merge {
    uint64_t pair; /* left << 32 | right; no pair: MTLM_NO_PAIR */
    int32_t rank, token;
};
#define MTLM_NO_PAIR UINT64_MAX

struct mtlm_merges {
    struct mtlm_merge *merge; /* [mask + 1], open addressing */
    uint64_t mask;
    int64_t n;
    uint64_t hash; /* of the pairs by rank, from the vocabulary's */
};

/* Reads a merges file, whose tokens are all in the vocabulary; otherwise -1
 * and MTLM_EXIT_INPUT with its line. */
int mtlm_merges_read(struct mtlm_merges *merges,
                     const struct mtlm_vocabulary *vocabulary, const char *path,
                     struct mtlm_error *err);
void mtlm_merges_free(struct mtlm_merges *merges);

/* Where the merge of a pair is or would be. */
static inline struct mtlm_merge *mtlm_merges_slot(const struct mtlm_merges *m,
                                                  uint64_t pair)
{
    uint64_t i = (pair * 0x9e3779b97f4a7c15) >> 20;

    for (i &= m->mask; m->merge[i].pair != pair; i = (i + 1) & m->mask)
        if (m->merge[i].pair == MTLM_NO_PAIR)
            break;
    return &m->merge[i];
}

/* The merge of two tokens, or NULL. */
static inline const struct mtlm_merge *mtlm_merges_find(
    const struct mtlm_merges *m, int32_t left, int32_t right)
{
    const struct mtlm_merge *merge =
        mtlm_merges_slot(m, (uint64_t) left << 32 | (uint32_t) right);

    return merge->pair == MTLM_NO_PAIR ? NULL : merge;
}

/* Joins what can be joined of n tokens; returns how many are left. */
int64_t mtlm_merges_apply(const struct mtlm_merges *m, int32_t *tokens,
                          int64_t n);

#endif /* MTLM_MERGES_H */
