#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "codelets/attention/attention.h"
#include "codelets/dropout.h"
#include "tests/codelets/attention_reference.h"

double attention_slope(int head, int heads)
{
    const int closest = 1 << (int) floor(log2(heads));
    const double base = pow(2, -pow(2, -(log2(closest) - 3)));
    const double extra = pow(2, -pow(2, -(log2(2 * closest) - 3)));

    return head < closest ? pow(base, head + 1)
                          : pow(extra, 2 * (head - closest) + 1);
}

struct mtlm_call attention_call(const struct attention_problem *of)
{
    return (struct mtlm_call){
        .kind = MTLM_OP_ATTENTION_FWD,
        .attr.attention = {.heads = of->heads,
                           .first_head = of->first_head,
                           .causal = !of->full,
                           .seq_length = of->s,
                           .coefficient = of->coefficient ? of->coefficient : 1,
                           .alibi_heads = of->alibi_heads,
                           .dropout = {.p = of->p,
                                       .seed = 21,
                                       .layer = 1,
                                       .site = MTLM_SITE_ATTENTION}},
        .shape = {MTLM_SHAPE(of->s, of->b, 3 * of->heads * of->d),
                  MTLM_SHAPE(1, of->b)}};
}

int32_t *attention_lengths(const struct attention_problem *of)
{
    int32_t *lengths = mtlm_calloc(of->b, sizeof(*lengths));

    for (int j = 0; j < of->b; j++)
        lengths[j] = of->s - of->padding[j];
    return lengths;
}

/* Keys that a query sees. */
static int seen_by(const struct attention_problem *of, int j, int query)
{
    const int length = of->s - of->padding[j];

    return query >= length ? 0 : of->full ? length : query + 1;
}

int64_t attention_elems(const struct attention_problem *of)
{
    return (int64_t) of->s * of->b * of->heads * of->d;
}

/* Element c of q (0), k (1) or v (2) at a position. */
static double at(const struct attention_problem *of, const mtlm_real *qkv,
                 int s, int j, int n, int which, int c)
{
    return qkv[(((int64_t) s * of->b + j) * of->heads + n) * 3 * of->d
               + which * of->d + c];
}

/* prob [s]: the probabilities of one query of the keys that it sees; returns
 * their logarithm's normaliser. */
static double probabilities(const struct attention_problem *of,
                            const mtlm_real *qkv, int j, int n, int query,
                            double *prob)
{
    const int seen = seen_by(of, j, query);
    const double slope =
        of->alibi_heads ? attention_slope(of->first_head + n, of->alibi_heads)
                        : 0;
    double max = -INFINITY, sum = 0;

    for (int k = 0; k < seen; k++) {
        prob[k] = 0;
        for (int c = 0; c < of->d; c++)
            prob[k] +=
                at(of, qkv, query, j, n, 0, c) * at(of, qkv, k, j, n, 1, c);
        prob[k] = prob[k] / sqrt(of->d) + slope * (k - query);
        max = fmax(max, prob[k]);
    }
    for (int k = 0; k < seen; k++)
        sum += exp(prob[k] - max);
    for (int k = 0; k < seen; k++)
        prob[k] = exp(prob[k] - max) / sum;
    return seen > 0 ? max + log(sum) : MTLM_ATTENTION_NO_LSE;
}

/* factor [s]: what dropout does to them. */
static void factors(const struct attention_problem *of, int j, int n, int query,
                    mtlm_real *factor)
{
    const struct mtlm_call call = attention_call(of);

    mtlm_dropout_factors(&call.attr.attention.dropout, ATTENTION_SAMPLE + j,
                         ((int64_t) (of->first_head + n) * of->s + query)
                             * of->s,
                         of->s, factor);
}

void attention_reference(const struct attention_problem *of,
                         const mtlm_real *qkv, double *y, double *lse)
{
    double *prob = mtlm_calloc(of->s, sizeof(*prob));
    mtlm_real *factor = mtlm_calloc(of->s, sizeof(*factor));

    for (int j = 0; j < of->b; j++)
        for (int n = 0; n < of->heads; n++)
            for (int q = 0; q < of->s; q++) {
                double *row =
                    y + (((int64_t) q * of->b + j) * of->heads + n) * of->d;

                lse[(j * of->heads + n) * of->s + q] =
                    probabilities(of, qkv, j, n, q, prob);
                factors(of, j, n, q, factor);
                for (int c = 0; c < of->d; c++) {
                    row[c] = 0;
                    for (int k = 0; k < seen_by(of, j, q); k++)
                        row[c] +=
                            prob[k] * factor[k] * at(of, qkv, k, j, n, 2, c);
                }
            }
    free(prob), free(factor);
}

/* With dv = prob^T dy, dscore = prob (dprob - sum prob dprob). */
void attention_reference_backward(const struct attention_problem *of,
                                  const mtlm_real *qkv, const mtlm_real *dy,
                                  double *dqkv)
{
    double *prob = mtlm_calloc(of->s, sizeof(*prob));
    double *dprob = mtlm_calloc(of->s, sizeof(*dprob));
    mtlm_real *factor = mtlm_calloc(of->s, sizeof(*factor));
    const int width = of->b * of->heads * 3 * of->d;

    for (int j = 0; j < of->b; j++)
        for (int n = 0; n < of->heads; n++)
            for (int q = 0; q < of->s; q++) {
                double *dhead = dqkv + (j * of->heads + n) * 3 * of->d;
                const mtlm_real *row =
                    dy + (((int64_t) q * of->b + j) * of->heads + n) * of->d;
                double dot = 0;

                probabilities(of, qkv, j, n, q, prob);
                factors(of, j, n, q, factor);
                for (int k = 0; k < seen_by(of, j, q); k++) {
                    dprob[k] = 0;
                    for (int c = 0; c < of->d; c++)
                        dprob[k] +=
                            factor[k] * row[c] * at(of, qkv, k, j, n, 2, c);
                    dot += prob[k] * dprob[k];
                }
                for (int k = 0; k < seen_by(of, j, q); k++)
                    for (int c = 0; c < of->d; c++) {
                        const double ds =
                            prob[k] * (dprob[k] - dot) / sqrt(of->d);

                        dhead[q * width + c] += ds * at(of, qkv, k, j, n, 1, c);
                        dhead[k * width + of->d + c] +=
                            ds * at(of, qkv, q, j, n, 0, c);
                        dhead[k * width + 2 * of->d + c] +=
                            prob[k] * factor[k] * row[c];
                    }
            }
    free(prob), free(dprob), free(factor);
}
