/* Noise: draws by a counter, lognormal numbers, transients, slow ranks. */

#include "config.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "graph/predict/noise.h"
#include "runtime/base/memory.h"
#include "runtime/base/philox.h"

bool mtlm_noise_is_any(const struct mtlm_noise *noise)
{
    return noise->sigma > 0 || noise->chance > 0 || noise->ranks > 0
           || noise->table;
}

/* Returns a number in (0, 1). */
static double uniform(uint32_t bits)
{
    return ldexp(bits + 0.5, -32);
}

/* Returns a number of the standard normal distribution.  Source: Box, Muller,
 * "A note on the generation of random normal deviates", 1958. */
static double normal(uint32_t a, uint32_t b)
{
    const double turn = 6.283185307179586;

    return sqrt(-2 * log(uniform(a))) * cos(turn * uniform(b));
}

double mtlm_noise_of_pass(const struct mtlm_noise *noise, uint64_t seed,
                          const struct mtlm_noise_pass *pass)
{
    const uint64_t stream = (uint64_t) pass->iteration << 32
                            | (uint64_t) pass->replica << 12
                            | (uint64_t) pass->peer;
    const uint64_t block = (uint64_t) pass->stage << 40
                           | (uint64_t) (pass->microbatch + 1) << 8
                           | (uint64_t) pass->phase;
    const double s = noise->sigma;
    uint32_t bits[4];
    double factor = 1;

    if (pass->microbatch < 0)
        return 1;
    mtlm_philox(seed, stream, block, bits);
    if (s > 0)
        factor = exp(s * normal(bits[0], bits[1]) - s * s / 2);
    if (uniform(bits[2]) < noise->chance)
        factor *= noise->times;
    if (noise->table && pass->phase <= MTLM_PHASE_WEIGHT)
        factor *= *mtlm_noise_table_at(noise->table, pass);
    return factor;
}

double mtlm_noise_of_ranks(const struct mtlm_noise *noise, int64_t first,
                           int64_t n)
{
    double most = 0;
    int64_t named = 0;

    for (int i = 0; i < noise->ranks; i++) {
        const struct mtlm_noise_rank *r = &noise->rank[i];

        if (r->rank < first || r->rank >= first + n)
            continue;
        named++;
        most = fmax(most, r->times);
    }
    return named < n ? fmax(most, 1) : most;
}

double mtlm_noise_factor(const struct mtlm_noise_draws *draws,
                         const struct mtlm_layout *layout,
                         enum mtlm_phase phase, int stage, int microbatch)
{
    const int64_t each = (int64_t) layout->tp * layout->dp;
    struct mtlm_noise_pass pass = {
        .stage = stage, .microbatch = microbatch, .phase = phase};

    if (!draws)
        return 1;
    pass.iteration = draws->iteration;
    pass.replica = draws->replica;
    return mtlm_noise_of_pass(draws->noise, draws->seed, &pass)
           * mtlm_noise_of_ranks(
               draws->noise, each * mtlm_layout_pp_rank(layout, stage), each);
}

const struct mtlm_noise_rank *mtlm_noise_absent(const struct mtlm_noise *noise,
                                                int64_t ranks)
{
    for (int i = 0; i < noise->ranks; i++)
        if (noise->rank[i].rank >= ranks)
            return &noise->rank[i];
    return NULL;
}

/* ---- tables ---- */

double mtlm_noise_table_passes(const struct mtlm_noise_table *table)
{
    return 3.0 * table->iterations * table->replicas * table->stages
           * table->microbatches;
}

struct mtlm_noise_table *mtlm_noise_table_create(
    const struct mtlm_noise_table *size)
{
    struct mtlm_noise_table *table = mtlm_calloc(1, sizeof(*table));

    *table = *size;
    table->factor =
        mtlm_calloc((size_t) mtlm_noise_table_passes(size), sizeof(double));
    return table;
}

void mtlm_noise_table_free(struct mtlm_noise_table *table)
{
    if (!table)
        return;
    free(table->factor);
    free(table);
}

double *mtlm_noise_table_at(const struct mtlm_noise_table *table,
                            const struct mtlm_noise_pass *pass)
{
    int64_t at = pass->iteration % table->iterations;

    at = at * table->replicas + pass->replica % table->replicas;
    at = at * table->stages + pass->stage;
    at = at * table->microbatches + pass->microbatch;
    return &table->factor[3 * at + pass->phase];
}
