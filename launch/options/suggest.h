#ifndef MTLM_SUGGEST_H
#define MTLM_SUGGEST_H

/* The candidate that a mistyped name is nearest to.  Start from
 * {.name = name}, offer every candidate, read best: NULL when none is near
 * enough to be what was meant. */
struct mtlm_suggest {
    const char *name, *best;
    int distance;
};

void mtlm_suggest_offer(struct mtlm_suggest *nearest, const char *candidate);

#endif /* MTLM_SUGGEST_H */
