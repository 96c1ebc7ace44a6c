#ifndef MTLM_ATTENTION_BLOCK_H
#define MTLM_ATTENTION_BLOCK_H

/* Blocks of attention scores of one head on the CPU.  Forward and backward use
 * these functions. */

#include <math.h>
#include <string.h>

#include "codelets/op.h"
#include "codelets/tile.h"
#include "runtime/base/least.h"
#include "runtime/base/round_up.h"

/* No tensor holds all scores.  The worker's scratch holds the scores of one
 * block of queries with one block of keys (FlashAttention, arXiv 2205.14135).
 * Kernels skip tiles in which no query sees a key. */

/* One head of one sample: rows of queries, and rows of keys with their values.
 * A row is a position of the sample; rows end before the padding. */
struct mtlm_head {
    const struct mtlm_dropout *dropout;
    /* sample: number of the sample in the run; number: number of the head in
     * its layer, over all tensor-parallel ranks */
    int64_t sample, number;
    int64_t seq_length;             /* length of the sample with padding */
    int64_t first_query, first_key; /* sample positions of row 0 */
    int64_t queries, keys;          /* number of rows */
    bool causal;                    /* queries see keys up to their position */
    int64_t d;                      /* elements per query, key, value */
    /* ld: elements between rows of q, k and v; ld_y: of y */
    int64_t ld, ld_y;
    /* score = scale q k^T + slope (k's position - q's position); the softmax
     * takes exp(coefficient score). */
    mtlm_real scale, slope, coefficient;
    enum mtlm_dtype type;  /* of q, k, v, y and their gradients */
    const void *q, *k, *v; /* q [queries, d]; k, v [keys, d] */
};

/* Returns the number of keys that the query in row `query` sees. */
static inline int64_t mtlm_head_seen(const struct mtlm_head *head,
                                     int64_t query)
{
    const int64_t seen =
        head->first_query + query - head->first_key + 1; /* up to the query */

    return !head->causal || seen > head->keys ? head->keys
           : seen < 0                         ? 0
                                              : seen;
}

/* Sizes of a block.  The scores of a block fit the second-level cache of a
 * core.  Queries and keys of a block fill whole tiles. */
enum {
    MTLM_BLOCK_QUERIES = 96,
    MTLM_BLOCK_KEYS = 192,
    /* Elements between rows of scores, with room for the zeros of
     * mtlm_block_zero_unseen(). */
    MTLM_BLOCK_LD = MTLM_BLOCK_KEYS + 16,
    /* Number of keys whose values fit the first-level cache. */
    MTLM_BLOCK_CHUNK = 96,
};

_Static_assert(MTLM_BLOCK_QUERIES % MTLM_TILE_ROWS == 0
                   && MTLM_BLOCK_KEYS % MTLM_TILE_ROWS == 0
                   && MTLM_BLOCK_KEYS % MTLM_TILE_COLS == 0
                   && MTLM_BLOCK_LD % MTLM_LANES == 0
                   && MTLM_BLOCK_LD - MTLM_BLOCK_KEYS >= MTLM_TILE_ROWS,
               "blocks are whole tiles");

/* A head's operands and results, packed for tiles, in the worker's scratch.  A
 * panel is MTLM_TILE_COLS keys or values, transposed.  Rows of by_row, dk, dv,
 * q, o and dq are d elements long. */
struct mtlm_packed {
    int64_t d;          /* head->d rounded up to whole vectors */
    int64_t panel;      /* elements of a panel */
    mtlm_real *kt;      /* all keys, by panels */
    mtlm_real *vt;      /* backward: all values, by panels */
    mtlm_real *by_row;  /* forward: all values, backward: all keys */
    mtlm_real *dk, *dv; /* backward: gradients of all keys and values */
    /* Rows of one block of queries: q; o is y (forward) or dy (backward); dq is
     * the gradient of q (backward). */
    mtlm_real *q, *o, *dq;
    mtlm_real *score, *dprob; /* [MTLM_BLOCK_QUERIES, MTLM_BLOCK_LD] */
    mtlm_real *factor; /* [MTLM_BLOCK_LD]: dropout factors of one query */
};

/* A block: rows q0 .. q0 + nq - 1 of the queries with rows k0 .. k0 + nk - 1 of
 * the keys. */
struct mtlm_block {
    const struct mtlm_head *head;
    const struct mtlm_packed *packed;
    int64_t q0, nq, k0, nk;
};

/* Returns n rounded up to whole tiles of rows. */
static inline int64_t mtlm_block_whole_rows(int64_t n)
{
    return mtlm_round_up(n, MTLM_TILE_ROWS);
}

/* Returns how many keys of the block the block's query number `query` sees.
 * Rows that fill up the last tile see the keys of the last query. */
static inline int64_t mtlm_block_seen(const struct mtlm_block *b, int64_t query)
{
    const int64_t n =
        mtlm_head_seen(b->head, b->q0 + mtlm_least(query, b->nq - 1)) - b->k0;

    return n < 0 ? 0 : mtlm_least(n, b->nk);
}

/* Sets MTLM_TILE_ROWS scores behind the n seen keys of a query to 0.  Products
 * of tiles read these scores, because later queries of the tile see more
 * keys. */
static inline void mtlm_block_zero_unseen(mtlm_real *row, int64_t n)
{
    memset(row + n, 0, MTLM_TILE_ROWS * sizeof(*row));
}

/* Sets the scores behind the n seen keys of a query to -infinity, up to a whole
 * vector.  The exponentials of these scores are 0.  Returns n rounded up to
 * whole vectors. */
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

/* Returns *scratch and advances *scratch by n elements. */
mtlm_real *mtlm_attention_block_scratch_take(mtlm_real **scratch, int64_t n);

/* Packs the head's keys into kt, 16-bit keys into by_row, too.  Returns a
 * struct with d, panel, kt, and with memory for by_row, q, o, score and factor.
 * The caller adds the other members.  Takes the memory from *scratch and
 * advances *scratch. */
struct mtlm_packed mtlm_attention_block_pack_head(const struct mtlm_head *head,
                                                  mtlm_real **scratch);

/* Packs the head's keys or values x [keys, d] into panels.  by_row [keys, d of
 * struct mtlm_packed]: memory in which 16-bit x are widened. */
void mtlm_attention_block_pack_panels(const struct mtlm_head *head,
                                      const void *x, mtlm_real *by_row,
                                      mtlm_real *panels);

/* Packs n rows [d] of x, which is q, k, v, y or dy, into `to`.  The first row
 * begins at element `first`; rows are ld elements apart.  Zeros fill up each
 * row to whole vectors. */
void mtlm_attention_block_pack_rows(const struct mtlm_head *head, const void *x,
                                    int64_t first, int64_t ld, int64_t n,
                                    mtlm_real *to);

/* The same; zeros fill up the rows to whole tiles, too. */
void mtlm_attention_block_pack_queries(const struct mtlm_head *head,
                                       const void *x, int64_t first, int64_t ld,
                                       int64_t n, mtlm_real *to);

/* Adds ALiBi to the scores of one query with the first n keys of the block. */
static inline void mtlm_block_add_alibi(const struct mtlm_block *b,
                                        int64_t query, int64_t n,
                                        mtlm_real *row)
{
    const struct mtlm_head *head = b->head;
    const mtlm_real slope = head->slope;
    /* Position of the block's first key less the query's. */
    const mtlm_real first =
        head->first_key + b->k0 - (head->first_query + b->q0 + query);

#pragma omp simd
    for (int i = 0; i < n; i++)
        row[i] += slope * (first + (mtlm_real) i);
}

/* Computes `to` [nq, nk] = a [nq, d] x^T, where panels hold the transposed keys
 * or values x of the head.  Skips tiles in which no query sees a key.  Rows of
 * `to` are MTLM_BLOCK_LD elements apart. */
void mtlm_attention_block_products_of_seen(const struct mtlm_block *b,
                                           const mtlm_real *a,
                                           const mtlm_real *panels,
                                           mtlm_real *to);

/* Adds weights [nq, nk] x to `to` [nq, d], where rows hold the keys or values x
 * of the head.  Skips tiles in which no query sees a key.  Rows of weights are
 * MTLM_BLOCK_LD elements apart.  first: sets `to` instead. */
void mtlm_attention_block_sums_over_seen(const struct mtlm_block *b,
                                         const mtlm_real *weights,
                                         const mtlm_real *rows, bool first,
                                         mtlm_real *to);

/* Writes the dropout factors of one query with the first n keys of the block to
 * factor.  The factors depend on positions in the sample, not on blocks. */
void mtlm_attention_block_dropout_row(const struct mtlm_block *b, int64_t query,
                                      int64_t n, mtlm_real *factor);

#endif /* MTLM_ATTENTION_BLOCK_H */
