#ifndef MTLM_ATTENTION_BLOCK_H
#define MTLM_ATTENTION_BLOCK_H

#include <math.h>
#include <string.h>

#include "codelets/op.h"
#include "codelets/tile.h"

/* What forward and backward of one head have in common.  No tensor of all
 * scores is held: blocks of queries meet blocks of keys in the worker's
 * scratch (Dao et al., FlashAttention, arXiv 2205.14135), and of a block only
 * the tiles that a query sees are computed. */

/* One head of one sample: some positions' queries meet some positions' keys
 * and values.  Rows are real positions only: those of padding are left out
 * at the end of either. */
struct mtlm_head {
    const struct mtlm_dropout *dropout;
    int64_t sample, number;         /* in the run, in the model */
    int64_t seq_length;             /* of the sample, padding included */
    int64_t first_query, first_key; /* positions in the sample of the rows 0 */
    int64_t queries, keys;          /* how many rows */
    bool causal;      /* a query sees the keys up to its own position */
    int64_t d;        /* elements of a query, a key, a value */
    int64_t ld, ld_y; /* from one position to the next: of q, k, v; of y */
    /* Scores are q k^T scale, of which the softmax takes coefficient times
     * as much. */
    mtlm_real scale, coefficient;
    const mtlm_real *q, *k, *v;
};

/* Keys that a query sees, by their rows. */
static inline int64_t mtlm_head_seen(const struct mtlm_head *head,
                                     int64_t query)
{
    const int64_t seen =
        head->first_query + query - head->first_key + 1; /* up to itself */

    return !head->causal || seen > head->keys ? head->keys
           : seen < 0                         ? 0
                                              : seen;
}

/* A block of scores, which stays in a core's second cache; both are whole
 * numbers of tiles, by rows as by columns. */
enum {
    MTLM_BLOCK_QUERIES = 96,
    MTLM_BLOCK_KEYS = 192,
    /* Of a row of scores: behind the last key there is room for a tile. */
    MTLM_BLOCK_LD = MTLM_BLOCK_KEYS + 16,
    /* Keys whose values stay in the first cache. */
    MTLM_BLOCK_CHUNK = 96,
};

_Static_assert(MTLM_BLOCK_QUERIES % MTLM_TILE_ROWS == 0
                   && MTLM_BLOCK_KEYS % MTLM_TILE_ROWS == 0
                   && MTLM_BLOCK_KEYS % MTLM_TILE_COLS == 0
                   && MTLM_BLOCK_LD % MTLM_LANES == 0
                   && MTLM_BLOCK_LD - MTLM_BLOCK_KEYS >= MTLM_TILE_ROWS,
               "blocks are whole tiles");

/* A head's operands as the tiles read them, and what is made of them; q, o
 * (forward: y; backward: dy and dq) are of one block of queries. */
struct mtlm_packed {
    int64_t d;     /* elements of a row that is packed: whole vectors */
    int64_t panel; /* elements of MTLM_TILE_COLS transposed keys */
    mtlm_real *kt; /* transposed keys, by panels */
    mtlm_real *v;  /* forward: values by rows */
    mtlm_real *vt; /* backward: transposed values, by panels */
    mtlm_real *k;  /* backward: keys by rows */
    mtlm_real *dk, *dv;
    mtlm_real *q, *o, *dq;
    mtlm_real *score, *dprob; /* [MTLM_BLOCK_QUERIES, MTLM_BLOCK_LD] */
    mtlm_real *factor;        /* [MTLM_BLOCK_KEYS], of dropout */
};

/* nq queries from q0 on that meet nk keys from k0 on. */
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

/* Of the keys of the block, those that a query of it sees. */
static inline int64_t mtlm_block_seen(const struct mtlm_block *b, int64_t query)
{
    const int64_t n =
        mtlm_head_seen(b->head, b->q0 + mtlm_block_least(query, b->nq - 1))
        - b->k0;

    return n < 0 ? 0 : mtlm_block_least(n, b->nk);
}

/* A query's scores beyond the n that it sees count as 0 in the tiles that
 * others of them share with it. */
static inline void mtlm_block_zero_unseen(mtlm_real *row, int64_t n)
{
    memset(row + n, 0, MTLM_TILE_ROWS * sizeof(*row));
}

/* Scores up to a whole number of vectors: their exponentials are 0. */
static inline int64_t mtlm_block_hide_unseen(mtlm_real *row, int64_t n)
{
    const int64_t end = mtlm_tile_whole_vectors(n);

    for (int64_t i = n; i < end; i++)
        row[i] = -INFINITY;
    return end;
}

static inline void mtlm_block_scale_rows(mtlm_real *x, int64_t n,
                                         mtlm_real scale)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        x[i] *= scale;
}

/* The next n elements of *scratch. */
mtlm_real *mtlm_attention_block_scratch_take(mtlm_real **scratch, int64_t n);

/* Takes what both need from scratch and packs the keys. */
struct mtlm_packed mtlm_attention_block_pack_head(const struct mtlm_head *head,
                                                  mtlm_real **scratch);

/* n rows of cols elements, and zeros up to a whole number of tiles. */
void mtlm_attention_block_pack_queries(const mtlm_real *from, int64_t ld,
                                       int64_t n, int64_t cols, mtlm_real *to);

/* to [nq, nk] = products of the rows of a [nq, d] and the keys or values in
 * panels, as far as they are seen. */
void mtlm_attention_block_products_of_seen(const struct mtlm_block *b,
                                           const mtlm_real *a,
                                           const mtlm_real *panels,
                                           mtlm_real *to);

/* to [nq, d] += weights [nq, nk] rows [nk, d], as far as they are seen; or to
 * = where the block is the first one. */
void mtlm_attention_block_sums_over_seen(const struct mtlm_block *b,
                                         const mtlm_real *weights,
                                         const mtlm_real *rows, bool first,
                                         mtlm_real *to);

/* Writes dropout's factors of a query and the first n keys of the block to
 * packed->factor: numbered by their positions in the sample, however it is
 * cut. */
void mtlm_attention_block_dropout_row(const struct mtlm_block *b, int64_t query,
                                      int64_t n);

#endif /* MTLM_ATTENTION_BLOCK_H */
