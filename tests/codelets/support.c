#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codelets/value.h"
#include "runtime/base/philox.h"
#include "tests/codelets/support.h"

void fill_normal(mtlm_real *x, int64_t n, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t word[4];

        mtlm_philox(seed, 12345, i, word);
        x[i] = sqrt(-2 * log((word[0] + 1.0) / 4294967296.0))
               * cos(6.283185307179586 / 4294967296.0 * word[1]);
    }
}

mtlm_real *new_normal(int64_t n, uint64_t seed)
{
    mtlm_real *x = mtlm_calloc(n, sizeof(*x));

    fill_normal(x, n, seed);
    return x;
}

int32_t *new_tokens(int64_t n, int32_t below, uint64_t seed)
{
    int32_t *tokens = mtlm_calloc(n, sizeof(*tokens));

    for (int64_t i = 0; i < n; i++) {
        uint32_t word[4];

        mtlm_philox(seed, 54321, i, word);
        tokens[i] = word[0] % (uint32_t) below;
    }
    return tokens;
}

mtlm_real *new_undefined(int64_t n)
{
    mtlm_real *x = mtlm_calloc(n, sizeof(*x));

    for (int64_t i = 0; i < n; i++)
        x[i] = NAN;
    return x;
}

mtlm_real *new_zeros(int64_t n)
{
    return mtlm_calloc(n, sizeof(mtlm_real));
}

struct mtlm_call run_op(struct mtlm_call call, void *const ptr[],
                        int64_t sample)
{
    return run_op_at(call, ptr, sample, 0, 0);
}

struct mtlm_call run_op_at(struct mtlm_call call, void *const ptr[],
                           int64_t sample, int64_t position, int64_t rows)
{
    static struct mtlm_scratch scratch, wide;
    const struct mtlm_context context = {.sample = sample,
                                         .share = RUN_SHARE,
                                         .batch = RUN_BATCH,
                                         .first = true,
                                         .position = position,
                                         .rows = rows,
                                         .scratch = &scratch,
                                         .wide = &wide};
    struct mtlm_error err;

    if (mtlm_call_infer(&call, &err))
        fail_msg("%s", err.text);
    mtlm_value_run_cpu(ptr, &call, &context);
    return call;
}

void assert_refused(struct mtlm_call call, const char *text)
{
    struct mtlm_error err;

    assert_int_equal(mtlm_call_infer(&call, &err), -1);
    assert_string_equal(err.text, text);
    assert_int_equal(err.code, MTLM_EXIT_USAGE);
}

double worst_error(const mtlm_real *got, const double *want, int64_t n)
{
    double error = 0, value = 0;

    for (int64_t i = 0; i < n; i++) {
        if (!(fabs(got[i] - want[i]) < INFINITY))
            return INFINITY;
        error = fmax(error, fabs(got[i] - want[i]));
        value = fmax(value, fabs(want[i]));
    }
    return value > 0 ? error / value : error;
}
