/* Products by AMX with an fp32 C: C is the gradient of a weight, and A and B
 * are activations.  A part of B stays in the second cache, panels of A and
 * blocks of C pass. */

#include "config.h"

#include "runtime/amx/amx_block.h"
#include "runtime/amx/amx_pack.h"
#include "runtime/amx/amx_sum.h"
#include "runtime/base/least.h"
#include "runtime/base/round_up.h"

enum {
    SIDE = MTLM_AMX_SIDE,
    MOST_TERMS = MTLM_AMX_MOST_TERMS,
    PART = 384 * 1024,    /* numbers of the part of B */
    MORE_ROWS = 8 * SIDE, /* of A's part */
    /* Products that a block of C gets in turn, and their terms.  Two of 128
     * terms take 0.67 to 0.72 of the time of one after the other.  Two of 256
     * would take 1.01 to 1.10 times as long (Xeon, family 6, model 207). */
    MOST_SUMMANDS = 8,
    GROUP_TERMS = 256,
    PART_ON_STACK = 48 * 1024,
    ROW_ON_STACK = SIDE * MOST_TERMS,
};

/* Terms of a product, as many as a panel has at most. */
struct terms {
    const struct mtlm_amx_product *of;
    int64_t first, k;
    int64_t before; /* of the group's other terms, with zeros behind them */
};

/* A part of a sum of products with an fp32 C.  A block of C gets the products
 * of a group of terms one after the other, while caches hold the block. */
struct cols {
    const struct mtlm_amx_product *product;
    int64_t row, m; /* first row and number of rows */
    int64_t col, n; /* the same of columns */
    bool add;       /* adds the group's first product to C */
    bool streams;   /* sets C past the caches */
    struct terms group[MOST_SUMMANDS];
    int n_group;
    int64_t all;     /* terms of the group */
    uint16_t *b, *a; /* panels of B and A, of the group's terms in turn */
};

/* Returns panels of the terms; every panel of the group has `n` rows or columns
 * like it. */
static uint16_t *panels_at(uint16_t *panels, const struct terms *terms,
                           int64_t n)
{
    return panels + terms->before * mtlm_round_up(n, SIDE);
}

/* Sets sums [32, 32] to a product: rows from the part's row i on, columns from
 * its column j on.  Fetches what to_write says. */
static void multiply(const struct cols *part, const struct terms *terms,
                     int64_t i, int64_t j, float *sums,
                     const struct mtlm_amx_ahead *to_write)
{
    const int64_t steps = mtlm_amx_steps(terms->k);
    const uint16_t *a = panels_at(part->a, terms, part->m);
    const uint16_t *b = panels_at(part->b, terms, part->n);
    const struct mtlm_amx_ahead nothing = {0};

    mtlm_amx_multiply(a + i * steps * MTLM_AMX_TERMS, MTLM_AMX_TERMS,
                      b + j * steps * MTLM_AMX_TERMS, steps, false, sums,
                      &nothing, to_write);
}

/* Returns the block of C at the part's row i and column j. */
static struct mtlm_amx_block block_at(const struct cols *part, int64_t i,
                                      int64_t j, const float *sums)
{
    const struct mtlm_amx_product *p = part->product;

    return (struct mtlm_amx_block){
        .sums = sums,
        .m = mtlm_least(SIDE, part->m - i),
        .n = mtlm_least(SIDE, part->n - j),
        .c = (float *) p->c + (part->row + i) * p->ldc + part->col + j,
        .ldc = p->ldc,
        .single = true,
        .add = part->add,
        .streams = part->streams};
}

/* Adds the group's products to the block of C at the part's row i and column
 * j. */
static void add_products(const struct cols *part, int64_t i, int64_t j)
{
    _Alignas(64) float sums[SIDE * SIDE];
    struct mtlm_amx_block block = block_at(part, i, j, sums);

    for (int s = 0; s < part->n_group; s++) {
        struct mtlm_amx_ahead to_write;

        mtlm_amx_block_fetch(&block, mtlm_amx_steps(part->group[s].k),
                             &to_write);
        multiply(part, &part->group[s], i, j, sums, &to_write);
        mtlm_amx_block_write(&block);
        block.add = true;
    }
}

/* Sets the block to the sum of the group's products: C is written once. */
static void stream_products(const struct cols *part, int64_t i, int64_t j)
{
    const struct mtlm_amx_ahead nothing = {0};
    const int last = part->n_group - 1;
    _Alignas(64) float sums[SIDE * SIDE], before[SIDE * SIDE];
    struct mtlm_amx_block block = block_at(part, i, j, sums);
    struct mtlm_amx_block wait = {.sums = sums,
                                  .m = SIDE,
                                  .n = SIDE,
                                  .c = before,
                                  .ldc = SIDE,
                                  .single = true};

    for (int s = 0; s < last; s++) {
        multiply(part, &part->group[s], i, j, sums, &nothing);
        mtlm_amx_block_write(&wait);
        wait.add = true;
        block.before = before;
    }
    multiply(part, &part->group[last], i, j, sums, &nothing);
    mtlm_amx_block_write(&block);
}

/* Computes up to 32 rows of the part, from its row i on. */
static void compute_rows(const struct cols *part, int64_t i)
{
    for (int64_t j = 0; j < part->n; j += SIDE)
        if (part->streams)
            stream_products(part, i, j);
        else
            add_products(part, i, j);
}

static void pack_cols(const struct cols *part)
{
    for (int s = 0; s < part->n_group; s++) {
        const struct terms *terms = &part->group[s];
        const struct mtlm_amx_product *p = terms->of;

        mtlm_amx_pack_b(
            p->trans_b,
            mtlm_amx_at(p->b, !p->trans_b, p->ldb, part->col, terms->first),
            p->ldb, part->n, terms->k, panels_at(part->b, terms, part->n));
    }
}

static void pack_rows(const struct cols *part)
{
    for (int s = 0; s < part->n_group; s++) {
        const struct terms *terms = &part->group[s];
        const struct mtlm_amx_product *p = terms->of;

        mtlm_amx_pack_a(
            p->trans_a,
            mtlm_amx_at(p->a, p->trans_a, p->lda, part->row, terms->first),
            p->lda, part->m, terms->k, panels_at(part->a, terms, part->m));
    }
}

/* Adds the group's terms to the part's columns of all rows. */
static void compute_cols(struct cols *part, int64_t rows)
{
    pack_cols(part);
    for (part->row = 0; part->row < part->product->m; part->row += rows) {
        part->m = mtlm_least(rows, part->product->m - part->row);
        pack_rows(part);
        for (int64_t i = 0; i < part->m; i += SIDE)
            compute_rows(part, i);
    }
}

/* Returns the product's terms from `first` on, as many as a panel has; those of
 * the next product if there are no more. */
static struct terms terms_from(const struct mtlm_amx_product *of, int64_t first)
{
    struct terms terms = {.of = of, .first = first};

    if (first == of->k)
        terms = (struct terms){.of = of->next};
    if (terms.of)
        terms.k = mtlm_least(mtlm_amx_panel_terms(terms.of->k),
                             terms.of->k - terms.first);
    return terms;
}

/* Sets the part's group: terms, and those after them that the group takes. */
static void take_group(struct cols *part, struct terms *terms)
{
    part->n_group = 0;
    part->all = 0;
    while (terms->of && part->n_group < MOST_SUMMANDS) {
        const int64_t padded = mtlm_amx_steps(terms->k) * MTLM_AMX_TERMS;

        if (part->n_group > 0 && part->all + padded > GROUP_TERMS)
            return;
        terms->before = part->all;
        part->group[part->n_group++] = *terms;
        part->all += padded;
        *terms = terms_from(terms->of, terms->first + terms->k);
    }
}

/* Returns whether rows of C's blocks are whole lines. */
static bool has_lines(const struct mtlm_amx_product *p)
{
    return (uintptr_t) p->c % 64 == 0 && p->ldc % MTLM_AMX_ROWS == 0
           && p->n % SIDE == 0;
}

/* The part has memory for `elems` numbers of B, and for `rows` rows of A.
 * read_late: nobody reads C soon. */
static void compute_in(struct cols *part, int64_t elems, int64_t rows,
                       bool read_late)
{
    const struct mtlm_amx_product *p = part->product;
    struct terms terms = terms_from(p, 0);

    part->add = p->add;
    while (terms.of) {
        int64_t cols;

        take_group(part, &terms);
        part->streams = read_late && !part->add && !terms.of && has_lines(p);
        cols = elems / part->all / SIDE * SIDE;
        for (part->col = 0; part->col < p->n; part->col += cols) {
            part->n = mtlm_least(cols, p->n - part->col);
            compute_cols(part, rows);
        }
        part->add = true;
    }
}

void mtlm_amx_sum(const struct mtlm_amx_product *product,
                  struct mtlm_scratch *scratch)
{
    struct cols part = {.product = product};

    if (scratch) {
        part.b = mtlm_scratch_get(
            scratch, sizeof(*part.b) * (PART + MORE_ROWS * MOST_TERMS));
        part.a = part.b + PART;
        compute_in(&part, PART, MORE_ROWS, true);
    } else {
        _Alignas(64) uint16_t b[PART_ON_STACK];
        _Alignas(64) uint16_t a[ROW_ON_STACK];

        part.b = b;
        part.a = a;
        compute_in(&part, PART_ON_STACK, SIDE, false);
    }
}
