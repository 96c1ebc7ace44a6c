/* Blocks of scores: packs operands into tiles and multiplies the seen tiles. */

#include "config.h"

#include "codelets/attention/attention_block.h"
#include "codelets/dropout.h"
#include "runtime/base/value16.h"

mtlm_real *mtlm_attention_block_scratch_take(mtlm_real **scratch, int64_t n)
{
    mtlm_real *taken = *scratch;

    *scratch += n;
    return taken;
}

struct mtlm_packed mtlm_attention_block_pack_head(const struct mtlm_head *head,
                                                  mtlm_real **scratch)
{
    const int64_t d = mtlm_tile_whole_vectors(head->d);
    struct mtlm_packed p = {.d = d, .panel = MTLM_TILE_COLS * head->d};

    p.kt = mtlm_attention_block_scratch_take(
        scratch, mtlm_tile_whole_tiles(head->keys) * head->d);
    p.by_row = mtlm_attention_block_scratch_take(
        scratch, mtlm_block_whole_rows(head->keys) * d);
    p.q = mtlm_attention_block_scratch_take(scratch, MTLM_BLOCK_QUERIES * d);
    p.o = mtlm_attention_block_scratch_take(scratch, MTLM_BLOCK_QUERIES * d);
    p.score = mtlm_attention_block_scratch_take(scratch, MTLM_BLOCK_QUERIES
                                                             * MTLM_BLOCK_LD);
    p.factor = mtlm_attention_block_scratch_take(scratch, MTLM_BLOCK_LD);
    mtlm_attention_block_pack_panels(head, head->k, p.by_row, p.kt);
    return p;
}

void mtlm_attention_block_pack_panels(const struct mtlm_head *head,
                                      const void *x, mtlm_real *by_row,
                                      mtlm_real *panels)
{
    const mtlm_real *from = x;
    int64_t ld = head->ld;

    if (head->type != MTLM_REAL) {
        mtlm_attention_block_pack_rows(head, x, 0, ld, head->keys, by_row);
        from = by_row;
        ld = mtlm_tile_whole_vectors(head->d);
    }
    mtlm_tile_pack_transposed(from, ld, head->keys, head->d, panels);
}

void mtlm_attention_block_pack_rows(const struct mtlm_head *head, const void *x,
                                    int64_t first, int64_t ld, int64_t n,
                                    mtlm_real *to)
{
    const int64_t d = head->d, width = mtlm_tile_whole_vectors(d);

    if (head->type == MTLM_REAL) {
        mtlm_tile_pack_rows((const mtlm_real *) x + first, ld, n, d, to);
        return;
    }
    for (int64_t r = 0; r < n; r++, to += width) {
        mtlm_value16_widen(head->type, (const uint16_t *) x + first + r * ld, d,
                           (void *) to);
        for (int64_t c = d; c < width; c++)
            to[c] = 0;
    }
}

void mtlm_attention_block_pack_queries(const struct mtlm_head *head,
                                       const void *x, int64_t first, int64_t ld,
                                       int64_t n, mtlm_real *to)
{
    const int64_t width = mtlm_tile_whole_vectors(head->d);

    mtlm_attention_block_pack_rows(head, x, first, ld, n, to);
    memset(to + n * width, 0,
           (mtlm_block_whole_rows(n) - n) * width * sizeof(*to));
}

void mtlm_attention_block_products_of_seen(const struct mtlm_block *b,
                                           const mtlm_real *a,
                                           const mtlm_real *panels,
                                           mtlm_real *to)
{
    const int64_t width = b->packed->d;

    panels += b->k0 / MTLM_TILE_COLS * b->packed->panel;
    for (int64_t c = 0; c < b->nk;
         c += MTLM_TILE_COLS, panels += b->packed->panel)
        for (int64_t i = 0; i < b->nq; i += MTLM_TILE_ROWS) {
            const int64_t n = mtlm_block_seen(b, i + MTLM_TILE_ROWS - 1) - c;

            if (n > 0)
                mtlm_tile_row(
                    b->head->d, (struct mtlm_factor){a + i * width, width, 1},
                    panels, MTLM_TILE_COLS,
                    mtlm_least(MTLM_TILE_COLS, mtlm_tile_whole_vectors(n)),
                    false, to + i * MTLM_BLOCK_LD + c, MTLM_BLOCK_LD);
        }
}

void mtlm_attention_block_sums_over_seen(const struct mtlm_block *b,
                                         const mtlm_real *weights,
                                         const mtlm_real *rows, bool first,
                                         mtlm_real *to)
{
    const int64_t width = b->packed->d;

    rows += b->k0 * width;
    for (int64_t c = 0; c < b->nk; c += MTLM_BLOCK_CHUNK)
        for (int64_t i = 0; i < b->nq; i += MTLM_TILE_ROWS) {
            const int64_t n =
                mtlm_least(MTLM_BLOCK_CHUNK,
                           mtlm_block_seen(b, i + MTLM_TILE_ROWS - 1) - c);

            if (n > 0)
                mtlm_tile_row(
                    n,
                    (struct mtlm_factor){weights + i * MTLM_BLOCK_LD + c,
                                         MTLM_BLOCK_LD, 1},
                    rows + c * width, width, width, !first || c > 0,
                    to + i * width, width);
        }
}

void mtlm_attention_block_dropout_row(const struct mtlm_block *b, int64_t query,
                                      int64_t n, mtlm_real *factor)
{
    const struct mtlm_head *head = b->head;
    const int64_t row =
        head->number * head->seq_length + head->first_query + b->q0 + query;

    mtlm_dropout_factors(head->dropout, head->sample,
                         row * head->seq_length + head->first_key + b->k0, n,
                         factor);
}
