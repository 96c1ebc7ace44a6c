/* Draws the next token of a sequence from its logits.
 *
 * logits [t, 1, Vl], the vocabulary in order, split among t ranks; token I32
 * [1, 1].
 *
 * attr.sampling: temperature 0 takes the greatest logit, of equal ones the
 * first.  Otherwise the kernel divides logits by the temperature, keeps the
 * top_k greatest ones (0: all), then the fewest of these whose probabilities
 * sum up to top_p, and draws one.  The random number is a function of seed,
 * sequence (context->sample) and position, so every layout draws the same.
 * The token is -1 where a logit is NaN. */

#include "config.h"

#include <math.h>
#include <stdbool.h>

#include "codelets/greatest.h"
#include "codelets/infer.h"
#include "runtime/base/philox.h"

enum { LOGITS, TOKEN };

static int sample_token_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    call->shape[TOKEN] = MTLM_SHAPE(1, 1);
    return mtlm_infer_expect_rank(call, LOGITS, "logits", 3, err);
}

struct candidate {
    double weight; /* exp((logit - greatest) / temperature) */
    int32_t token;
};

/* Returns whether a is the greater one, of equal ones the first token. */
static bool precedes(const struct candidate *a, const struct candidate *b)
{
    return a->weight != b->weight ? a->weight > b->weight : a->token < b->token;
}

/* Moves a candidate down a heap of n, in which none precedes its parent. */
static void sift_down(struct candidate *heap, int64_t n, int64_t at)
{
    const struct candidate moved = heap[at];

    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && precedes(&heap[child + 1], &heap[child]))
            child++;
        if (!precedes(&heap[child], &moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* Removes the first candidate of a heap of *n and returns it. */
static struct candidate take_first(struct candidate *heap, int64_t *n)
{
    const struct candidate first = heap[0];

    heap[0] = heap[--*n];
    sift_down(heap, *n, 0);
    return first;
}

static double add_weights(const struct candidate *candidate, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += candidate[i].weight;
    return sum;
}

/* Writes those of n candidates that stay to kept [n], the greatest first, and
 * returns their number.  A heap, because most of a vocabulary needs no order.
 */
static int64_t keep_greatest(struct candidate *candidate, int64_t n,
                             int64_t top_k, double top_p,
                             struct candidate *kept)
{
    const bool few = top_k > 0 && top_k < n;
    const int64_t most = few ? top_k : n;
    double all = few ? 0 : add_weights(candidate, n), sum = 0;
    int64_t taken = 0, i = 0;

    for (int64_t at = n / 2; at-- > 0;)
        sift_down(candidate, n, at);
    for (; few && taken < most; taken++) {
        kept[taken] = take_first(candidate, &n);
        all += kept[taken].weight;
    }
    for (; i < most && (i == 0 || sum < top_p * all); i++) {
        if (i == taken)
            kept[taken++] = take_first(candidate, &n);
        sum += kept[i].weight;
    }
    return i;
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
    const int64_t top_k = call->attr.sampling.top_k;
    const double t = call->attr.sampling.temperature;
    const double top_p = call->attr.sampling.top_p;
    const int64_t greatest = mtlm_greatest(logits, n);
    int32_t *token = ptr[TOKEN];
    struct candidate *candidate, *kept;
    int64_t n_kept = n;
    double left;

    *token = (int32_t) greatest;
    if (t == 0 || greatest < 0)
        return;
    kept = candidate =
        mtlm_scratch_get(context->scratch, 2 * n * sizeof(*candidate));
    for (int64_t i = 0; i < n; i++)
        candidate[i] = (struct candidate){
            exp(((double) logits[i] - logits[greatest]) / t), (int32_t) i};
    if (top_k > 0 || top_p < 1) {
        kept = candidate + n;
        n_kept = keep_greatest(candidate, n, top_k, top_p, kept);
    }
    left = add_weights(kept, n_kept)
           * draw(call->attr.sampling.seed, context->sample,
                  context->position + context->rows);
    for (int64_t i = 0; i < n_kept && left >= 0; i++) {
        *token = kept[i].token;
        left -= kept[i].weight;
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
