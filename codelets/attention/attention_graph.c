/* Builds attention forward and backward as graphs of cuDNN operations.  Built
 * only with cuDNN. */

#include "config.h"

#include "codelets/attention/attention_graph.h"

struct build {
    struct mtlm_cudnn_graph *graph;
    const struct mtlm_attention_graph *of;
    cudnnBackendDescriptor_t lengths_q, lengths_k;
};

/* ---- tensors ---- */

/* Returns queries, keys or values, or their gradients, as [samples, heads,
 * rows, d]; transposed: [samples, heads, d, rows].  parts: 3 in qkv, 1 in y. */
static cudnnBackendDescriptor_t rows(const struct build *b, int64_t number,
                                     int parts, bool transposed)
{
    const struct mtlm_attention_graph *of = b->of;
    const int64_t d = of->d, next = parts * of->samples * of->heads * d;
    const int64_t dim[4] = {of->samples, of->heads, transposed ? d : of->rows,
                            transposed ? of->rows : d};
    const int64_t stride[4] = {parts * of->heads * d, parts * d,
                               transposed ? 1 : next, transposed ? next : 1};

    return mtlm_cudnn_tensor(b->graph, number, of->type, dim, stride);
}

/* Returns a tensor of one number per query and key, inside the graph. */
static cudnnBackendDescriptor_t scores(const struct build *b,
                                       cudnnDataType_t type)
{
    const struct mtlm_attention_graph *of = b->of;
    const int64_t s = of->rows;
    const int64_t dim[4] = {of->samples, of->heads, s, s};
    const int64_t stride[4] = {of->heads * s * s, s * s, s, 1};

    return mtlm_cudnn_tensor(b->graph, 0, type, dim, stride);
}

/* Returns a tensor of one number per query. */
static cudnnBackendDescriptor_t statistic(const struct build *b, int64_t number)
{
    const struct mtlm_attention_graph *of = b->of;
    const int64_t dim[4] = {of->samples, of->heads, of->rows, 1};
    const int64_t stride[4] = {of->heads * of->rows, of->rows, 1, 1};

    return mtlm_cudnn_tensor(b->graph, number, CUDNN_DATA_FLOAT, dim, stride);
}

static cudnnBackendDescriptor_t lengths(const struct build *b, int64_t number)
{
    const int64_t dim[4] = {b->of->samples, 1, 1, 1};
    const int64_t stride[4] = {1, 1, 1, 1};

    return mtlm_cudnn_tensor(b->graph, number, CUDNN_DATA_INT32, dim, stride);
}

static cudnnBackendDescriptor_t number64(const struct build *b, int64_t number)
{
    static const int64_t one[4] = {1, 1, 1, 1};

    return mtlm_cudnn_tensor(b->graph, number, CUDNN_DATA_INT64, one, one);
}

/* ---- operations on scores ---- */

/* Returns new scores mode(x, other), in type. */
static cudnnBackendDescriptor_t combined(const struct build *b,
                                         cudnnPointwiseMode_t mode,
                                         cudnnDataType_t precision,
                                         cudnnDataType_t type,
                                         cudnnBackendDescriptor_t x,
                                         cudnnBackendDescriptor_t other)
{
    cudnnBackendDescriptor_t y = scores(b, type);

    mtlm_cudnn_pointwise(b->graph, mode, precision, -1, x, other, NULL, y);
    return y;
}

static cudnnBackendDescriptor_t by(const struct build *b,
                                   cudnnPointwiseMode_t mode,
                                   cudnnBackendDescriptor_t x,
                                   cudnnBackendDescriptor_t other)
{
    return combined(b, mode, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, x, other);
}

static cudnnBackendDescriptor_t index_along(const struct build *b,
                                            cudnnDataType_t precision,
                                            cudnnBackendDescriptor_t x,
                                            int64_t axis)
{
    cudnnBackendDescriptor_t y = scores(b, CUDNN_DATA_INT32);

    mtlm_cudnn_pointwise(b->graph, CUDNN_POINTWISE_GEN_INDEX, precision, axis,
                         x, NULL, NULL, y);
    return y;
}

static cudnnBackendDescriptor_t compared(const struct build *b,
                                         cudnnPointwiseMode_t mode,
                                         cudnnBackendDescriptor_t x,
                                         cudnnBackendDescriptor_t other)
{
    return combined(b, mode, CUDNN_DATA_BOOLEAN, CUDNN_DATA_BOOLEAN, x, other);
}

/* Returns x where seen, else the value with that number. */
static cudnnBackendDescriptor_t masked(const struct build *b,
                                       cudnnBackendDescriptor_t x,
                                       int64_t number,
                                       cudnnBackendDescriptor_t seen)
{
    cudnnBackendDescriptor_t y = scores(b, CUDNN_DATA_FLOAT);

    mtlm_cudnn_pointwise(b->graph, CUDNN_POINTWISE_BINARY_SELECT,
                         CUDNN_DATA_FLOAT, -1, x,
                         mtlm_cudnn_value(b->graph, number), seen, y);
    return y;
}

static cudnnBackendDescriptor_t without_padding(const struct build *b,
                                                cudnnBackendDescriptor_t x)
{
    cudnnBackendDescriptor_t row = index_along(b, CUDNN_DATA_INT32, x, 2);
    cudnnBackendDescriptor_t col = index_along(b, CUDNN_DATA_INT32, x, 3);
    cudnnBackendDescriptor_t real_row =
        compared(b, CUDNN_POINTWISE_CMP_LT, row, b->lengths_q);
    cudnnBackendDescriptor_t real_col =
        compared(b, CUDNN_POINTWISE_CMP_LT, col, b->lengths_k);

    return masked(b, x, MTLM_ATTG_PADDED,
                  compared(b, CUDNN_POINTWISE_LOGICAL_AND, real_row, real_col));
}

static cudnnBackendDescriptor_t up_to_itself(const struct build *b,
                                             cudnnBackendDescriptor_t x)
{
    cudnnBackendDescriptor_t row = index_along(b, CUDNN_DATA_FLOAT, x, 2);
    cudnnBackendDescriptor_t col = index_along(b, CUDNN_DATA_FLOAT, x, 3);

    return masked(b, x, MTLM_ATTG_UNSEEN,
                  compared(b, CUDNN_POINTWISE_CMP_GE, row, col));
}

static cudnnBackendDescriptor_t product(const struct build *b,
                                        cudnnBackendDescriptor_t queries,
                                        cudnnBackendDescriptor_t keys)
{
    cudnnBackendDescriptor_t y = scores(b, CUDNN_DATA_FLOAT);

    mtlm_cudnn_matmul(b->graph, queries, keys, y, b->lengths_q, b->lengths_k,
                      NULL);
    return y;
}

/* Returns 1 for a kept score, 0 for a dropped one. */
static cudnnBackendDescriptor_t kept(const struct build *b)
{
    cudnnBackendDescriptor_t y = scores(b, CUDNN_DATA_FLOAT);

    mtlm_cudnn_bernoulli(b->graph, 1 - b->of->dropout,
                         number64(b, MTLM_ATTG_SEED),
                         number64(b, MTLM_ATTG_OFFSET), y);
    return y;
}

static struct build start(struct mtlm_cudnn_graph *graph,
                          const struct mtlm_attention_graph *of)
{
    struct build b = {.graph = graph, .of = of};

    b.lengths_q = lengths(&b, MTLM_ATTG_LENGTHS_Q);
    b.lengths_k = lengths(&b, MTLM_ATTG_LENGTHS_K);
    return b;
}

/* ---- forward ---- */

/* Returns the softmax of x, in type; writes lse. */
static cudnnBackendDescriptor_t softmax(const struct build *b,
                                        cudnnBackendDescriptor_t x,
                                        cudnnDataType_t type)
{
    cudnnBackendDescriptor_t max = statistic(b, 0), sum = statistic(b, 0);
    cudnnBackendDescriptor_t log = statistic(b, 0);
    cudnnBackendDescriptor_t exponential;

    mtlm_cudnn_reduction(b->graph, CUDNN_REDUCE_TENSOR_MAX, x, max);
    exponential =
        by(b, CUDNN_POINTWISE_EXP, by(b, CUDNN_POINTWISE_SUB, x, max), NULL);
    mtlm_cudnn_reduction(b->graph, CUDNN_REDUCE_TENSOR_ADD, exponential, sum);
    mtlm_cudnn_pointwise(b->graph, CUDNN_POINTWISE_LOG, CUDNN_DATA_FLOAT, -1,
                         sum, NULL, NULL, log);
    mtlm_cudnn_pointwise(b->graph, CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, -1,
                         max, log, NULL, statistic(b, MTLM_ATTG_LSE));
    return combined(b, CUDNN_POINTWISE_DIV, CUDNN_DATA_FLOAT, type, exponential,
                    sum);
}

void mtlm_attention_graph_fwd(struct mtlm_cudnn_graph *graph,
                              const struct mtlm_attention_graph *of)
{
    const struct build b = start(graph, of);
    const bool drop = of->dropout > 0;
    cudnnBackendDescriptor_t x = product(&b, rows(&b, MTLM_ATTG_Q, 3, false),
                                         rows(&b, MTLM_ATTG_K, 3, true));

    x = by(&b, CUDNN_POINTWISE_MUL, x,
           mtlm_cudnn_value(graph, MTLM_ATTG_SCALE));
    x = without_padding(&b, x);
    if (of->causal)
        x = up_to_itself(&b, x);
    x = softmax(&b, x, drop ? CUDNN_DATA_FLOAT : of->type);
    if (drop) {
        x = by(&b, CUDNN_POINTWISE_MUL, x, kept(&b));
        x = combined(&b, CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT, of->type, x,
                     mtlm_cudnn_value(graph, MTLM_ATTG_KEEP));
    }
    mtlm_cudnn_matmul(graph, x, rows(&b, MTLM_ATTG_V, 3, false),
                      rows(&b, MTLM_ATTG_Y, 1, false), b.lengths_q, NULL,
                      b.lengths_k);
}

/* ---- backward ---- */

/* Returns the sum of y dy of each query, times 1 - p. */
static cudnnBackendDescriptor_t sums(const struct build *b,
                                     cudnnBackendDescriptor_t dy)
{
    const struct mtlm_attention_graph *of = b->of;
    const int64_t dim[4] = {of->samples, of->heads, of->rows, of->d};
    const int64_t stride[4] = {of->heads * of->rows * of->d, of->rows * of->d,
                               of->d, 1};
    cudnnBackendDescriptor_t products =
        mtlm_cudnn_tensor(b->graph, 0, CUDNN_DATA_FLOAT, dim, stride);
    cudnnBackendDescriptor_t sum = statistic(b, 0);
    cudnnBackendDescriptor_t scaled = statistic(b, MTLM_ATTG_SUMS);

    mtlm_cudnn_pointwise(b->graph, CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT, -1,
                         dy, rows(b, MTLM_ATTG_Y, 1, false), NULL, products);
    mtlm_cudnn_reduction(b->graph, CUDNN_REDUCE_TENSOR_ADD, products, sum);
    mtlm_cudnn_pointwise(b->graph, CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT, -1,
                         sum, mtlm_cudnn_value(b->graph, MTLM_ATTG_KEPT), NULL,
                         scaled);
    return scaled;
}

/* Appends the product `to` = x^T of_queries; x: scores. */
static void transposed_product(const struct build *b,
                               cudnnBackendDescriptor_t x,
                               cudnnBackendDescriptor_t of_queries, int64_t to)
{
    const struct mtlm_attention_graph *of = b->of;
    const int64_t s = of->rows;
    const int64_t dim[4] = {of->samples, of->heads, s, s};
    const int64_t stride[4] = {of->heads * s * s, s * s, 1, s};
    cudnnBackendDescriptor_t turned =
        mtlm_cudnn_tensor(b->graph, 0, of->type, dim, stride);

    mtlm_cudnn_reshape(b->graph, x, turned);
    mtlm_cudnn_matmul(b->graph, turned, of_queries, rows(b, to, 3, false),
                      b->lengths_k, NULL, b->lengths_q);
}

/* Returns the probabilities, recomputed from the scores and lse. */
static cudnnBackendDescriptor_t probabilities(const struct build *b,
                                              cudnnBackendDescriptor_t q,
                                              cudnnBackendDescriptor_t kt,
                                              cudnnBackendDescriptor_t scale)
{
    cudnnBackendDescriptor_t x =
        by(b, CUDNN_POINTWISE_MUL, product(b, q, kt), scale);

    x = without_padding(b, x);
    x = by(b, CUDNN_POINTWISE_SUB, x, statistic(b, MTLM_ATTG_LSE));
    if (b->of->causal)
        x = up_to_itself(b, x);
    return by(b, CUDNN_POINTWISE_EXP, x, NULL);
}

void mtlm_attention_graph_bwd(struct mtlm_cudnn_graph *graph,
                              const struct mtlm_attention_graph *of)
{
    const struct build b = start(graph, of);
    const bool drop = of->dropout > 0;
    cudnnBackendDescriptor_t q = rows(&b, MTLM_ATTG_Q, 3, false);
    cudnnBackendDescriptor_t kt = rows(&b, MTLM_ATTG_K, 3, true);
    cudnnBackendDescriptor_t k = rows(&b, 0, 3, false);
    cudnnBackendDescriptor_t dy = rows(&b, MTLM_ATTG_DY, 1, false);
    cudnnBackendDescriptor_t scale = mtlm_cudnn_value(graph, MTLM_ATTG_SCALE);
    cudnnBackendDescriptor_t factor = drop ? kept(&b) : NULL;
    cudnnBackendDescriptor_t keep =
        drop ? mtlm_cudnn_value(graph, MTLM_ATTG_KEEP) : NULL;
    cudnnBackendDescriptor_t sum = sums(&b, dy);
    cudnnBackendDescriptor_t p = probabilities(&b, q, kt, scale), x = p;

    if (drop) {
        x = by(&b, CUDNN_POINTWISE_MUL, x, factor);
        x = by(&b, CUDNN_POINTWISE_MUL, x, keep);
    }
    transposed_product(&b, x, dy, MTLM_ATTG_DV);
    x = product(&b, dy, rows(&b, MTLM_ATTG_V, 3, true));
    if (drop)
        x = by(&b, CUDNN_POINTWISE_MUL, x, factor);
    x = by(&b, CUDNN_POINTWISE_SUB, x, sum);
    x = by(&b, CUDNN_POINTWISE_MUL, x, p);
    if (drop)
        x = by(&b, CUDNN_POINTWISE_MUL, x, keep);
    x = by(&b, CUDNN_POINTWISE_MUL, x, scale);
    transposed_product(&b, x, q, MTLM_ATTG_DK);
    mtlm_cudnn_reshape(graph, kt, k);
    mtlm_cudnn_matmul(graph, x, k, rows(&b, MTLM_ATTG_DQ, 3, false),
                      b.lengths_q, NULL, b.lengths_k);
}
