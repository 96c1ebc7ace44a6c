#ifndef MTLM_ATTENTION_BLOCK_H
#define MTLM_ATTENTION_BLOCK_H

/* Blocks of attention scores: shared by forward and backward of one head on the
 * CPU. */

#include <math.h>
#include <string.h>

#include "codelets/op.h"
#include "codelets/tile.h"

/* No tensor of all scores exists: blocks of queries meet blocks of keys in the
 * worker's scratch (Dao et al., FlashAttention, arXiv 2205.14135).  Kernels
 * compute only the tiles of a block that a query sees. */

/* One head of one sample: the queries of some positions meet the keys and
 * values of some positions.  Rows end before the padding. */
struct mtlm_head {
    const struct mtlm_dropout *dropout;
    /* sample: its number in the run; number: the head's in the model */
    int64_t sample, number;
    int64_t seq_length;             /* length of the sample with padding */
    int64_t first_query, first_key; /* sample positions of row 0 */
    int64_t queries, keys;          /* number of rows */
    bool causal;                    /* queries see keys up to their position */
    int64_t d;                      /* elements per query, key, value */
    int64_t ld, ld_y; /* elements between positions: of q, k, v; of y */
    /* Scores are q k^T scale; the softmax multiplies scores by coefficient. */
    mtlm_real scale, coefficient;
    const mtlm_real *q, *k, *v;
};

/* Returns the number of keys that a query (row number) sees. */
static inline int64_t mtlm_head_seen(const struct mtlm_head *head,
                                     int64_t query)
{
    const int64_t seen =
        head->first_query + query - head->first_key + 1; /* up to the query */

    return !head->causal || seen > head->keys ? head->keys
           : seen < 0                         ? 0
                                              : seen;
}

/* A block of scores fits the second-level cache of a core.  Both extents are
 * whole tiles, by rows and by columns. */
enum {
    MTLM_BLOCK_QUERIES = 96,
    MTLM_BLOCK_KEYS = 192,
    /* Row length of scores: room for mtlm_block_zero_unseen(). */
    MTLM_BLOCK_LD = MTLM_BLOCK_KEYS + 16,
    /* Keys whose values fit the first-level cache. */
    MTLM_BLOCK_CHUNK = 96,
};

_Static_assert(MTLM_BLOCK_QUERIES % MTLM_TILE_ROWS == 0
                   && MTLM_BLOCK_KEYS % MTLM_TILE_ROWS == 0
                   && MTLM_BLOCK_KEYS % MTLM_TILE_COLS == 0
                   && MTLM_BLOCK_LD % MTLM_LANES == 0
                   && MTLM_BLOCK_LD - MTLM_BLOCK_KEYS >= MTLM_TILE_ROWS,
               "blocks are whole tiles");

/* A head's operands and results, packed for tiles.  q, o and dq belong to one
 * block of queries: o is y (forward) or dy (backward), dq the gradient of q. */
struct mtlm_packed {
    int64_t d;     /* packed row length: whole vectors */
    int64_t panel; /* elements of MTLM_TILE_COLS transposed keys */
    mtlm_real *kt; /* transposed keys, by panels */
    mtlm_real *v;  /* forward: values by rows */
    mtlm_real *vt; /* backward: transposed values, by panels */
    mtlm_real *k;  /* backward: keys by rows */
    mtlm_real *dk, *dv;
    mtlm_real *q, *o, *dq;
    mtlm_real *score, *dprob; /* [MTLM_BLOCK_QUERIES, MTLM_BLOCK_LD] */
    mtlm_real *factor;        /* [MTLM_BLOCK_LD], dropout factors */
};

/* A block: nq queries from q0 on meet nk keys from k0 on. */
struct mtlm_block {
    const struct mtlm_head *head;
    const struct mtlm_packed *packed;
    int64_t q0, nq, k0, nk;
};

static inline int64_t mtlm_block_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t mtlm_block_whole_rows(int64_t n)
{
    return (n + MTLM_TILE_ROWS - 1) / MTLM_TILE_ROWS * MTLM_TILE_ROWS;
}

/* Returns how many keys of the block a query of the block sees. */
static inline int64_t mtlm_block_seen(const struct mtlm_block *b, int64_t query)
{
    const int64_t n =
        mtlm_head_seen(b->head, b->q0 + mtlm_block_least(query, b->nq - 1))
        - b->k0;

    return n < 0 ? 0 : mtlm_block_least(n, b->nk);
}

/* Sets MTLM_TILE_ROWS scores behind the n seen keys to 0.  Later queries in the
 * same row of tiles may see some of these keys. */
static inline void mtlm_block_zero_unseen(mtlm_real *row, int64_t n)
{
    memset(row + n, 0, MTLM_TILE_ROWS * sizeof(*row));
}

/* Sets the scores behind the n seen keys to -infinity, up to a whole vector;
 * the exponentials of these scores are 0.  Returns n rounded up to whole
 * vectors. */
static inline int64_t mtlm_block_hide_unseen(mtlm_real *row, int64_t n)
{
    const int64_t end = mtlm_tile_whole_vectors(n);

    for (int64_t i = n; i < end; i++)
        row[i] = -INFINITY;
    return end;
}

/* Multiplies x [n] by scale. */
static inline void mtlm_block_scale_rows(mtlm_real *x, int64_t n,
                                         mtlm_real scale)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        x[i] *= scale;
}

/* Returns the next n elements of *scratch and advances *scratch. */
mtlm_real *mtlm_attention_block_scratch_take(mtlm_real **scratch, int64_t n);

/* Packs the head's keys.  Returns a struct whose kt, q, o, score and factor lie
 * in *scratch; the caller adds the other members.  Advances *scratch. */
struct mtlm_packed mtlm_attention_block_pack_head(const struct mtlm_head *head,
                                                  mtlm_real **scratch);

/* Packs n rows of cols elements, whose rows are ld elements apart.  Fills up
 * with zeros to whole tiles. */
void mtlm_attention_block_pack_queries(const mtlm_real *from, int64_t ld,
                                       int64_t n, int64_t cols, mtlm_real *to);

/* Computes `to` [nq, nk], for tiles that a query sees: the product of each row
 * of a [nq, d] with each key or value in panels. */
void mtlm_attention_block_products_of_seen(const struct mtlm_block *b,
                                           const mtlm_real *a,
                                           const mtlm_real *panels,
                                           mtlm_real *to);

/* Computes `to` [nq, d] += weights [nq, nk] rows [nk, d], over tiles that a
 * query sees.  first: sets `to` instead of adding. */
void mtlm_attention_block_sums_over_seen(const struct mtlm_block *b,
                                         const mtlm_real *weights,
                                         const mtlm_real *rows, bool first,
                                         mtlm_real *to);

/* Writes the dropout factors of a query and the first n keys of the block to
 * packed->factor.  The factors depend on positions in the sample, not on the
 * blocks. */
void mtlm_attention_block_dropout_row(const struct mtlm_block *b, int64_t query,
                                      int64_t n);

#endif /* MTLM_ATTENTION_BLOCK_H */
