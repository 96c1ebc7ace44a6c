/* Matrix products of calls, and their durations: tiles, waves, memory. */

#include "config.h"

#include <math.h>

#include "codelets/attention/attention.h"
#include "codelets/linear.h"
#include "codelets/linear_gelu.h"
#include "graph/predict/gemm_cost.h"

/* ---- products of a call ---- */

/* weight [n, k], of which x [m, k] is a factor: y = x weight^T. */
static struct mtlm_gemm forward_product(const struct mtlm_shape *x,
                                        const struct mtlm_shape *weight)
{
    return (struct mtlm_gemm){mtlm_shape_rows(x), weight->dim[0],
                              weight->dim[1], 1};
}

/* dx = dy weight */
static struct mtlm_gemm input_product(const struct mtlm_shape *dy,
                                      const struct mtlm_shape *weight)
{
    return (struct mtlm_gemm){mtlm_shape_rows(dy), weight->dim[1],
                              weight->dim[0], 1};
}

/* dweight = dy^T x */
static struct mtlm_gemm weight_product(const struct mtlm_shape *x,
                                       const struct mtlm_shape *dy)
{
    return (struct mtlm_gemm){mtlm_shape_cols(dy), mtlm_shape_cols(x),
                              mtlm_shape_rows(x), 1};
}

/* Scores q k^T, and sums of v weighted by them. */
static int attention_products(const struct mtlm_call *call,
                              const struct mtlm_shape *key,
                              struct mtlm_gemm product[MTLM_MAX_GEMMS])
{
    const struct mtlm_shape *query = &call->shape[ATT_QKV];
    const int64_t heads = call->attr.attention.heads;
    const int64_t head = query->dim[2] / 3 / heads;
    const int64_t batch = heads * query->dim[1];

    product[0] = (struct mtlm_gemm){query->dim[0], key->dim[0], head, batch};
    product[1] = (struct mtlm_gemm){query->dim[0], head, key->dim[0], batch};
    return 2;
}

/* Gradients of the scores have the shape of scores, and dq that of the sums; dk
 * and dv are sums over queries. */
static int attention_gradients(const struct mtlm_call *call,
                               const struct mtlm_shape *key,
                               struct mtlm_gemm product[MTLM_MAX_GEMMS])
{
    const int n = attention_products(call, key, product);

    for (int i = n; i < n + 2; i++) {
        product[i] = product[1];
        product[i].m = product[1].k;
        product[i].k = product[1].m;
    }
    return n + 2;
}

int mtlm_gemm_cost_products(const struct mtlm_call *call,
                            struct mtlm_gemm product[MTLM_MAX_GEMMS])
{
    const struct mtlm_shape *shape = call->shape;

    switch (call->kind) {
    case MTLM_OP_LINEAR_FWD:
    case MTLM_OP_LINEAR_BIAS_FWD:
    case MTLM_OP_LINEAR_GELU_FWD:
    case MTLM_OP_GELU_LINEAR_FWD:
        product[0] = forward_product(&shape[LIN_X], &shape[LIN_WEIGHT]);
        return 1;
    case MTLM_OP_LINEAR_DGRAD:
    case MTLM_OP_LINEAR_DGRAD_ADD:
    case MTLM_OP_GELU_LINEAR_DGRAD:
        product[0] = input_product(&shape[LIND_DY], &shape[LIND_WEIGHT]);
        return 1;
    case MTLM_OP_LINEAR_WGRAD:
    case MTLM_OP_LINEAR_BIAS_WGRAD:
        product[0] = weight_product(&shape[LINW_X], &shape[LINW_DY]);
        return 1;
    case MTLM_OP_ATTENTION_FWD:
        return attention_products(call, &shape[ATT_QKV], product);
    case MTLM_OP_ATTENTION_MORE_FWD:
        return attention_products(call, &shape[ATTM_QKV_K], product);
    case MTLM_OP_ATTENTION_BWD:
    case MTLM_OP_ATTENTION_BWD_ADD:
        return attention_gradients(call, &shape[ATTB_QKV], product);
    case MTLM_OP_ATTENTION_MORE_BWD:
        return attention_gradients(call, &shape[ATTMB_QKV_K], product);
    default:
        return 0;
    }
}

static double flops_of(const struct mtlm_gemm *p)
{
    return 2.0 * p->m * p->n * p->k * p->batch;
}

/* Returns whether the call is causal attention to an earlier part.  Its keys
 * count for the later keys, too, which no call sees. */
static bool counts_twice(const struct mtlm_call *call)
{
    return (call->kind == MTLM_OP_ATTENTION_MORE_FWD
            || call->kind == MTLM_OP_ATTENTION_MORE_BWD)
           && call->attr.attention.causal;
}

double mtlm_gemm_cost_flops(const struct mtlm_call *call)
{
    struct mtlm_gemm product[MTLM_MAX_GEMMS];
    double flops = 0;

    for (; call; call = call->next)
        for (int i = mtlm_gemm_cost_products(call, product); i-- > 0;)
            flops += (counts_twice(call) ? 2 : 1) * flops_of(&product[i]);
    return flops;
}

/* ---- seconds ---- */

static const struct tile {
    int64_t rows, cols;
    double speed; /* of a full multiprocessor; the largest tile's is 1 */
} tiles[] = {
    {256, 128, 1},   {128, 256, 1},   {128, 128, 0.95}, {256, 64, 0.88},
    {64, 256, 0.88}, {128, 64, 0.82}, {64, 128, 0.82},  {64, 64, 0.65},
};

static int64_t pieces(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

static double tile_share(const struct mtlm_gemm *p, const struct tile *tile,
                         int64_t processors)
{
    const double n =
        (double) pieces(p->m, tile->rows) * pieces(p->n, tile->cols) * p->batch;
    const double fill =
        (double) p->m * p->n * p->batch / (n * tile->rows * tile->cols);

    return tile->speed * fill * n / (processors * ceil(n / processors));
}

/* Returns q of the header. */
static double shape_share(const struct mtlm_cluster *cluster,
                          const struct mtlm_gemm *p)
{
    double best = 0;

    if (!cluster->processors)
        return 1;
    for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++)
        best = fmax(best, tile_share(p, &tiles[i], cluster->processors));
    return best * p->k / (p->k + cluster->product_fill);
}

double mtlm_gemm_cost_seconds(const struct mtlm_cluster *cluster,
                              const struct mtlm_gemm *p, double element_bytes)
{
    const double elems =
        ((double) p->m * p->k + (double) p->k * p->n + (double) p->m * p->n)
        * p->batch;

    return fmax(flops_of(p)
                    / (cluster->efficiency * cluster->flops_per_s
                       * shape_share(cluster, p)),
                elems * element_bytes
                    / (cluster->memory_efficiency * cluster->bytes_per_s));
}
