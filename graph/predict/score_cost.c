/* Traffic of attention that writes its scores. */

#include "config.h"

#include "graph/predict/gemm_cost.h"
#include "graph/predict/score_cost.h"

/* Products of a forward call; a backward call has twice as many, and a product
 * that is not attention's stands alone. */
enum { FORWARD_PRODUCTS = 2 };

static bool writes_scores(const struct mtlm_call *call)
{
    const enum mtlm_attention_backend backend = call->attr.attention.backend;

    return backend == MTLM_ATTENTION_UNFUSED || backend == MTLM_ATTENTION_LOCAL;
}

struct mtlm_score_cost mtlm_score_cost(const struct mtlm_call *call,
                                       double element_bytes)
{
    struct mtlm_gemm product[MTLM_MAX_GEMMS];
    const int n = mtlm_gemm_cost_products(call, product);
    struct mtlm_score_cost cost = {.kernels = 1};
    double scores;
    bool backward, drops;

    if (n < FORWARD_PRODUCTS || !writes_scores(call))
        return cost;
    backward = n > FORWARD_PRODUCTS;
    drops = call->attr.attention.dropout.p > 0;
    scores = (double) product[0].m * product[0].n * product[0].batch;
    cost.kernels = n + 1 + drops;
    cost.products = (backward ? 4 : 2) * scores * element_bytes;
    cost.apart = (backward ? 3 : 2) * scores * element_bytes;
    if (drops)
        cost.apart += scores * (2 * element_bytes + 1);
    return cost;
}
