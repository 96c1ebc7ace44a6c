/* x += y, and initial values.
 *
 * add_clear: x += y, then y = 0.  Most of y is zeros, as in the gradient of a
 * word embedding: blocks of zeros are read and nothing is written.
 *
 * fill: x [.., cols] = N(mean, std) by Box and Muller's method, two values
 * from two words of Philox.  A value depends on the element's number in the
 * full tensor only, so that a shard is exactly a part of the whole. */

#include "config.h"

#include <string.h>

#include "codelets/elementwise.h"
#include "codelets/infer.h"
#include "codelets/normal.h"
#include "codelets/streams.h"
#include "codelets/value.h"
#include "runtime/base/philox.h"

static int add_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return mtlm_infer_expect_shape(call, ADD_X, "x", call->shape[ADD_Y], err);
}

static double add_flops(const struct mtlm_call *call)
{
    return mtlm_shape_elems(&call->shape[ADD_X]);
}

static void add_cpu(void *const ptr[], const struct mtlm_call *call,
                    const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[ADD_X]);
    const mtlm_real *y = ptr[ADD_Y];
    mtlm_real *x = ptr[ADD_X];

    (void) context;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        x[i] += y[i];
}

const struct mtlm_op mtlm_op_add = {
    .name = "add",
    .n_operands = 2,
    .access = {[ADD_Y] = MTLM_R, [ADD_X] = MTLM_RW},
    .dtype = {[ADD_Y] = MTLM_VALUE, [ADD_X] = MTLM_VALUE},
    .infer = add_infer,
    .flops = add_flops,
    .cpu = add_cpu,
    .cuda = MTLM_CUDA_KERNEL(add),
};

/* Elements that add_clear looks at together. */
enum { LOOK = 64 };

static void add_clear_block(int64_t n, mtlm_real *y, mtlm_real *x)
{
    int found = 0;

#pragma omp simd reduction(| : found)
    for (int64_t i = 0; i < n; i++)
        found |= y[i] != 0;
    if (!found)
        return;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        x[i] += y[i];
        y[i] = 0;
    }
}

static void add_clear_cpu(void *const ptr[], const struct mtlm_call *call,
                          const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[ADD_X]);
    const int64_t part = n / (MTLM_STREAMS * LOOK) * LOOK;
    const int64_t rest = MTLM_STREAMS * part;
    mtlm_real *y = ptr[ADD_Y], *x = ptr[ADD_X];

    (void) context;
    for (int64_t i = 0; i < part; i += LOOK)
        for (int64_t at = i; at < rest; at += part)
            add_clear_block(LOOK, y + at, x + at);
    add_clear_block(n - rest, y + rest, x + rest);
}

const struct mtlm_op mtlm_op_add_clear = {
    .name = "add_clear",
    .n_operands = 2,
    .access = {[ADD_Y] = MTLM_RW, [ADD_X] = MTLM_RW},
    .untouched = {[ADD_X] = true},
    .infer = add_infer,
    .flops = add_flops,
    .cpu = add_clear_cpu,
    .cuda = MTLM_CUDA_KERNEL(add_clear),
};

/* Elements that fill computes at a time. */
enum { BLOCK = 1024 };

/* The caller sets the shape. */
static int fill_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    (void) call, (void) err;
    return 0;
}

/* Fills x with elements first .. first + n - 1 of the full tensor. */
static void fill_run(const struct mtlm_call *call, int64_t first, int64_t n,
                     mtlm_real *x)
{
    const uint64_t stream = mtlm_philox_param_stream(call->attr.fill.param);
    const double mean = call->attr.fill.mean, std = call->attr.fill.std;
    const int64_t end = first + n;

    for (int64_t block = first / 4; 4 * block < end; block++) {
        uint32_t word[4];
        double normal[4];

        mtlm_philox(call->attr.fill.seed, stream, block, word);
        mtlm_normal_pair(word, normal);
        mtlm_normal_pair(word + 2, normal + 2);
        for (int64_t i = 0; i < 4; i++)
            if (4 * block + i >= first && 4 * block + i < end)
                x[4 * block + i - first] = mean + std * normal[i];
    }
}

/* Fills x with elements first .. first + n - 1 of the shard. */
static void fill_shard(const struct mtlm_call *call, int64_t first, int64_t n,
                       mtlm_real *x)
{
    const int64_t cols = call->attr.fill.cols
                             ? call->attr.fill.cols
                             : mtlm_shape_cols(&call->shape[FILL_X]);

    for (int64_t i = 0; i < n;) {
        const int64_t row = (first + i) / cols, col = (first + i) % cols;
        const int64_t run = n - i < cols - col ? n - i : cols - col;

        fill_run(call,
                 (call->attr.fill.first_row + row) * call->attr.fill.full_cols
                     + call->attr.fill.first_col + col,
                 run, x + i);
        i += run;
    }
}

static void fill_cpu(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context)
{
    const int64_t elems = mtlm_shape_elems(&call->shape[FILL_X]);

    (void) context;
    for (int64_t i = 0; i < elems; i += BLOCK) {
        const int64_t n = elems - i < BLOCK ? elems - i : BLOCK;
        mtlm_real block[BLOCK];
        mtlm_real *x =
            call->value == MTLM_REAL ? (mtlm_real *) ptr[FILL_X] + i : block;

        if (call->attr.fill.std == 0)
            for (int64_t k = 0; k < n; k++)
                x[k] = call->attr.fill.mean;
        else
            fill_shard(call, call->attr.fill.first + i, n, x);
        mtlm_value_put(call->value, x, i, n, ptr[FILL_X]);
    }
}

const struct mtlm_op mtlm_op_fill = {
    .name = "fill",
    .n_operands = 1,
    .access = {[FILL_X] = MTLM_W},
    .dtype = {[FILL_X] = MTLM_VALUE},
    .infer = fill_infer,
    .cpu = fill_cpu,
    .cuda = MTLM_CUDA_KERNEL(fill),
    .cpu_typed = true,
};

/* zero: x = 0, for tensors of double, which fill is not. */
static void zero_cpu(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context)
{
    (void) context;
    memset(ptr[FILL_X], 0,
           mtlm_shape_elems(&call->shape[FILL_X]) * sizeof(double));
}

const struct mtlm_op mtlm_op_zero = {
    .name = "zero",
    .n_operands = 1,
    .access = {[FILL_X] = MTLM_W},
    .dtype = {[FILL_X] = MTLM_F64},
    .infer = fill_infer,
    .cpu = zero_cpu,
    .cuda = MTLM_CUDA_KERNEL(zero),
};
