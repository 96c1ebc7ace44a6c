/* AdamW (arXiv 1711.05101), t = steps done including this one:
 *
 *   g' = clip g                  m = beta1 m + (1 - beta1) g'
 *   v = beta2 v + (1 - beta2) g'^2
 *   weight -= lr (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon)
 *                 + weight_decay weight)
 *   g = 0, unless the attribute says that g keeps its values
 *
 * g, m, v: one shape, a piece of weight's elements; control
 * [MTLM_CONTROL_COUNT].  Where control says not to apply, only g may change.
 *
 * adam_master: weights in 16 bit have fp32 masters, which are of g's shape and
 * take the step; the weight's elements become what they are rounded.  A step
 * may be too small to change a weight: the master adds such steps up.
 *
 * adam_version: an fp32 weight has two versions.  Of the elements of g, weight
 * = version before, then the step; the version before, of weight's shape, is
 * left as it is.
 *
 * Where control says not to apply, both write the weight all the same: it may
 * hold an older version. */

#include "config.h"

#include <string.h>

#include "codelets/adam.h"
#include "codelets/infer.h"
#include "runtime/base/least.h"
#include "runtime/base/stream.h"
#include "runtime/base/value16.h"

/* Elements that step at a time; with BLOCK elements, those AHEAD elements later
 * are fetched. */
enum { BLOCK = 64, AHEAD = 256, LINE = 64 / sizeof(mtlm_real) };

/* Checks that the weight has the elements that g covers. */
static int check_piece(const struct mtlm_call *call, int weight,
                       struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;
    const int64_t first = call->attr.adam.first;
    char text[96];

    if (first >= 0
        && first + mtlm_shape_elems(&shape[ADAM_G])
               <= mtlm_shape_elems(&shape[weight]))
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE, "weight is %s, needs element %lld",
        mtlm_shape_str(&shape[weight], text),
        (long long) (first - 1 + mtlm_shape_elems(&shape[ADAM_G])));
}

static int check_moments(const struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape g = call->shape[ADAM_G];

    return mtlm_infer_expect_shape(call, ADAM_CONTROL, "control",
                                   MTLM_SHAPE(MTLM_CONTROL_COUNT), err)
                   || mtlm_infer_expect_shape(call, ADAM_M, "m", g, err)
                   || mtlm_infer_expect_shape(call, ADAM_V, "v", g, err)
               ? -1
               : 0;
}

static int adam_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return check_piece(call, ADAM_WEIGHT, err) || check_moments(call, err) ? -1
                                                                           : 0;
}

static double adam_flops(const struct mtlm_call *call)
{
    return 14.0 * mtlm_shape_elems(&call->shape[ADAM_G]);
}

/* A step on some elements.  One loop of its own for each value of keeps_g: g is
 * written or is not. */
static inline void step_each(struct mtlm_adam a, int64_t n, bool keeps_g,
                             mtlm_real *g, mtlm_real *m, mtlm_real *v,
                             mtlm_real *w)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        mtlm_adam_step(&a, g[i], &m[i], &v[i], &w[i]);
        if (!keeps_g)
            g[i] = 0;
    }
}

static void fetch_ahead(const mtlm_real *g, const mtlm_real *m,
                        const mtlm_real *v, const mtlm_real *w)
{
    for (int i = AHEAD; i < AHEAD + BLOCK; i += LINE) {
        __builtin_prefetch(g + i);
        __builtin_prefetch(m + i, 1);
        __builtin_prefetch(v + i, 1);
        __builtin_prefetch(w + i, 1);
    }
}

/* Steps the weights w of elements first .. first + n - 1 of g.  adam: NULL: no
 * step.  n: at most BLOCK. */
static void step_block(void *const ptr[], const struct mtlm_adam *adam,
                       bool keeps_g, int64_t first, int64_t n, mtlm_real *w)
{
    mtlm_real *g = (mtlm_real *) ptr[ADAM_G] + first;
    mtlm_real *m = (mtlm_real *) ptr[ADAM_M] + first;
    mtlm_real *v = (mtlm_real *) ptr[ADAM_V] + first;

    if (adam)
        fetch_ahead(g, m, v, w);
    if (adam && keeps_g)
        step_each(*adam, n, true, g, m, v, w);
    else if (adam)
        step_each(*adam, n, false, g, m, v, w);
    else if (!keeps_g)
        memset(g, 0, n * sizeof(*g));
}

/* Returns the step that control asks for, in *adam; NULL: none. */
static const struct mtlm_adam *find_step(void *const ptr[],
                                         const struct mtlm_call *call,
                                         struct mtlm_adam *adam)
{
    const double *control = ptr[ADAM_CONTROL];

    *adam = mtlm_adam_begin(&call->attr, control);
    return control[MTLM_CONTROL_APPLY] == 0 ? NULL : adam;
}

/* Steps the weights w that belong to g. */
static void step_weights(void *const ptr[], const struct mtlm_call *call,
                         mtlm_real *w)
{
    const int64_t elems = mtlm_shape_elems(&call->shape[ADAM_G]);
    struct mtlm_adam space;
    const struct mtlm_adam *adam = find_step(ptr, call, &space);

    for (int64_t i = 0; i < elems; i += BLOCK)
        step_block(ptr, adam, call->attr.adam.keeps_g, i,
                   mtlm_least(BLOCK, elems - i), w + i);
}

static void adam_cpu(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context)
{
    (void) context;
    step_weights(ptr, call,
                 (mtlm_real *) ptr[ADAM_WEIGHT] + call->attr.adam.first);
}

const struct mtlm_op mtlm_op_adam = {
    .name = "adam",
    .n_operands = 5,
    .access = {[ADAM_G] = MTLM_RW,
               [ADAM_CONTROL] = MTLM_R,
               [ADAM_WEIGHT] = MTLM_RW,
               [ADAM_M] = MTLM_RW,
               [ADAM_V] = MTLM_RW},
    .dtype = {[ADAM_CONTROL] = MTLM_F64},
    .shared = {[ADAM_CONTROL] = true},
    .infer = adam_infer,
    .flops = adam_flops,
    .cpu = adam_cpu,
    .cuda = MTLM_CUDA_KERNEL(adam),
    .cuda_together = true,
};

/* Both operations share step_block() and find_step(), which read these
 * operands.
 */
_Static_assert(ADAMM_G == (int) ADAM_G && ADAMM_CONTROL == (int) ADAM_CONTROL
                   && ADAMM_M == (int) ADAM_M && ADAMM_V == (int) ADAM_V,
               "adam_master's operands are adam's, and the weight");

static int adam_master_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return check_piece(call, ADAMM_WEIGHT, err) || check_moments(call, err)
                   || mtlm_infer_expect_shape(call, ADAMM_MASTER, "master",
                                              call->shape[ADAMM_G], err)
               ? -1
               : 0;
}

/* Rounds n masters, at most BLOCK.  The next pass reads the weight long after:
 * no cache needs it. */
static void round_block(enum mtlm_dtype value, const mtlm_real *master,
                        int64_t n, char *weight)
{
    uint16_t rounded[BLOCK];

    if (value == MTLM_REAL) {
        memcpy(weight, master, n * sizeof(*master));
        return;
    }
    mtlm_value16_round(value, (const void *) master, n, rounded);
    mtlm_stream_copy(weight, rounded, n * sizeof(*rounded));
}

static void adam_master_cpu(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    const int64_t elems = mtlm_shape_elems(&call->shape[ADAMM_G]);
    const size_t bytes = mtlm_dtype_bytes(call->value);
    char *weight = (char *) ptr[ADAMM_WEIGHT] + call->attr.adam.first * bytes;
    mtlm_real *master = ptr[ADAMM_MASTER];
    struct mtlm_adam space;
    const struct mtlm_adam *adam = find_step(ptr, call, &space);

    (void) context;
    for (int64_t i = 0; i < elems; i += BLOCK) {
        const int64_t n = mtlm_least(BLOCK, elems - i);

        step_block(ptr, adam, call->attr.adam.keeps_g, i, n, master + i);
        round_block(call->value, master + i, n, weight + i * bytes);
    }
    mtlm_stream_end();
}

const struct mtlm_op mtlm_op_adam_master = {
    .name = "adam_master",
    .n_operands = 6,
    .access = {[ADAMM_G] = MTLM_RW,
               [ADAMM_CONTROL] = MTLM_R,
               [ADAMM_MASTER] = MTLM_RW,
               [ADAMM_M] = MTLM_RW,
               [ADAMM_V] = MTLM_RW,
               [ADAMM_WEIGHT] = MTLM_RW},
    .dtype = {[ADAMM_CONTROL] = MTLM_F64, [ADAMM_WEIGHT] = MTLM_VALUE},
    .shared = {[ADAMM_CONTROL] = true},
    .infer = adam_master_infer,
    .flops = adam_flops,
    .cpu = adam_master_cpu,
    .cuda = MTLM_CUDA_KERNEL(adam_master),
    .cpu_typed = true,
    .cuda_together = true,
};

static int adam_version_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return check_piece(call, ADAMM_WEIGHT, err) || check_moments(call, err)
                   || mtlm_infer_expect_shape(call, ADAMM_MASTER,
                                              "version before",
                                              call->shape[ADAMM_WEIGHT], err)
               ? -1
               : 0;
}

static void adam_version_cpu(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[ADAMM_G]);
    const int64_t first = call->attr.adam.first;
    mtlm_real *weight = (mtlm_real *) ptr[ADAMM_WEIGHT] + first;

    (void) context;
    memcpy(weight, (const mtlm_real *) ptr[ADAMM_MASTER] + first,
           n * sizeof(*weight));
    step_weights(ptr, call, weight);
}

const struct mtlm_op mtlm_op_adam_version = {
    .name = "adam_version",
    .n_operands = 6,
    .access = {[ADAMM_G] = MTLM_RW,
               [ADAMM_CONTROL] = MTLM_R,
               [ADAMM_MASTER] = MTLM_R,
               [ADAMM_M] = MTLM_RW,
               [ADAMM_V] = MTLM_RW,
               [ADAMM_WEIGHT] = MTLM_RW},
    .dtype = {[ADAMM_CONTROL] = MTLM_F64},
    .shared = {[ADAMM_CONTROL] = true},
    .infer = adam_version_infer,
    .flops = adam_flops,
    .cpu = adam_version_cpu,
    .cuda = MTLM_CUDA_KERNEL(adam_version),
    .cuda_together = true,
};
