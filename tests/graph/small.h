#ifndef MTLM_TESTS_SMALL_H
#define MTLM_TESTS_SMALL_H

#include "graph/program.h"

/* gpt-tiny's structure - 4 layers, 4 heads, hidden dropout and attention
 * dropout - small enough that its programs run in milliseconds.  The
 * vocabulary is padded, and by different amounts for 1 and 2 tensor-parallel
 * ranks; there are more positions than tokens. */
struct mtlm_program_config small_config(int tp, int pp, int64_t microbatches);

/* The programs of all ranks of config's layout. */
struct small_ranks {
    int n;
    struct mtlm_program **program;
};

struct small_ranks small_ranks_create(const struct mtlm_program_config *config);
void small_ranks_destroy(struct small_ranks *ranks);

/* The layouts and accumulations that the tests go through. */
struct small_case {
    int tp, pp, virtual_stages;
    int64_t microbatches;
};

extern const struct small_case small_cases[];
extern const int small_n_cases;

struct mtlm_program_config small_case_config(const struct small_case *c);

/* Whether ranks a and b meet in group. */
bool small_same_group(const struct mtlm_program *a,
                      const struct mtlm_program *b, enum mtlm_group group);

#endif /* MTLM_TESTS_SMALL_H */
