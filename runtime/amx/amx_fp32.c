/* Products of fp32 matrices by AMX.  Panels of a part of one factor stay in the
 * second cache, those of the other factor pass.  The smaller factor stays.
 *
 * AMX wants pairs of terms of a second factor side by side.  A factor that is
 * stored so by columns needs no transposition; a first factor needs none if
 * stored by rows.  So where B is stored as its transpose, B takes the first
 * place: the sums are of the transpose of C. */

#include "config.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "runtime/amx/amx_block.h"
#include "runtime/amx/amx_fp32.h"
#include "runtime/amx/amx_pack.h"
#include "runtime/amx/amx_split.h"
#include "runtime/base/least.h"
#include "runtime/base/memory.h"

enum {
    SIDE = MTLM_AMX_SIDE,
    MOST_TERMS = 768, /* of a panel */
    /* Numbers of the part that stays, and of the panels that pass at once. */
    PART = 200 * 1024,
    PASSING = 64 * 1024,
    /* Bytes of a C that no cache keeps until C is read. */
    LARGE = 8 * 1024 * 1024,
};

/* Rows of the first factor, or columns of the second. */
struct factor {
    const float *at;
    bool is_first;
    bool by_terms; /* the terms are ld apart; else the rows or columns are */
    int64_t ld, count;
};

/* A product of parts. */
struct fp32_part {
    struct factor first, second;
    const struct factor *stays, *passes;
    int64_t term, k; /* first and number of terms */
    int64_t row, m;  /* of the part that stays: first and number of rows */
    uint16_t *stay, *pass; /* panels */
    bool turned;           /* the first factor is B */
    bool add, streams;
    float *c;
    int64_t ldc;
};

/* Returns element `row` of the factor from the part's first term on. */
static const float *element(const struct fp32_part *part,
                            const struct factor *factor, int64_t row)
{
    return factor->at
           + (factor->by_terms ? part->term * factor->ld + row
                               : row * factor->ld + part->term);
}

static void split(const struct fp32_part *part, const struct factor *factor,
                  int64_t row, int64_t n, uint16_t *panels)
{
    const float *from = element(part, factor, row);

    if (factor->is_first)
        mtlm_amx_split_first(factor->by_terms, from, factor->ld, n, part->k,
                             panels);
    else
        mtlm_amx_split_second(factor->by_terms, from, factor->ld, n, part->k,
                              panels);
}

/* Sets what to fetch during product `block` of `blocks`: the next n rows that
 * pass, from row `row` on. */
static void fetch_next(const struct fp32_part *part, int64_t row, int64_t n,
                       int64_t block, int64_t blocks,
                       struct mtlm_amx_ahead *ahead)
{
    enum { LINE = 16 }; /* numbers */
    const struct factor *f = part->passes;
    /* Lines that a step of the product takes from memory. */
    const int64_t all = f->by_terms ? MTLM_AMX_TERMS : n;
    const int64_t rows = (all + blocks - 1) / blocks;
    const int64_t stride = f->ld * (int64_t) sizeof(float);

    *ahead = (struct mtlm_amx_ahead){0};
    if (row + n > f->count || block * rows >= all)
        return;
    ahead->at = (const char *) element(part, f, row) + block * rows * stride;
    ahead->rows = mtlm_least(rows, all - block * rows);
    ahead->lines = (f->by_terms ? n : MTLM_AMX_TERMS) / LINE;
    ahead->stride = stride;
    ahead->step = f->by_terms ? MTLM_AMX_TERMS * stride
                              : MTLM_AMX_TERMS * (int64_t) sizeof(float);
}

/* Computes the block of C at `first` and `second`, rows and columns of the
 * factors, from their panels. */
static void compute_block(const struct fp32_part *part, int64_t first,
                          int64_t second, const uint16_t *a, const uint16_t *b,
                          const struct mtlm_amx_ahead *to_read)
{
    const int64_t steps = mtlm_amx_steps(part->k);
    const int64_t row = part->turned ? second : first;
    const int64_t col = part->turned ? first : second;
    const int64_t m = part->turned ? part->second.count : part->first.count;
    const int64_t n = part->turned ? part->first.count : part->second.count;
    struct mtlm_amx_ahead to_write = {0};
    _Alignas(64) float sums[SIDE * SIDE];
    const struct mtlm_amx_block block = {.sums = sums,
                                         .m = mtlm_least(SIDE, m - row),
                                         .n = mtlm_least(SIDE, n - col),
                                         .c = part->c + row * part->ldc + col,
                                         .ldc = part->ldc,
                                         .single = true,
                                         .add = part->add,
                                         .streams = part->streams};

    if (!part->streams)
        mtlm_amx_block_fetch(&block, steps, &to_write);
    mtlm_amx_multiply_split(a, b, steps, sums, to_read, &to_write);
    if (part->turned)
        mtlm_amx_block_transpose(sums);
    mtlm_amx_block_write(&block);
}

/* Computes the blocks of n rows that pass, from row `row` on, with the part
 * that stays. */
static void compute_passing(const struct fp32_part *part, int64_t row,
                            int64_t n, int64_t group)
{
    const int64_t panel = MTLM_AMX_PARTS * mtlm_amx_panel(part->k);
    const int64_t high = (n + SIDE - 1) / SIDE;
    const int64_t wide = (part->m + SIDE - 1) / SIDE;

    split(part, part->passes, row, n, part->pass);
    for (int64_t i = 0; i < high; i++)
        for (int64_t j = 0; j < wide; j++) {
            const uint16_t *passing = part->pass + i * panel;
            const uint16_t *staying = part->stay + j * panel;
            const int64_t p = row + i * SIDE, s = part->row + j * SIDE;
            struct mtlm_amx_ahead to_read;

            fetch_next(part, row + n, group, i * wide + j, high * wide,
                       &to_read);
            if (part->passes->is_first)
                compute_block(part, p, s, passing, staying, &to_read);
            else
                compute_block(part, s, p, staying, passing, &to_read);
        }
}

/* Adds the part's terms to C. */
static void add_terms(struct fp32_part *part)
{
    const int64_t padded = mtlm_amx_steps(part->k) * MTLM_AMX_TERMS;
    const int64_t stay = PART / padded / SIDE * SIDE;
    const int64_t group =
        part->passes->by_terms ? PASSING / padded / SIDE * SIDE : SIDE;

    for (part->row = 0; part->row < part->stays->count; part->row += stay) {
        part->m = mtlm_least(stay, part->stays->count - part->row);
        split(part, part->stays, part->row, part->m, part->stay);
        for (int64_t i = 0; i < part->passes->count; i += group)
            compute_passing(part, i, mtlm_least(group, part->passes->count - i),
                            group);
    }
}

double mtlm_amx_fp32_bytes(int64_t m, int64_t n, int64_t k)
{
    const double terms =
        mtlm_amx_steps(mtlm_least(k, MOST_TERMS)) * (double) MTLM_AMX_TERMS;
    const double stays = terms * (mtlm_least(m, n) + SIDE);
    const double passes = terms * (m + n + SIDE - mtlm_least(m, n));

    return MTLM_AMX_PARTS * sizeof(uint16_t)
           * (fmin(stays, PART) + fmin(passes, PASSING));
}

static pthread_key_t panels_key;

static void free_panels(void *scratch)
{
    mtlm_scratch_free(scratch);
    free(scratch);
}

static void make_key(void)
{
    pthread_key_create(&panels_key, free_panels);
}

/* Returns the thread's memory for panels. */
static uint16_t *panels_of_thread(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct mtlm_scratch *scratch;

    pthread_once(&once, make_key);
    scratch = pthread_getspecific(panels_key);
    if (!scratch) {
        scratch = mtlm_calloc(1, sizeof(*scratch));
        pthread_setspecific(panels_key, scratch);
    }
    return mtlm_scratch_get(scratch, MTLM_AMX_PARTS * (PART + PASSING)
                                         * sizeof(uint16_t));
}

/* Returns whether C is large, and rows of C's blocks are whole lines. */
static bool may_stream(int64_t m, int64_t n, const float *c, int64_t ldc)
{
    return m * n * (int64_t) sizeof(*c) >= LARGE && (uintptr_t) c % 64 == 0
           && ldc % MTLM_AMX_ROWS == 0 && n % SIDE == 0;
}

void mtlm_amx_fp32(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
                   const float *a, int64_t lda, const float *b, int64_t ldb,
                   bool add, float *c, int64_t ldc)
{
    const struct factor of_a = {a, !trans_b, trans_a, lda, m};
    const struct factor of_b = {b, trans_b, !trans_b, ldb, n};
    const int64_t parts = (k + MOST_TERMS - 1) / MOST_TERMS;
    const int64_t terms =
        mtlm_amx_steps((k + parts - 1) / parts) * MTLM_AMX_TERMS;
    struct fp32_part part = {.first = trans_b ? of_b : of_a,
                             .second = trans_b ? of_a : of_b,
                             .stays = m <= n ? &of_a : &of_b,
                             .passes = m <= n ? &of_b : &of_a,
                             .turned = trans_b,
                             .add = add,
                             .streams =
                                 !add && parts == 1 && may_stream(m, n, c, ldc),
                             .c = c,
                             .ldc = ldc};

    assert(k > 0);
    part.stay = panels_of_thread();
    part.pass = part.stay + MTLM_AMX_PARTS * PART;
    mtlm_amx_begin();
    for (part.term = 0; part.term < k; part.term += terms) {
        part.k = mtlm_least(terms, k - part.term);
        add_terms(&part);
        part.add = true;
    }
    mtlm_amx_end();
}
