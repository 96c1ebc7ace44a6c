/* How much of a test runs: make check takes a sample, make check-full all. */
#ifndef MTLM_TESTS_TIER_H
#define MTLM_TESTS_TIER_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* TIER is quick or full (tests/include.am). */
static inline bool full_tier(void)
{
    const char *tier = getenv("TIER");

    return tier && strcmp(tier, "full") == 0;
}

#endif /* MTLM_TESTS_TIER_H */
