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

#include <math.h>
#include <string.h>

#include "codelets/infer.h"
#include "codelets/vector_math.h"

enum { G, CONTROL, WEIGHT, M, V };

static int adam_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;
    const int64_t first = call->attr.adam.first;
    char text[96];

    if (first < 0
        || first + mtlm_shape_elems(&shape[G])
               > mtlm_shape_elems(&shape[WEIGHT]))
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE, "adam: weight is %s, needs an element %lld",
            mtlm_shape_str(&shape[WEIGHT], text),
            (long long) (first - 1 + mtlm_shape_elems(&shape[G])));
    return mtlm_expect_shape(call, CONTROL, "control",
                             MTLM_SHAPE(MTLM_CONTROL_COUNT), err)
                   || mtlm_expect_shape(call, M, "m", shape[G], err)
                   || mtlm_expect_shape(call, V, "v", shape[G], err)
               ? -1
               : 0;
}

static double adam_flops(const struct mtlm_call *call)
{
    return 14.0 * mtlm_shape_elems(&call->shape[G]);
}

static void adam_cpu(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[G]);
    const double *control = ptr[CONTROL];
    const double beta1 = call->attr.adam.beta1, beta2 = call->attr.adam.beta2;
    const double lr = control[MTLM_CONTROL_LR];
    const double t = control[MTLM_CONTROL_STEP];
    /* All that does not depend on the element, rounded once. */
    const mtlm_real clip = control[MTLM_CONTROL_CLIP];
    const mtlm_real b1 = beta1, c1 = 1 - beta1, b2 = beta2, c2 = 1 - beta2;
    const mtlm_real rate = lr / (1 - pow(beta1, t));
    const mtlm_real root = 1 / sqrt(1 - pow(beta2, t));
    const mtlm_real decay =
        1
        - (call->attr.adam.decay ? lr * control[MTLM_CONTROL_WEIGHT_DECAY] : 0);
    const mtlm_real epsilon = call->attr.adam.epsilon;
    mtlm_real *g = ptr[G], *m = ptr[M], *v = ptr[V];
    mtlm_real *w = (mtlm_real *) ptr[WEIGHT] + call->attr.adam.first;

    (void) context;
    if (control[MTLM_CONTROL_APPLY] == 0) {
        memset(g, 0, n * sizeof(*g));
        return;
    }
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        const mtlm_real grad = clip * g[i];
        const mtlm_real mi = b1 * m[i] + c1 * grad;
        const mtlm_real vi = b2 * v[i] + c2 * grad * grad;

        m[i] = mi;
        v[i] = vi;
        w[i] = decay * w[i] - rate * mi / (mtlm_sqrt(vi) * root + epsilon);
        g[i] = 0;
    }
}

const struct mtlm_op mtlm_op_adam = {
    .name = "adam",
    .n_operands = 5,
    .access = {[G] = MTLM_RW,
               [CONTROL] = MTLM_R,
               [WEIGHT] = MTLM_RW,
               [M] = MTLM_RW,
               [V] = MTLM_RW},
    .dtype = {[CONTROL] = MTLM_F64},
    .infer = adam_infer,
    .flops = adam_flops,
    .cpu = adam_cpu,
};
