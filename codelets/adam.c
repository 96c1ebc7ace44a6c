/* AdamW (arXiv 1711.05101), t = steps done including this one:
 *
 *   g' = clip g                  m = beta1 m + (1 - beta1) g'
 *   v = beta2 v + (1 - beta2) g'^2
 *   weight -= lr (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon)
 *                 + weight_decay weight)
 *   g = 0
 *
 * g, m, v: one shape, a piece of weight's elements; control
 * [MTLM_CONTROL_COUNT].  Where control says not to apply, only g is zeroed. */

#include "config.h"

#include <string.h>

#include "codelets/adam.h"
#include "codelets/infer.h"

static int adam_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;
    const int64_t first = call->attr.adam.first;
    char text[96];

    if (first < 0
        || first + mtlm_shape_elems(&shape[ADAM_G])
               > mtlm_shape_elems(&shape[ADAM_WEIGHT]))
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE, "adam: weight is %s, needs an element %lld",
            mtlm_shape_str(&shape[ADAM_WEIGHT], text),
            (long long) (first - 1 + mtlm_shape_elems(&shape[ADAM_G])));
    return mtlm_expect_shape(call, ADAM_CONTROL, "control",
                             MTLM_SHAPE(MTLM_CONTROL_COUNT), err)
                   || mtlm_expect_shape(call, ADAM_M, "m", shape[ADAM_G], err)
                   || mtlm_expect_shape(call, ADAM_V, "v", shape[ADAM_G], err)
               ? -1
               : 0;
}

static double adam_flops(const struct mtlm_call *call)
{
    return 14.0 * mtlm_shape_elems(&call->shape[ADAM_G]);
}

static void adam_cpu(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[ADAM_G]);
    const double *control = ptr[ADAM_CONTROL];
    const struct mtlm_adam a = mtlm_adam_begin(&call->attr, control);
    mtlm_real *g = ptr[ADAM_G], *m = ptr[ADAM_M], *v = ptr[ADAM_V];
    mtlm_real *w = (mtlm_real *) ptr[ADAM_WEIGHT] + call->attr.adam.first;

    (void) context;
    if (control[MTLM_CONTROL_APPLY] == 0) {
        memset(g, 0, n * sizeof(*g));
        return;
    }
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        mtlm_adam_step(&a, g[i], &m[i], &v[i], &w[i]);
        g[i] = 0;
    }
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
    .infer = adam_infer,
    .flops = adam_flops,
    .cpu = adam_cpu,
};
