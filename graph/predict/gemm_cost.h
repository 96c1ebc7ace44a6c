#ifndef MTLM_GRAPH_GEMM_COST_H
#define MTLM_GRAPH_GEMM_COST_H

/* Durations of matrix products by shape.
 *
 * A product C [m, n] = A [m, k] B [k, n], done `batch` times, takes
 *
 *   max(2 m n k batch / (e peak q), bytes / (e_mem bandwidth))
 *
 * where bytes counts A, B and C once, and q = q_k max over tiles of
 * speed fill waves:
 *
 *   fill    m n batch / (tiles x elements of a tile): the useful share of the
 *           tiles at the edges
 *   waves   tiles / (P ceil(tiles / P)): the busy share of P multiprocessors
 *   q_k     k / (k + f): a tile spends the time of f elements of k to begin and
 *           to end
 *
 * Tiles are cuBLAS's, from 256 x 128 (speed 1) to 64 x 64 (speed 0.65).
 * (Source of tiles and waves: NVIDIA, "Matrix multiplication background user's
 * guide", DU-09799-001, 2020.  The speeds of tiles are assumed.)  Without
 * multiprocessors, q is 1. */

#include "codelets/op.h"
#include "graph/predict/cluster.h"

struct mtlm_gemm {
    int64_t m, n, k, batch;
};

enum { MTLM_MAX_GEMMS = 4 };

/* Sets product[] to the products of a call; returns their number.  Attention
 * counts as whole products of queries, keys and values, without regard to
 * masks. */
int mtlm_gemm_cost_products(const struct mtlm_call *call,
                            struct mtlm_gemm product[MTLM_MAX_GEMMS]);

/* Returns the FLOPs of the products of call and its next calls.  Attention of
 * row parts counts as much as attention of the whole sample. */
double mtlm_gemm_cost_flops(const struct mtlm_call *call);

/* Returns the seconds of a product of elements of element_bytes bytes. */
double mtlm_gemm_cost_seconds(const struct mtlm_cluster *cluster,
                              const struct mtlm_gemm *product,
                              double element_bytes);

#endif /* MTLM_GRAPH_GEMM_COST_H */
