/* Chooses what multiplies bf16 matrices: AMX, oneDNN, or nothing. */

#include "config.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include <oneapi/dnnl/dnnl.h>

#include "runtime/amx/amx_kernel.h"
#include "runtime/amx/amx_product.h"
#include "codelets/bf16_product.h"
#include "codelets/onednn_product.h"
#include "codelets/op.h"

/* How this process multiplies bf16; the last two do so. */
static enum { NOT, SLOWLY, BY_ONEDNN, BY_AMX } way;
static bool forbidden; /* the ranks differ */

static bool can(unsigned instructions)
{
    return (dnnl_get_effective_cpu_isa() & instructions) == instructions;
}

/* With AVX512_BF16 a Xeon (family 6, model 207) trains at 0.62 of fp32's speed.
 * So on Intel's processors only who asks gets it; no other one was tried. */
static bool pays(void)
{
#if __x86_64__
    const char *asked = getenv("ONEDNN_MAX_CPU_ISA");

    return !__builtin_cpu_is("intel")
           || (asked && !strcasecmp(asked, "AVX512_CORE_BF16"));
#else
    return true;
#endif
}

/* oneDNN 2.6.3 multiplies with AMX, too, at half our speed. */
static void choose(void)
{
    if (can(dnnl_cpu_isa_avx512_core_amx))
        way = mtlm_amx_allowed() ? BY_AMX : BY_ONEDNN;
    else if (can(dnnl_cpu_isa_avx512_core_bf16))
        way = pays() ? BY_ONEDNN : SLOWLY;
}

static void choose_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, choose);
}

bool mtlm_bf16_product_here(void)
{
    choose_once();
    return way >= BY_ONEDNN;
}

bool mtlm_bf16_product_by_amx(void)
{
    choose_once();
    return way == BY_AMX;
}

int mtlm_bf16_product_way(void)
{
    return mtlm_bf16_product_here() ? (int) way : NOT;
}

void mtlm_bf16_product_forbid(void)
{
    choose_once();
    way = NOT;
    forbidden = true;
}

double mtlm_bf16_product_bytes_of_amx(int64_t m, int64_t k)
{
    return mtlm_amx_product_bytes(m, k);
}

const char *mtlm_bf16_product_describe(char *text, size_t bytes)
{
    const dnnl_version_t *version = dnnl_version();
    const char *limit = getenv("ONEDNN_MAX_CPU_ISA");

    choose_once();
    if (way == BY_AMX)
        snprintf(text, bytes, "by AMX");
    else if (way == BY_ONEDNN)
        snprintf(text, bytes, "by oneDNN %d.%d.%d", version->major,
                 version->minor, version->patch);
    else if (forbidden)
        snprintf(text, bytes,
                 "in fp32: the ranks' processors multiply bf16 in different "
                 "ways");
    else if (way == SLOWLY)
        snprintf(text, bytes,
                 "in fp32: AVX512_BF16 of this processor is slower "
                 "(ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 takes it)");
    else if (limit && *limit)
        snprintf(text, bytes,
                 "in fp32: the environment variable ONEDNN_MAX_CPU_ISA=%.40s "
                 "forbids bf16 instructions, or there are none",
                 limit);
    else
        snprintf(text, bytes,
                 "in fp32: the processor has no bf16 instructions");
    return text;
}

/* Returns the product by AMX, but for the bias.  Stored rows of A, B and C are
 * lda, ldb and ldc elements apart. */
static struct mtlm_amx_product amx_product_of(const struct mtlm_bf16_product *p,
                                              const uint16_t *a, int64_t lda,
                                              const uint16_t *b, int64_t ldb,
                                              void *c, int64_t ldc)
{
    return (struct mtlm_amx_product){.trans_a = p->trans_a,
                                     .trans_b = p->trans_b,
                                     .packed = p->packed,
                                     .single = p->single,
                                     .add = p->add,
                                     .m = p->m,
                                     .n = p->n,
                                     .k = p->k,
                                     .a = a,
                                     .b = b,
                                     .c = c,
                                     .lda = lda,
                                     .ldb = ldb,
                                     .ldc = ldc};
}

/* Returns the product of contiguous matrices by AMX, but for the bias. */
static struct mtlm_amx_product whole_by_amx(const struct mtlm_bf16_product *p,
                                            const uint16_t *a,
                                            const uint16_t *b, void *c)
{
    return amx_product_of(p, a, p->trans_a ? p->m : p->k, b,
                          p->trans_b ? p->k : p->n, c, p->n);
}

static void sum_by_amx(const struct mtlm_bf16_product *product,
                       const struct mtlm_bf16_summand summand[], int count,
                       float *c, struct mtlm_scratch *scratch)
{
    struct mtlm_amx_product by_amx[MTLM_MAX_CALLS];

    assert(count <= MTLM_MAX_CALLS);
    for (int i = count - 1; i >= 0; i--) {
        struct mtlm_bf16_product one = *product;

        one.k = summand[i].k;
        by_amx[i] = whole_by_amx(&one, summand[i].a, summand[i].b, c);
        by_amx[i].next = i + 1 < count ? &by_amx[i + 1] : NULL;
    }
    mtlm_amx_product(by_amx, scratch);
}

void mtlm_bf16_product(const struct mtlm_bf16_product *product,
                       const uint16_t *a, const uint16_t *b,
                       const uint16_t *bias, void *c,
                       struct mtlm_scratch *scratch)
{
    const struct mtlm_bf16_product *p = product;
    struct mtlm_amx_product by_amx;

    assert(!p->single || (!p->packed && !bias));
    if (!mtlm_bf16_product_by_amx()) {
        mtlm_onednn_product(p, a, b, bias, c, scratch);
        return;
    }
    by_amx = whole_by_amx(p, a, b, c);
    by_amx.bias = bias;
    mtlm_amx_product(&by_amx, scratch);
}

void mtlm_bf16_product_sum(const struct mtlm_bf16_product *product,
                           const struct mtlm_bf16_summand summand[], int count,
                           float *c, struct mtlm_scratch *scratch)
{
    struct mtlm_bf16_product one = *product;

    assert(one.single && count > 0);
    if (mtlm_bf16_product_by_amx()) {
        sum_by_amx(product, summand, count, c, scratch);
        return;
    }
    for (int i = 0; i < count; i++) {
        one.k = summand[i].k;
        mtlm_onednn_product(&one, summand[i].a, summand[i].b, NULL, c, scratch);
        one.add = true;
    }
}

void mtlm_bf16_product_of_parts(const struct mtlm_bf16_product *product,
                                const uint16_t *a, int64_t lda,
                                const uint16_t *b, int64_t ldb, float *c,
                                int64_t ldc)
{
    const struct mtlm_amx_product by_amx =
        amx_product_of(product, a, lda, b, ldb, c, ldc);

    if (mtlm_bf16_product_by_amx())
        mtlm_amx_product(&by_amx, NULL);
    else
        mtlm_onednn_product_of_parts(product, a, lda, b, ldb, c, ldc);
}

void mtlm_bf16_product_pack(const struct mtlm_bf16_product *product,
                            const uint16_t *b, uint16_t *packed,
                            struct mtlm_scratch *scratch)
{
    if (mtlm_bf16_product_by_amx())
        mtlm_amx_product_pack(product->trans_b, product->k, product->n, b,
                              packed);
    else
        mtlm_onednn_product_pack(product, b, packed, scratch);
}

bool mtlm_bf16_product_packs(const struct mtlm_bf16_product *product, bool bias,
                             const struct mtlm_bf16_product *like)
{
    return mtlm_bf16_product_by_amx()
               ? mtlm_amx_product_packs(product->k, product->n)
               : mtlm_onednn_product_packs(product, bias, like);
}
