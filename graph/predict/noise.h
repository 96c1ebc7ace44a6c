#ifndef MTLM_GRAPH_NOISE_H
#define MTLM_GRAPH_NOISE_H

/* Noise: how much longer or shorter a pass takes than planned.  A draw is a
 * pure function of seed, iteration, replica, stage, microbatch and phase.  So
 * runs and evaluations of every schedule, mode and policy have the same draws.
 *
 * The factor of a pass is the product of four parts:
 *   - a lognormal number of mean 1: exp(sigma z - sigma^2 / 2), z ~ N(0, 1);
 *   - a transient: with probability `chance` the pass takes `times` as long, as
 *     behind a pause of garbage collection (arXiv 2505.05713, whose workers
 *     pause at different times);
 *   - the factor of the rank;
 *   - the factor of a table, of measured passes. */

#include <stdbool.h>
#include <stdint.h>

#include <mtlm/policy.h> /* enum mtlm_phase */

#include "graph/layout.h"

/* Most ranks that have a factor. */
enum { MTLM_NOISE_RANKS = 16 };

struct mtlm_noise_rank {
    int64_t rank;
    double times; /* a pass takes that many times as long */
};

/* Factors of measured passes.  Iterations and replicas repeat. */
struct mtlm_noise_table {
    int iterations, replicas, stages, microbatches;
    /* [iterations][replicas][stages][microbatches][F, B, W] */
    double *factor;
};

/* All fields 0: no noise. */
struct mtlm_noise {
    double sigma;         /* standard deviation of the factor's logarithm */
    double chance, times; /* of a transient; chance 0: none */
    struct mtlm_noise_rank rank[MTLM_NOISE_RANKS];
    int ranks;
    /* Multiplies F, B and W of microbatches.  Borrowed; NULL: none. */
    const struct mtlm_noise_table *table;
};

/* A pass, or what a stage runs once per iteration. */
struct mtlm_noise_pass {
    int64_t iteration; /* from 0 */
    int replica, peer; /* dp_rank, tp_rank */
    int stage;         /* virtual stage in the whole model */
    int microbatch;    /* -1: of the whole iteration, without noise but the
                        * rank's */
    enum mtlm_phase phase;
};

/* Draws of one iteration.  Everything is borrowed. */
struct mtlm_noise_draws {
    const struct mtlm_noise *noise;
    uint64_t seed;
    int64_t iteration;
    int replica;
};

/* Returns whether the noise changes any duration. */
bool mtlm_noise_is_any(const struct mtlm_noise *noise);

/* Returns the lognormal part of a pass, times its transient, times the factor
 * of the table; 1 for what a stage runs once per iteration. */
double mtlm_noise_of_pass(const struct mtlm_noise *noise, uint64_t seed,
                          const struct mtlm_noise_pass *pass);

/* Returns the largest factor of the ranks first .. first + n - 1: 1 unless the
 * noise names one of them. */
double mtlm_noise_of_ranks(const struct mtlm_noise *noise, int64_t first,
                           int64_t n);

/* Returns the factor of a pass of the draws' replica: the pass times the
 * slowest rank of the stage.  draws NULL: 1. */
double mtlm_noise_factor(const struct mtlm_noise_draws *draws,
                         const struct mtlm_layout *layout,
                         enum mtlm_phase phase, int stage, int microbatch);

/* Returns the first rank of the noise that a job of that many ranks lacks; NULL
 * if the job has all. */
const struct mtlm_noise_rank *mtlm_noise_absent(const struct mtlm_noise *noise,
                                                int64_t ranks);

/* Returns a table of that size, whose factors are 0.  The caller frees the
 * table with mtlm_noise_table_free(). */
struct mtlm_noise_table *mtlm_noise_table_create(
    const struct mtlm_noise_table *size);

/* Frees the table; NULL is allowed. */
void mtlm_noise_table_free(struct mtlm_noise_table *table);

/* Returns the number of factors. */
double mtlm_noise_table_passes(const struct mtlm_noise_table *table);

/* Returns the address of the factor of a pass of a microbatch; phase: F, B or
 * W. */
double *mtlm_noise_table_at(const struct mtlm_noise_table *table,
                            const struct mtlm_noise_pass *pass);

#endif /* MTLM_GRAPH_NOISE_H */
