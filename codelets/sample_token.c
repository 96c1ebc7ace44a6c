/* Draws the next token of a sequence from its logits.
 *
 * logits [t, 1, Vl], the vocabulary in order, split among t ranks; token I32
 * [1, 1].
 *
 * attr.sampling: temperature 0 takes the greatest logit, of equal ones the
 * first.  Otherwise the kernel divides logits by the temperature, keeps the
 * top_k greatest ones (0: all), then the fewest of these whose probabilities
 * sum up to top_p, and draws one.  The random number is a function of seed,
 * sequence (context->sample) and position, so every layout draws the same. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "codelets/infer.h"
#include "runtime/base/philox.h"

enum { LOGITS, TOKEN };

static int sample_token_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    call->shape[TOKEN] = MTLM_SHAPE(1, 1);
    return mtlm_infer_expect_rank(call, LOGITS, "logits", 3, err);
}

static int32_t find_greatest(const mtlm_real *logits, int64_t n)
{
    int32_t best = 0;

    for (int64_t i = 1; i < n; i++)
        if (logits[i] > logits[best])
            best = (int32_t) i;
    return best;
}

struct candidate {
    double weight; /* exp((logit - greatest) / temperature) */
    int32_t token;
};

/* The greatest first; of equal ones the first token. */
static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return x->token < y->token ? -1 : 1;
}

/* Returns how many of n candidates to keep, and their weight in *sum.  The
 * candidates are sorted if any is left out. */
static int64_t count_kept(const struct candidate *candidate, int64_t n,
                          int64_t top_k, double top_p, double *sum)
{
    double all = 0, part = 0;
    int64_t kept = 0;

    n = top_k > 0 && top_k < n ? top_k : n;
    for (int64_t i = 0; i < n; i++)
        all += candidate[i].weight;
    while (kept < n && (kept == 0 || part < top_p * all))
        part += candidate[kept++].weight;
    *sum = part;
    return kept;
}

/* Returns a number in [0, 1). */
static double draw(uint64_t seed, int64_t sequence, int64_t position)
{
    uint32_t word[4];

    mtlm_philox(seed, mtlm_philox_token_stream(sequence), (uint64_t) position,
                word);
    return ((word[0] >> 5) * 67108864.0 + (word[1] >> 6)) / 9007199254740992.0;
}

static void sample_token_cpu(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const mtlm_real *logits = ptr[LOGITS];
    const int64_t n = call->attr.sampling.size;
    const double t = call->attr.sampling.temperature;
    const int32_t greatest = find_greatest(logits, n);
    int32_t *token = ptr[TOKEN];
    struct candidate *candidate;
    int64_t kept;
    double left, sum;

    *token = greatest;
    if (t == 0)
        return;
    candidate = mtlm_scratch_get(context->scratch, n * sizeof(*candidate));
    for (int64_t i = 0; i < n; i++)
        candidate[i] = (struct candidate){
            exp(((double) logits[i] - logits[greatest]) / t), (int32_t) i};
    if (call->attr.sampling.top_k > 0 || call->attr.sampling.top_p < 1)
        qsort(candidate, n, sizeof(*candidate), compare_candidates);
    kept = count_kept(candidate, n, call->attr.sampling.top_k,
                      call->attr.sampling.top_p, &sum);
    left = sum
           * draw(call->attr.sampling.seed, context->sample,
                  context->position + context->rows);
    for (int64_t i = 0; i < kept && left >= 0; i++) {
        *token = candidate[i].token;
        left -= candidate[i].weight;
    }
}

const struct mtlm_op mtlm_op_sample_token = {
    .name = "sample_token",
    .op_class = MTLM_CLASS_HOST,
    .n_operands = 2,
    .access = {[LOGITS] = MTLM_R, [TOKEN] = MTLM_W},
    .dtype = {[LOGITS] = MTLM_VALUE, [TOKEN] = MTLM_I32},
    .infer = sample_token_infer,
    .cpu = sample_token_cpu,
};
