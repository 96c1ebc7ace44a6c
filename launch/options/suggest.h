#ifndef MTLM_SUGGEST_H
#define MTLM_SUGGEST_H

/* The candidate nearest to a mistyped name.  Start from {.name = name}, offer
 * every candidate, then read best; NULL: no candidate is near enough. */
struct mtlm_suggest {
    const char *name, *best;
    int distance;
};

void mtlm_suggest_offer(struct mtlm_suggest *nearest, const char *candidate);

#endif /* MTLM_SUGGEST_H */
