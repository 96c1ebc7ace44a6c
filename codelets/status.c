/* The end of an iteration: what all ranks must agree on travels in one vector
 * of doubles, the status (squared sums of the gradients, then enum
 * mtlm_status_slot); after its all-reduce every rank advances its own control
 * tensor (enum mtlm_control_slot) by the same arithmetic.
 *
 * g [..]; loss [MTLM_LOSS_COUNT]; status, sums [n]; norm [1]; control, report
 * [MTLM_CONTROL_COUNT]. */

#include "config.h"

#include <math.h>
#include <string.h>

#include "codelets/control.h"
#include "codelets/infer.h"
#include "runtime/signals.h"

/* The losses lie side by side in all three. */
_Static_assert(MTLM_STATUS_SOP == MTLM_STATUS_LOSS + MTLM_LOSS_SOP
                   && MTLM_STATUS_SOP_HITS
                          == MTLM_STATUS_LOSS + MTLM_LOSS_SOP_HITS
                   && MTLM_CONTROL_SOP == MTLM_CONTROL_LOSS + MTLM_LOSS_SOP
                   && MTLM_CONTROL_SOP_HITS
                          == MTLM_CONTROL_LOSS + MTLM_LOSS_SOP_HITS,
               "publish and control copy them as one");

/* Whether the status has the n elements from attr.status.slot on. */
static int check_slots(const struct mtlm_call *call, int status, int n,
                       struct mtlm_error *err)
{
    const int64_t slot = call->attr.status.slot;
    char text[96];

    if (slot >= 0 && slot + n <= mtlm_shape_elems(&call->shape[status]))
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE, "%s: status is %s, needs an element %lld",
        mtlm_ops[call->kind]->name, mtlm_shape_str(&call->shape[status], text),
        (long long) (slot < 0 ? slot : slot + n - 1));
}

enum { Q_G, Q_STATUS };

static int square_sum_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return check_slots(call, Q_STATUS, 1, err);
}

static double square_sum_flops(const struct mtlm_call *call)
{
    return 2.0 * mtlm_shape_elems(&call->shape[Q_G]);
}

static int64_t counted_elems(const struct mtlm_call *call)
{
    return mtlm_shape_elems(&call->shape[Q_G]) - call->attr.status.padding;
}

static void square_sum_cpu(void *const ptr[], const struct mtlm_call *call,
                           const struct mtlm_context *context)
{
    const int64_t n = counted_elems(call);
    const mtlm_real *g = ptr[Q_G];
    double *status = ptr[Q_STATUS], sum = 0;

    (void) context;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += (double) g[i] * (double) g[i];
    status[call->attr.status.slot] = sum;
}

const struct mtlm_op mtlm_op_square_sum = {
    .name = "square_sum",
    .n_operands = 2,
    .access = {[Q_G] = MTLM_R, [Q_STATUS] = MTLM_RW},
    .dtype = {[Q_G] = MTLM_VALUE, [Q_STATUS] = MTLM_F64},
    .infer = square_sum_infer,
    .flops = square_sum_flops,
    .cpu = square_sum_cpu,
};

/* Adds to what is there: the numbers are exact. */
static void count_zeros_cpu(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    const int64_t n = counted_elems(call);
    const mtlm_real *g = ptr[Q_G];
    double *status = ptr[Q_STATUS];
    int64_t zeros = 0;

    (void) context;
    for (int64_t i = 0; i < n; i++)
        zeros += g[i] == 0;
    status[call->attr.status.slot] += (double) zeros;
}

const struct mtlm_op mtlm_op_count_zeros = {
    .name = "count_zeros",
    .n_operands = 2,
    .access = {[Q_G] = MTLM_R, [Q_STATUS] = MTLM_RW},
    .dtype = {[Q_STATUS] = MTLM_F64},
    .infer = square_sum_infer,
    .cpu = count_zeros_cpu,
};

/* norm[0] = the root of the sum of sums. */
enum { N_SUMS, N_NORM };

static int norm_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    (void) err;
    call->shape[N_NORM] = MTLM_SHAPE(1);
    return 0;
}

static void norm_cpu(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[N_SUMS]);
    const double *sums = ptr[N_SUMS];
    double *norm = ptr[N_NORM], square = 0;

    (void) context;
    for (int64_t i = 0; i < n; i++)
        square += sums[i];
    *norm = sqrt(square);
}

const struct mtlm_op mtlm_op_norm = {
    .name = "norm",
    .n_operands = 2,
    .access = {[N_SUMS] = MTLM_R, [N_NORM] = MTLM_W},
    .dtype = {[N_SUMS] = MTLM_F64, [N_NORM] = MTLM_F64},
    .infer = norm_infer,
    .cpu = norm_cpu,
};

enum { P_LOSS, P_STATUS };

static int publish_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return mtlm_expect_shape(call, P_LOSS, "loss", MTLM_SHAPE(MTLM_LOSS_COUNT),
                             err)
                   || check_slots(call, P_STATUS, MTLM_LOSS_COUNT, err)
               ? -1
               : 0;
}

static void publish_cpu(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context)
{
    double *loss = ptr[P_LOSS], *status = ptr[P_STATUS];

    (void) context;
    for (int i = 0; i < MTLM_LOSS_COUNT; i++) {
        status[call->attr.status.slot + i] = loss[i] * call->attr.status.factor;
        loss[i] = 0;
    }
}

const struct mtlm_op mtlm_op_publish = {
    .name = "publish",
    .n_operands = 2,
    .access = {[P_LOSS] = MTLM_RW, [P_STATUS] = MTLM_RW},
    .dtype = {[P_LOSS] = MTLM_F64, [P_STATUS] = MTLM_F64},
    .infer = publish_infer,
    .cpu = publish_cpu,
};

enum { G_STATUS };

static int flags_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return check_slots(call, G_STATUS, 1, err);
}

static void flags_cpu(void *const ptr[], const struct mtlm_call *call,
                      const struct mtlm_context *context)
{
    double *status = ptr[G_STATUS];

    (void) context;
    status[call->attr.status.slot] = mtlm_stop_requested();
}

const struct mtlm_op mtlm_op_flags = {
    .name = "flags",
    .op_class = MTLM_CLASS_HOST,
    .n_operands = 1,
    .access = {[G_STATUS] = MTLM_RW},
    .dtype = {[G_STATUS] = MTLM_F64},
    .infer = flags_infer,
    .cpu = flags_cpu,
};

/* The control tensor before the first iteration. */
enum { I_CONTROL };

static int control_init_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return mtlm_expect_shape(call, I_CONTROL, "control",
                             MTLM_SHAPE(MTLM_CONTROL_COUNT), err);
}

static void control_init_cpu(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const struct mtlm_loss_scale *scale = &call->attr.control.scale;
    double *control = ptr[I_CONTROL];

    (void) context;
    memset(control, 0, MTLM_CONTROL_COUNT * sizeof(*control));
    control[MTLM_CONTROL_LOSS_SCALE] = scale->initial > 0 ? scale->initial : 1;
    control[MTLM_CONTROL_HYSTERESIS] = scale->hysteresis;
}

const struct mtlm_op mtlm_op_control_init = {
    .name = "control_init",
    .n_operands = 1,
    .access = {[I_CONTROL] = MTLM_W},
    .dtype = {[I_CONTROL] = MTLM_F64},
    .infer = control_init_infer,
    .cpu = control_init_cpu,
};

enum { C_STATUS, C_CONTROL, C_REPORT };

static int control_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const int64_t n = call->attr.control.n_sums + MTLM_STATUS_EXTRA;

    call->shape[C_REPORT] = MTLM_SHAPE(MTLM_CONTROL_COUNT);
    return mtlm_expect_shape(call, C_STATUS, "status", MTLM_SHAPE(n), err)
                   || mtlm_expect_shape(call, C_CONTROL, "control",
                                        MTLM_SHAPE(MTLM_CONTROL_COUNT), err)
               ? -1
               : 0;
}

static void control_cpu(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context)
{
    const int64_t n_sums = call->attr.control.n_sums;
    const double *sums = ptr[C_STATUS];
    double square = 0;

    for (int64_t i = 0; i < n_sums; i++)
        square += sums[i];
    mtlm_control_advance(&call->attr, square, sums + n_sums, context->batch,
                         ptr[C_CONTROL], ptr[C_REPORT]);
}

const struct mtlm_op mtlm_op_control = {
    .name = "control",
    .n_operands = 3,
    .access = {[C_STATUS] = MTLM_R, [C_CONTROL] = MTLM_RW, [C_REPORT] = MTLM_W},
    .dtype =
        {[C_STATUS] = MTLM_F64, [C_CONTROL] = MTLM_F64, [C_REPORT] = MTLM_F64},
    .infer = control_infer,
    .cpu = control_cpu,
};

enum { E_STATUS, E_REPORT };

static int eval_report_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    call->shape[E_REPORT] = MTLM_SHAPE(MTLM_STATUS_EXTRA);
    return mtlm_expect_shape(call, E_STATUS, "status",
                             MTLM_SHAPE(MTLM_STATUS_EXTRA), err);
}

static void eval_report_cpu(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    double *status = ptr[E_STATUS];

    (void) call, (void) context;
    memcpy(ptr[E_REPORT], status, MTLM_STATUS_EXTRA * sizeof(*status));
    memset(status, 0, MTLM_STATUS_EXTRA * sizeof(*status));
}

const struct mtlm_op mtlm_op_eval_report = {
    .name = "eval_report",
    .n_operands = 2,
    .access = {[E_STATUS] = MTLM_RW, [E_REPORT] = MTLM_W},
    .dtype = {[E_STATUS] = MTLM_F64, [E_REPORT] = MTLM_F64},
    .infer = eval_report_infer,
    .cpu = eval_report_cpu,
};
