#ifndef MTLM_GRAPH_RANK_PASSES_H
#define MTLM_GRAPH_RANK_PASSES_H

/* The passes of one rank of a pipeline: what the rank runs of every
 * microbatch, and how long other ranks take before, between and after.  All
 * numbers are whole, so that a proof about them is exact. */

#include "graph/predict/evaluate.h"

struct mtlm_rank_pass {
    enum mtlm_phase phase;
    int stage;
    int64_t time; /* ns, rounded down */
    int64_t head; /* ns from the start of the iteration to the first start */
    int64_t tail; /* ns from the last end to the end of the iteration */
    int before;   /* the pass that the same microbatch runs before, or -1 */
    int64_t lag;  /* ns from the end of that pass to the start, at least */
    /* What a start adds to the memory of the rank (F), or an end gives back (B,
     * W): in units of 1e-9 of the memory. */
    int64_t memory;
};

struct mtlm_rank_passes {
    int rank, microbatches, n;
    struct mtlm_rank_pass *pass; /* [n] F, B, W; each before its followers */
    int64_t most_memory;
};

/* Memory of activations. */
struct mtlm_rank_memory {
    const double *stage; /* [stages] of a microbatch, in any unit; borrowed */
    double until_weight; /* share from F to W; the rest is kept from F to B */
    double most;         /* of a rank, in the same unit */
};

/* Returns the passes of a rank.  The pipeline has one worker on each rank.  The
 * caller frees the result with mtlm_rank_passes_free(). */
struct mtlm_rank_passes mtlm_rank_passes_create(
    const struct mtlm_evaluate *pipeline, const struct mtlm_rank_memory *memory,
    int rank);

/* Returns the ns of the longest path through a pass of the rank. */
int64_t mtlm_rank_passes_longest(const struct mtlm_rank_passes *passes);

/* Returns the time in ns: a whole number of nanoseconds but for the rounding of
 * a double, or rounded down. */
int64_t mtlm_rank_passes_ns(double seconds);

/* Sets what a microbatch keeps on a stage from F to B, and from F to W, in
 * units of 1e-9 of memory->most, rounded down. */
void mtlm_rank_memory_units(const struct mtlm_rank_memory *memory, int stage,
                            int64_t *until_backward, int64_t *until_weight);

/* Frees what the passes hold. */
void mtlm_rank_passes_free(struct mtlm_rank_passes *passes);

#endif /* MTLM_GRAPH_RANK_PASSES_H */
