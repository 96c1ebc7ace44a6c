/* Products of bf16 matrices by AMX.  A bf16 C has few rows, and B is a weight:
 * a part of A stays in the second cache, and panels of B pass.  Sums of many
 * terms wait beside it.  amx_sum.c has products with an fp32 C.
 *
 * AMX reads rows of the first factor as memory has them; the second factor must
 * be packed.  Where B is stored as its transpose, B takes the first place: the
 * sums are of the transpose of C, and whole panels of B need no packing. */

#include "config.h"

#include <assert.h>

#include "runtime/amx/amx_block.h"
#include "runtime/amx/amx_pack.h"
#include "runtime/amx/amx_product.h"
#include "runtime/amx/amx_sum.h"
#include "runtime/base/least.h"

enum {
    SIDE = MTLM_AMX_SIDE,
    MOST_TERMS = MTLM_AMX_MOST_TERMS,
    PANEL = SIDE * MOST_TERMS,
    /* Panels of B that are packed at once where B is stored by terms: so memory
     * is read eight lines at a time. */
    GROUP = 8,
    /* The part of A is [ROWS, MOST_TERMS].  With more terms sums of COLS
     * columns wait in fp32. */
    ROWS = 512,
    COLS = 1024,
};

/* Panels that come next: the first of their numbers, unless there is none, and
 * how they are stored, by terms or by rows, which are ld elements apart. */
struct next {
    const uint16_t *at;
    bool by_terms;
    int64_t ld;
    int64_t panels; /* by terms: side by side */
};

/* Sets what to fetch of the next panels during product `block` of `blocks` of
 * these panels. */
static void fetch_next(const struct next *next, int64_t block, int64_t blocks,
                       struct mtlm_amx_ahead *ahead)
{
    const int64_t rows = (SIDE + blocks - 1) / blocks;
    const int64_t stride = next->ld * (int64_t) sizeof(*next->at);

    ahead->rows = next->at && block * rows < SIDE ? rows : 0;
    ahead->at =
        next->at ? (const char *) next->at + block * rows * stride : NULL;
    ahead->lines = next->panels;
    ahead->stride = stride;
    ahead->step = next->by_terms ? MTLM_AMX_TERMS * stride : 2 * MTLM_AMX_TERMS;
}

/* A part of a product with a bf16 C. */
struct rows {
    const struct mtlm_amx_product *product;
    bool turned;          /* B is the first factor; sums are transposed */
    int64_t row, m;       /* first row and number of rows */
    int64_t col, n;       /* the same of columns */
    int64_t term, k;      /* the same of terms */
    int64_t group;        /* columns of B that are packed at once */
    uint16_t *a, *panels; /* panels of A, and of a group of B */
    float *sums; /* of blocks, [ROWS / 32, COLS / 32, 32, 32]; NULL: one panel
                  * has all terms */
};

/* Returns column col of B from the part's first term on. */
static const uint16_t *column(const struct rows *part, int64_t col)
{
    const struct mtlm_amx_product *p = part->product;

    return p->packed ? p->b + col * p->k + part->term * SIDE
                     : mtlm_amx_at(p->b, !p->trans_b, p->ldb, col, part->term);
}

/* Panels of B, as mtlm_amx_multiply() takes them. */
struct panels {
    const uint16_t *at;
    int64_t ld; /* if B is the first factor */
};

/* Returns the panels of n columns of B from column col on. */
static struct panels panels_of(const struct rows *part, int64_t col, int64_t n)
{
    const struct mtlm_amx_product *p = part->product;
    const uint16_t *at = column(part, col);

    if (p->packed)
        return (struct panels){at, 0};
    if (part->turned && n == SIDE && part->k % MTLM_AMX_TERMS == 0)
        return (struct panels){at, p->ldb};
    if (part->turned)
        mtlm_amx_pack_a(false, at, p->ldb, n, part->k, part->panels);
    else
        mtlm_amx_pack_b(false, at, p->ldb, n, part->k, part->panels);
    return (struct panels){part->panels, MTLM_AMX_TERMS};
}

/* Adds products to the sums of the block at the part's row i, and fetches. */
static void add_products(const struct rows *part, int64_t i,
                         const struct panels *b, float *sums,
                         const struct mtlm_amx_ahead *to_read,
                         const struct mtlm_amx_ahead *to_write)
{
    const int64_t steps = mtlm_amx_steps(part->k);
    const uint16_t *a = part->a + i * steps * MTLM_AMX_TERMS;
    const bool add = part->term > 0;

    if (part->turned)
        mtlm_amx_multiply(b->at, b->ld, a, steps, add, sums, to_read, to_write);
    else
        mtlm_amx_multiply(a, MTLM_AMX_TERMS, b->at, steps, add, sums, to_read,
                          to_write);
}

/* Computes the block of C at the part's row i and column col. */
static void compute_block(const struct rows *part, int64_t i, int64_t col,
                          const struct panels *b,
                          const struct mtlm_amx_ahead *to_read)
{
    const struct mtlm_amx_product *p = part->product;
    const bool last = part->term + part->k == p->k;
    struct mtlm_amx_ahead to_write = {0};
    _Alignas(64) float own[SIDE * SIDE];
    float *sums =
        part->sums ? part->sums + i * COLS + (col - part->col) * SIDE : own;
    const struct mtlm_amx_block block = {.sums = sums,
                                         .m = mtlm_least(SIDE, part->m - i),
                                         .n = mtlm_least(SIDE, p->n - col),
                                         .bias = p->bias ? p->bias + col : NULL,
                                         .c = (uint16_t *) p->c
                                              + (part->row + i) * p->ldc + col,
                                         .ldc = p->ldc,
                                         .add = p->add};

    if (last)
        mtlm_amx_block_fetch(&block, mtlm_amx_steps(part->k), &to_write);
    add_products(part, i, b, sums, to_read, &to_write);
    if (last && part->turned)
        mtlm_amx_block_transpose(sums);
    if (last)
        mtlm_amx_block_write(&block);
}

/* Computes the blocks of C in n columns from column col on. */
static void compute_group(const struct rows *part, int64_t col, int64_t n,
                          const struct next *next)
{
    struct panels b = panels_of(part, col, n);
    const int64_t high = (part->m + SIDE - 1) / SIDE;
    const int64_t blocks = high * ((n + SIDE - 1) / SIDE);
    int64_t block = 0;

    for (int64_t j = 0; j < n; j += SIDE, b.at += mtlm_amx_panel(part->k))
        for (int64_t i = 0; i < part->m; i += SIDE) {
            struct mtlm_amx_ahead to_read;

            fetch_next(next, block++, blocks, &to_read);
            compute_block(part, i, col + j, &b, &to_read);
        }
}

/* Packs the part of A, for its place as first or second factor. */
static void pack_rows(const struct rows *part)
{
    const struct mtlm_amx_product *p = part->product;
    const uint16_t *from =
        mtlm_amx_at(p->a, p->trans_a, p->lda, part->row, part->term);

    if (part->turned)
        mtlm_amx_pack_b(!p->trans_a, from, p->lda, part->m, part->k, part->a);
    else
        mtlm_amx_pack_a(p->trans_a, from, p->lda, part->m, part->k, part->a);
}

/* Adds the part's terms to the part's sums, and writes C after the last. */
static void add_terms(struct rows *part)
{
    const struct mtlm_amx_product *p = part->product;
    const int64_t end = part->col + part->n, group = part->group;
    struct next next = {.by_terms = p->packed || !p->trans_b,
                        .ld = p->packed ? SIDE : p->ldb,
                        .panels = group / SIDE};

    pack_rows(part);
    for (int64_t col = part->col; col < end; col += group) {
        next.at = col + 2 * group <= end ? column(part, col + group) : NULL;
        compute_group(part, col, mtlm_least(group, end - col), &next);
    }
}

static void compute_bf16(const struct mtlm_amx_product *p,
                         struct mtlm_scratch *scratch)
{
    const int64_t k = mtlm_amx_panel_terms(p->k);
    const bool waits = k < p->k;
    const int64_t cols = waits ? COLS : p->n;
    struct rows part = {.product = p,
                        .turned = p->trans_b && !p->packed,
                        .group = p->packed || p->trans_b ? SIDE : GROUP * SIDE};

    part.a = mtlm_scratch_get(
        scratch, sizeof(*part.a) * (ROWS * MOST_TERMS + GROUP * PANEL)
                     + waits * sizeof(*part.sums) * ROWS * COLS);
    part.panels = part.a + ROWS * MOST_TERMS;
    part.sums = waits ? (void *) (part.panels + GROUP * PANEL) : NULL;
    for (part.row = 0; part.row < p->m; part.row += ROWS) {
        part.m = mtlm_least(ROWS, p->m - part.row);
        for (part.col = 0; part.col < p->n; part.col += cols) {
            part.n = mtlm_least(cols, p->n - part.col);
            for (part.term = 0; part.term < p->k; part.term += k) {
                part.k = mtlm_least(k, p->k - part.term);
                add_terms(&part);
            }
        }
    }
}

double mtlm_amx_product_bytes(int64_t m, int64_t k)
{
    const double rows = (double) mtlm_least(m, ROWS);

    return sizeof(uint16_t)
               * (rows * mtlm_least(k, MOST_TERMS) + (double) GROUP * PANEL)
           + (k > MOST_TERMS ? sizeof(float) * rows * COLS : 0);
}

void mtlm_amx_product(const struct mtlm_amx_product *product,
                      struct mtlm_scratch *scratch)
{
    assert(product->k > 0 && (scratch || product->single));
    assert(!product->single || (!product->packed && !product->bias));
    assert(product->single || !product->next);
    mtlm_amx_begin();
    if (product->single)
        mtlm_amx_sum(product, scratch);
    else
        compute_bf16(product, scratch);
    mtlm_amx_end();
}

bool mtlm_amx_product_packs(int64_t k, int64_t n)
{
    return k % MTLM_AMX_TERMS == 0 && n % SIDE == 0;
}

void mtlm_amx_product_pack(bool trans, int64_t k, int64_t n, const uint16_t *b,
                           uint16_t *packed)
{
    mtlm_amx_pack_b(trans, b, trans ? k : n, n, k, packed);
}
