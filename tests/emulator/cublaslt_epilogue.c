/* cuBLASLt's double: what epilogues make of a product. */

#include <math.h>

#include "tests/emulator/cublaslt_double.h"

static double gelu(double x)
{
    return 0.5 * x
           * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x)
{
    const double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));

    return 0.5 * (1 + t)
           + 0.5 * x * (1 - t * t) * 0.7978845608028654
                 * (1 + 3 * 0.044715 * x * x);
}

static int32_t bias_type(const struct blas_product *p)
{
    return p->desc->bias_type < 0 ? (int32_t) p->d->type : p->desc->bias_type;
}

static int32_t aux_type(const struct blas_product *p)
{
    return p->desc->aux_type < 0 ? (int32_t) p->d->type : p->desc->aux_type;
}

/* Of a over its columns, or of b over its rows. */
static void add_up(const struct blas_product *p, const float *x, bool of_a)
{
    const int n = of_a ? p->m : p->n;
    const bool transposed =
        (of_a ? p->desc->transpose_a : p->desc->transpose_b) == CUBLAS_OP_T;
    const bool by_row = of_a == transposed; /* x is [k, n], not [n, k] */

    for (int i = 0; i < n; i++) {
        double sum = 0;

        for (int l = 0; l < p->k; l++)
            sum += by_row ? x[l + (int64_t) i * p->k] : x[i + (int64_t) l * n];
        blas_store(p->desc->bias, i, bias_type(p), sum);
    }
}

/* Another matrix is written or read (the bit that CUBLASLT_EPILOGUE_GELU_AUX
 * and DGELU have in common). */
static bool has_aux(const struct blas_description *d)
{
    return d->epilogue & (CUBLASLT_EPILOGUE_GELU_AUX & CUBLASLT_EPILOGUE_DGELU);
}

double blas_epilogue(const struct blas_product *p, double y, int i, int j)
{
    const struct blas_description *d = p->desc;
    const int64_t at = i + j * d->aux_ld;

    if (d->epilogue & CUBLASLT_EPILOGUE_BIAS)
        y += blas_load(d->bias, i, bias_type(p));
    if (d->epilogue & CUBLASLT_EPILOGUE_GELU) {
        if (has_aux(d))
            blas_store(d->aux, at, aux_type(p), y);
        y = gelu(y);
    }
    if ((d->epilogue & CUBLASLT_EPILOGUE_DGELU) == CUBLASLT_EPILOGUE_DGELU)
        y *= gelu_slope(blas_load(d->aux, at, aux_type(p)));
    return y;
}

void blas_bias_gradient(const struct blas_product *p, const float *a,
                        const float *b)
{
    if (p->desc->epilogue == CUBLASLT_EPILOGUE_BGRADA)
        add_up(p, a, true);
    if (p->desc->epilogue == CUBLASLT_EPILOGUE_BGRADB)
        add_up(p, b, false);
}

void blas_epilogue_sum(const struct blas_product *p, int i, double sum)
{
    if ((p->desc->epilogue & CUBLASLT_EPILOGUE_DGELU_BGRAD)
        == CUBLASLT_EPILOGUE_DGELU_BGRAD)
        blas_store(p->desc->bias, i, bias_type(p), sum);
}

bool blas_epilogue_suits(const struct blas_product *p)
{
    static const uint32_t known[] = {
        CUBLASLT_EPILOGUE_DEFAULT,       CUBLASLT_EPILOGUE_BIAS,
        CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU,
        CUBLASLT_EPILOGUE_BGRADA,        CUBLASLT_EPILOGUE_BGRADB,
        CUBLASLT_EPILOGUE_DGELU_BGRAD,   CUBLASLT_EPILOGUE_GELU_BIAS,
    };
    const struct blas_description *d = p->desc;
    bool is_known = false;

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        is_known |= d->epilogue == known[i];
    if (!is_known)
        blas_wrong("an epilogue that it does not know");
    if (d->epilogue == CUBLASLT_EPILOGUE_BGRADB
        && d->transpose_b != CUBLAS_OP_T)
        blas_wrong("a gradient of a bias from a matrix that it does not take");
    if (has_aux(d) != (d->aux != NULL))
        blas_wrong("an auxiliary matrix without its epilogue, or the reverse");
    if (d->aux
        && (d->aux_ld % 8 || d->aux_ld < (int64_t) p->d->rows
            || !blas_in_device_memory(d->aux)))
        return false;
    return d->epilogue == CUBLASLT_EPILOGUE_DEFAULT
           || d->epilogue == CUBLASLT_EPILOGUE_DGELU
           || blas_in_device_memory(d->bias);
}

bool blas_epilogue_aligned(const struct blas_description *d)
{
    return (uintptr_t) d->aux % 16 == 0
           && (!(d->epilogue & CUBLASLT_EPILOGUE_BIAS)
               || (uintptr_t) d->bias % 16 == 0);
}
