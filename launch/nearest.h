#ifndef MTLM_NEAREST_H
#define MTLM_NEAREST_H

/* The candidate that a mistyped name is nearest to.  Start from
 * {.name = name}, offer every candidate, read best: NULL when none is near
 * enough to be what was meant. */
struct mtlm_nearest {
    const char *name, *best;
    int distance;
};

void mtlm_nearest_offer(struct mtlm_nearest *nearest, const char *candidate);

#endif /* MTLM_NEAREST_H */
