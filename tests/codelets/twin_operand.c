#include "config.h"

#if HAVE_CUDA

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/memory.h"
#include "tests/codelets/support.h"
#include "tests/codelets/twin_operand.h"

/* Not those of runtime/base/value16.h, which the CPU's kernels use: what is
 * compared has nothing in common. */

static uint16_t narrow(float x, enum mtlm_dtype dtype)
{
    const _Float16 half = (_Float16) x;
    uint32_t bits;
    uint16_t result;

    memcpy(&bits, &x, sizeof(bits));
    result = (bits + 0x7fff + (bits >> 16 & 1)) >> 16; /* to nearest even */
    if (dtype == MTLM_F16)
        memcpy(&result, &half, sizeof(result));
    return result;
}

static float widen(uint16_t x, enum mtlm_dtype dtype)
{
    const uint32_t bits = (uint32_t) x << 16;
    _Float16 half;
    float result;

    memcpy(&result, &bits, sizeof(result));
    memcpy(&half, &x, sizeof(half));
    return dtype == MTLM_F16 ? (float) half : result;
}

static size_t host_bytes(const struct twin_operand *o)
{
    return o->n
           * (mtlm_dtype_is_16_bit(o->dtype) ? sizeof(mtlm_real)
                                             : mtlm_dtype_bytes(o->dtype));
}

void twin_operand_put(const struct twin_operand *o)
{
    const mtlm_real *host = o->host;
    uint16_t *bits;

    if (!mtlm_dtype_is_16_bit(o->dtype)) {
        twin_copy(o->there.data, o->host, host_bytes(o));
        return;
    }
    bits = mtlm_calloc(o->n, sizeof(*bits));
    for (int64_t i = 0; i < o->n; i++)
        bits[i] = narrow(host[i], o->dtype);
    twin_copy(o->there.data, bits, o->n * sizeof(*bits));
    free(bits);
}

void *twin_operand_get(const struct twin_operand *o)
{
    const size_t bytes = o->n * mtlm_dtype_bytes(o->dtype);
    void *raw = mtlm_calloc(1, bytes);

    twin_copy(raw, o->there.data, bytes);
    return raw;
}

static void make_host(struct twin_operand *o, int seed)
{
    mtlm_real *normal = new_normal(o->n, seed);

    o->host = mtlm_calloc(1, host_bytes(o));
    for (int64_t i = 0; i < o->n && o->dtype != MTLM_I32; i++)
        if (o->dtype == MTLM_F64)
            ((double *) o->host)[i] = normal[i];
        else
            ((mtlm_real *) o->host)[i] = normal[i];
    free(normal);
}

void twin_operand_new(struct twin_operand *o, enum mtlm_dtype dtype, int64_t n,
                      int seed, bool aligned)
{
    *o = (struct twin_operand){.dtype = dtype, .n = n};
    make_host(o, seed);
    twin_memory_new(&o->there, n, mtlm_dtype_bytes(dtype), aligned);
}

void twin_operand_free(struct twin_operand *o)
{
    twin_memory_free(&o->there);
    free(o->host);
}

void twin_operand_round(struct twin_operand *o)
{
    mtlm_real *host = o->host;

    for (int64_t i = 0; i < o->n && mtlm_dtype_is_16_bit(o->dtype); i++)
        host[i] = widen(narrow(host[i], o->dtype), o->dtype);
}

double twin_element(const void *raw, enum mtlm_dtype dtype, int64_t i)
{
    switch (dtype) {
    case MTLM_F64:
        return ((const double *) raw)[i];
    case MTLM_I32:
        return ((const int32_t *) raw)[i];
    case MTLM_REAL:
        return ((const mtlm_real *) raw)[i];
    default:
        return widen(((const uint16_t *) raw)[i], dtype);
    }
}

double twin_rounding(double x, enum mtlm_dtype dtype)
{
    return dtype == MTLM_BF16  ? fabs(x) * 0x1p-8
           : dtype == MTLM_F16 ? fmax(fabs(x) * 0x1p-11, 0x1p-25)
                               : 0;
}

#endif /* HAVE_CUDA */
