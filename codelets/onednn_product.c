/* Products of bf16 matrices by oneDNN. */

#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <oneapi/dnnl/dnnl.h>

#include "codelets/bf16_blocks.h"
#include "codelets/fetch.h"
#include "codelets/onednn_product.h"
#include "runtime/base/error.h"
#include "runtime/base/least.h"

/* What distinguishes compiled products.  lda, ldb, ldc: elements between stored
 * rows. */
struct product_kind {
    struct mtlm_bf16_product product;
    bool bias;
    int64_t lda, ldb, ldc;
};

/* A product that oneDNN has compiled. */
struct compiled {
    struct compiled *next;
    struct product_kind kind;
    dnnl_primitive_t primitive;
    dnnl_memory_desc_t a, b, bias_row, c, scratch;
    /* Of a packed B: whether b is in blocks (codelets/bf16_blocks.h); the plain
     * one, and what copies the plain one to b otherwise. */
    bool blocks;
    dnnl_primitive_t pack;
    dnnl_memory_desc_t plain, pack_scratch;
};

/* Shared by all threads.  Lives until the program ends: a job has few shapes.
 * lock: to add to the list; reading needs none. */
static struct {
    pthread_mutex_t lock;
    dnnl_engine_t engine;
    struct compiled *_Atomic first;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define CHECK(call) check(call, #call, __LINE__)

static void check(dnnl_status_t status, const char *call, int line)
{
    if (status == dnnl_out_of_memory)
        mtlm_out_of_memory(0);
    if (status != dnnl_success)
        mtlm_fatal(__FILE__, line, "oneDNN: status %d of %s", (int) status,
                   call);
}

/* Describes a matrix [rows, cols], stored transposed if trans.  ld: elements
 * between stored rows. */
static dnnl_memory_desc_t part(int64_t rows, int64_t cols, bool trans,
                               int64_t ld, dnnl_data_type_t type)
{
    const dnnl_dims_t dims = {rows, cols};
    const dnnl_dims_t strides = {trans ? 1 : ld, trans ? ld : 1};
    dnnl_memory_desc_t desc;

    CHECK(dnnl_memory_desc_init_by_strides(&desc, 2, dims, type, strides));
    return desc;
}

/* Returns the attributes of the product: whether it adds, and that the caller
 * has the scratch. */
static dnnl_primitive_attr_t new_attributes(bool add)
{
    dnnl_primitive_attr_t attr;
    dnnl_post_ops_t after;

    CHECK(dnnl_primitive_attr_create(&attr));
    CHECK(dnnl_primitive_attr_set_scratchpad_mode(attr,
                                                  dnnl_scratchpad_mode_user));
    if (!add)
        return attr;
    CHECK(dnnl_post_ops_create(&after));
    CHECK(dnnl_post_ops_append_sum(after, 1));
    CHECK(dnnl_primitive_attr_set_post_ops(attr, after));
    CHECK(dnnl_post_ops_destroy(after));
    return attr;
}

/* oneDNN asks OpenMP for the threads of a primitive when the primitive is made,
 * or when the primitive runs.  The setting is the calling thread's. */
static void run_one_thread(void)
{
    static _Thread_local bool set;
    void (*set_threads)(int);

    if (set)
        return;
    set = true;
    *(void **) &set_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    if (set_threads)
        set_threads(1);
}

/* Compiles the copy of a plain B to the layout of made->b. */
static void compile_pack(struct compiled *made)
{
    dnnl_primitive_attr_t attr = new_attributes(false);
    dnnl_primitive_desc_t desc;

    CHECK(dnnl_reorder_primitive_desc_create(&desc, &made->plain, all.engine,
                                             &made->b, all.engine, attr));
    made->pack_scratch =
        *dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    CHECK(dnnl_primitive_create(&made->pack, desc));
    CHECK(dnnl_primitive_desc_destroy(desc));
    CHECK(dnnl_primitive_attr_destroy(attr));
}

/* Returns a matrix B in a layout of oneDNN. */
static dnnl_memory_desc_t matrix_in(const struct mtlm_bf16_product *p,
                                    dnnl_format_tag_t layout)
{
    const dnnl_dims_t dims = {p->k, p->n};
    dnnl_memory_desc_t desc;

    CHECK(dnnl_memory_desc_init_by_tag(&desc, 2, dims, dnnl_bf16, layout));
    return desc;
}

static bool is_in_blocks(const struct compiled *made)
{
    const struct mtlm_bf16_product *p = &made->kind.product;
    const dnnl_memory_desc_t blocks = matrix_in(p, dnnl_BA16a64b2a);

    return mtlm_bf16_blocks_fit(p->k, p->n)
           && dnnl_memory_desc_equal(&made->b, &blocks);
}

static struct compiled *compile(const struct product_kind *kind)
{
    const struct mtlm_bf16_product *p = &kind->product;
    struct compiled *made = mtlm_calloc(1, sizeof(*made));
    dnnl_primitive_attr_t attr = new_attributes(p->add);
    dnnl_primitive_desc_t desc;
    dnnl_matmul_desc_t matmul;

    if (!all.engine)
        CHECK(dnnl_engine_create(&all.engine, dnnl_cpu, 0));
    made->kind = *kind;
    made->a = part(p->m, p->k, p->trans_a, kind->lda, dnnl_bf16);
    made->plain = part(p->k, p->n, p->trans_b, kind->ldb, dnnl_bf16);
    made->b = p->packed ? matrix_in(p, dnnl_format_tag_any) : made->plain;
    made->bias_row = part(1, p->n, false, p->n, dnnl_bf16);
    made->c =
        part(p->m, p->n, false, kind->ldc, p->single ? dnnl_f32 : dnnl_bf16);
    CHECK(dnnl_matmul_desc_init(&matmul, &made->a, &made->b,
                                kind->bias ? &made->bias_row : NULL, &made->c));
    CHECK(dnnl_primitive_desc_create(&desc, &matmul, attr, all.engine, NULL));
    made->scratch =
        *dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    made->b = *dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
    CHECK(dnnl_primitive_create(&made->primitive, desc));
    CHECK(dnnl_primitive_desc_destroy(desc));
    CHECK(dnnl_primitive_attr_destroy(attr));
    made->blocks = p->packed && is_in_blocks(made);
    if (p->packed && !made->blocks)
        compile_pack(made);
    return made;
}

static bool is_same(const struct product_kind *a, const struct product_kind *b)
{
    const struct mtlm_bf16_product *x = &a->product, *y = &b->product;

    return x->m == y->m && x->n == y->n && x->k == y->k
           && x->trans_a == y->trans_a && x->trans_b == y->trans_b
           && x->single == y->single && x->add == y->add
           && x->packed == y->packed && a->bias == b->bias && a->lda == b->lda
           && a->ldb == b->ldb && a->ldc == b->ldc;
}

/* Returns NULL if the product is not compiled. */
static struct compiled *find(const struct product_kind *kind)
{
    struct compiled *found = atomic_load(&all.first);

    while (found && !is_same(&found->kind, kind))
        found = found->next;
    return found;
}

/* Returns the compiled product; the first call of its kind compiles. */
static const struct compiled *get(const struct product_kind *kind)
{
    struct compiled *found = find(kind);

    run_one_thread();
    if (found)
        return found;
    pthread_mutex_lock(&all.lock);
    found = find(kind);
    if (!found) {
        found = compile(kind);
        found->next = all.first;
        atomic_store(&all.first, found);
    }
    pthread_mutex_unlock(&all.lock);
    return found;
}

/* Returns the kind of a product whose stored rows are contiguous. */
static struct product_kind kind_of(const struct mtlm_bf16_product *p, bool bias)
{
    return (struct product_kind){*p, bias, p->trans_a ? p->m : p->k,
                                 p->trans_b ? p->k : p->n, p->n};
}

/* Returns the same product with a packed B. */
static struct product_kind packed_kind_of(
    const struct mtlm_bf16_product *product, bool bias)
{
    struct product_kind kind = kind_of(product, bias);

    kind.product.packed = true;
    return kind;
}

static dnnl_memory_t new_memory(const dnnl_memory_desc_t *desc, const void *at)
{
    dnnl_memory_t memory;

    CHECK(dnnl_memory_create(&memory, desc, all.engine, (void *) at));
    return memory;
}

/* Runs the primitive and frees the memory objects. */
static void execute(dnnl_primitive_t primitive, int n, dnnl_exec_arg_t *arg)
{
    dnnl_stream_t stream;

    CHECK(dnnl_stream_create(&stream, all.engine, dnnl_stream_default_flags));
    CHECK(dnnl_primitive_execute(primitive, stream, n, arg));
    CHECK(dnnl_stream_destroy(stream));
    for (int i = 0; i < n; i++)
        CHECK(dnnl_memory_destroy(arg[i].memory));
}

static dnnl_memory_t new_scratch(const dnnl_memory_desc_t *desc,
                                 struct mtlm_scratch *scratch)
{
    const size_t bytes = dnnl_memory_desc_get_size(desc);

    return new_memory(desc, mtlm_scratch_get(scratch, bytes));
}

static void multiply(const struct product_kind *kind, const uint16_t *a,
                     const uint16_t *b, const uint16_t *bias, void *c,
                     struct mtlm_scratch *scratch)
{
    const struct compiled *with = get(kind);
    dnnl_exec_arg_t arg[] = {
        {DNNL_ARG_SRC, new_memory(&with->a, a)},
        {DNNL_ARG_WEIGHTS, new_memory(&with->b, b)},
        {DNNL_ARG_DST, new_memory(&with->c, c)},
        {DNNL_ARG_SCRATCHPAD, new_scratch(&with->scratch, scratch)},
        {DNNL_ARG_BIAS, bias ? new_memory(&with->bias_row, bias) : NULL}};

    execute(with->primitive, bias ? 5 : 4, arg);
}

/* Computes a product of plain A and B in an fp32 C, in blocks of C that the
 * nearer caches hold.  oneDNN waits for each line of C that it adds to; so a
 * block to add to is fetched from memory beforehand. */
static void multiply_by_blocks(const struct mtlm_bf16_product *p,
                               const uint16_t *a, const uint16_t *b, float *c,
                               struct mtlm_scratch *scratch)
{
    enum { ROWS = 256, COLS = 1024 };
    struct product_kind kind = kind_of(p, false);

    for (int64_t col = 0; col < p->n; col += COLS) {
        kind.product.n = mtlm_least(COLS, p->n - col);
        for (int64_t row = 0; row < p->m; row += ROWS) {
            float *block = c + row * p->n + col;

            kind.product.m = mtlm_least(ROWS, p->m - row);
            for (int64_t r = 0; r < kind.product.m && p->add; r++)
                mtlm_fetch(block + r * p->n, kind.product.n);
            multiply(&kind, a + (p->trans_a ? row : row * p->k),
                     b + (p->trans_b ? col * p->k : col), NULL, block, scratch);
        }
    }
}

void mtlm_onednn_product(const struct mtlm_bf16_product *product,
                         const uint16_t *a, const uint16_t *b,
                         const uint16_t *bias, void *c,
                         struct mtlm_scratch *scratch)
{
    const struct product_kind kind = kind_of(product, bias);

    if (product->single)
        multiply_by_blocks(product, a, b, c, scratch);
    else
        multiply(&kind, a, b, bias, c, scratch);
}

void mtlm_onednn_product_of_parts(const struct mtlm_bf16_product *product,
                                  const uint16_t *a, int64_t lda,
                                  const uint16_t *b, int64_t ldb, float *c,
                                  int64_t ldc)
{
    const struct mtlm_bf16_product any = {.trans_a = product->trans_a,
                                          .trans_b = product->trans_b,
                                          .single = true,
                                          .add = product->add,
                                          .m = DNNL_RUNTIME_DIM_VAL,
                                          .n = DNNL_RUNTIME_DIM_VAL,
                                          .k = DNNL_RUNTIME_DIM_VAL};
    const struct product_kind kind = kind_of(&any, false);
    const struct compiled *with = get(&kind);
    const int64_t m = product->m, n = product->n, k = product->k;
    const dnnl_memory_desc_t of_a =
        part(m, k, product->trans_a, lda, dnnl_bf16);
    const dnnl_memory_desc_t of_b =
        part(k, n, product->trans_b, ldb, dnnl_bf16);
    const dnnl_memory_desc_t of_c = part(m, n, false, ldc, dnnl_f32);
    struct mtlm_scratch scratch = {0};

    execute(with->primitive, 4,
            (dnnl_exec_arg_t[]){
                {DNNL_ARG_SRC, new_memory(&of_a, a)},
                {DNNL_ARG_WEIGHTS, new_memory(&of_b, b)},
                {DNNL_ARG_DST, new_memory(&of_c, c)},
                {DNNL_ARG_SCRATCHPAD, new_scratch(&with->scratch, &scratch)}});
    mtlm_scratch_free(&scratch);
}

void mtlm_onednn_product_pack(const struct mtlm_bf16_product *product,
                              const uint16_t *b, uint16_t *packed,
                              struct mtlm_scratch *scratch)
{
    const struct product_kind kind = packed_kind_of(product, false);
    const struct compiled *with = get(&kind);

    if (with->blocks) {
        mtlm_bf16_blocks_pack(product->trans_b, product->k, product->n, b,
                              packed);
        return;
    }
    execute(with->pack, 3,
            (dnnl_exec_arg_t[]){{DNNL_ARG_FROM, new_memory(&with->plain, b)},
                                {DNNL_ARG_TO, new_memory(&with->b, packed)},
                                {DNNL_ARG_SCRATCHPAD,
                                 new_scratch(&with->pack_scratch, scratch)}});
}

bool mtlm_onednn_product_packs(const struct mtlm_bf16_product *product,
                               bool bias, const struct mtlm_bf16_product *like)
{
    const struct product_kind reader = packed_kind_of(product, bias);
    const struct product_kind writer = packed_kind_of(like, false);
    const dnnl_memory_desc_t *mine = &get(&reader)->b;
    const struct compiled *theirs = get(&writer);
    const size_t bytes = (size_t) product->k * product->n * sizeof(uint16_t);

    return dnnl_memory_desc_equal(mine, &theirs->b)
           && !dnnl_memory_desc_equal(mine, &theirs->plain)
           && dnnl_memory_desc_get_size(mine) == bytes;
}
