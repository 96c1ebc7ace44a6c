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
#include "codelets/status.h"
#include "codelets/streams.h"
#include "runtime/machine/signals.h"

/* The losses are consecutive in loss, status and control. */
_Static_assert(MTLM_STATUS_SOP == MTLM_STATUS_LOSS + MTLM_LOSS_SOP
                   && MTLM_STATUS_SOP_HITS
                          == MTLM_STATUS_LOSS + MTLM_LOSS_SOP_HITS
                   && MTLM_CONTROL_SOP == MTLM_CONTROL_LOSS + MTLM_LOSS_SOP
                   && MTLM_CONTROL_SOP_HITS
                          == MTLM_CONTROL_LOSS + MTLM_LOSS_SOP_HITS,
               "publish and control copy them as one");

/* Checks that status has the n elements from attr.status.slot on. */
static int check_slots(const struct mtlm_call *call, int status, int n,
                       struct mtlm_error *err)
{
    const int64_t slot = call->attr.status.slot;
    char text[96];

    if (slot >= 0 && slot + n <= mtlm_shape_elems(&call->shape[status]))
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "status is %s, needs element %lld",
                          mtlm_shape_str(&call->shape[status], text),
                          (long long) (slot < 0 ? slot : slot + n - 1));
}

static int square_sum_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return check_slots(call, SQ_STATUS, 1, err);
}

static double square_sum_flops(const struct mtlm_call *call)
{
    return 2.0 * mtlm_shape_elems(&call->shape[SQ_G]);
}

static int64_t counted_elems(const struct mtlm_call *call)
{
    return mtlm_shape_elems(&call->shape[SQ_G]) - call->attr.status.padding;
}

/* Sums of each stream. */
enum { LANES = 8 };

static double sum_squares(const mtlm_real *g, int64_t n)
{
    const int64_t part = n / (MTLM_STREAMS * LANES) * LANES;
    double sums[MTLM_STREAMS][LANES] = {0}, sum = 0;

    for (int64_t i = 0; i < part; i += LANES)
#pragma GCC unroll 8
        for (int s = 0; s < MTLM_STREAMS; s++)
#pragma omp simd
            for (int lane = 0; lane < LANES; lane++) {
                const double x = g[s * part + i + lane];

                sums[s][lane] += x * x;
            }
    for (int s = 0; s < MTLM_STREAMS; s++)
        for (int lane = 0; lane < LANES; lane++)
            sum += sums[s][lane];
    for (int64_t i = MTLM_STREAMS * part; i < n; i++)
        sum += (double) g[i] * (double) g[i];
    return sum;
}

static void square_sum_cpu(void *const ptr[], const struct mtlm_call *call,
                           const struct mtlm_context *context)
{
    double *status = ptr[SQ_STATUS];

    (void) context;
    status[call->attr.status.slot] =
        sum_squares(ptr[SQ_G], counted_elems(call));
}

const struct mtlm_op mtlm_op_square_sum = {
    .name = "square_sum",
    .n_operands = 2,
    .access = {[SQ_G] = MTLM_R, [SQ_STATUS] = MTLM_RW},
    .dtype = {[SQ_G] = MTLM_VALUE, [SQ_STATUS] = MTLM_F64},
    .shared = {[SQ_STATUS] = true},
    .infer = square_sum_infer,
    .flops = square_sum_flops,
    .cpu = square_sum_cpu,
    .cuda = MTLM_CUDA_KERNEL(square_sum),
    .cuda_together = true,
};

/* Adds to the slot: sums of whole numbers are exact. */
static void count_zeros_cpu(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    const int64_t n = counted_elems(call);
    const mtlm_real *g = ptr[SQ_G];
    double *status = ptr[SQ_STATUS];
    int64_t zeros = 0;

    (void) context;
    for (int64_t i = 0; i < n; i++)
        zeros += g[i] == 0;
    status[call->attr.status.slot] += (double) zeros;
}

const struct mtlm_op mtlm_op_count_zeros = {
    .name = "count_zeros",
    .n_operands = 2,
    .access = {[SQ_G] = MTLM_R, [SQ_STATUS] = MTLM_RW},
    .dtype = {[SQ_STATUS] = MTLM_F64},
    .shared = {[SQ_STATUS] = true},
    .infer = square_sum_infer,
    .cpu = count_zeros_cpu,
    .cuda = MTLM_CUDA_KERNEL(count_zeros),
};

/* norm[0] is the square root of the sum of sums. */
static int norm_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    (void) err;
    call->shape[NORM_NORM] = MTLM_SHAPE(1);
    return 0;
}

static void norm_cpu(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[NORM_SUMS]);
    const double *sums = ptr[NORM_SUMS];
    double *norm = ptr[NORM_NORM], square = 0;

    (void) context;
    for (int64_t i = 0; i < n; i++)
        square += sums[i];
    *norm = sqrt(square);
}

const struct mtlm_op mtlm_op_norm = {
    .name = "norm",
    .n_operands = 2,
    .access = {[NORM_SUMS] = MTLM_R, [NORM_NORM] = MTLM_W},
    .dtype = {[NORM_SUMS] = MTLM_F64, [NORM_NORM] = MTLM_F64},
    .infer = norm_infer,
    .cpu = norm_cpu,
    .cuda = MTLM_CUDA_KERNEL(norm),
};

static int publish_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return mtlm_infer_expect_shape(call, PUBLISH_LOSS, "loss",
                                   MTLM_SHAPE(MTLM_LOSS_COUNT), err)
                   || check_slots(call, PUBLISH_STATUS, MTLM_LOSS_COUNT, err)
               ? -1
               : 0;
}

static void publish_cpu(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context)
{
    double *loss = ptr[PUBLISH_LOSS], *status = ptr[PUBLISH_STATUS];

    (void) context;
    for (int i = 0; i < MTLM_LOSS_COUNT; i++) {
        status[call->attr.status.slot + i] = loss[i] * call->attr.status.factor;
        loss[i] = 0;
    }
}

const struct mtlm_op mtlm_op_publish = {
    .name = "publish",
    .n_operands = 2,
    .access = {[PUBLISH_LOSS] = MTLM_RW, [PUBLISH_STATUS] = MTLM_RW},
    .dtype = {[PUBLISH_LOSS] = MTLM_F64, [PUBLISH_STATUS] = MTLM_F64},
    .infer = publish_infer,
    .cpu = publish_cpu,
    .cuda = MTLM_CUDA_KERNEL(publish),
};

static int flags_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return check_slots(call, FLAGS_STATUS, 1, err);
}

static void flags_cpu(void *const ptr[], const struct mtlm_call *call,
                      const struct mtlm_context *context)
{
    double *status = ptr[FLAGS_STATUS];

    (void) context;
    status[call->attr.status.slot] = mtlm_stop_requested();
}

const struct mtlm_op mtlm_op_flags = {
    .name = "flags",
    .op_class = MTLM_CLASS_HOST,
    .n_operands = 1,
    .access = {[FLAGS_STATUS] = MTLM_RW},
    .dtype = {[FLAGS_STATUS] = MTLM_F64},
    .infer = flags_infer,
    .cpu = flags_cpu,
    .cuda = MTLM_CUDA_KERNEL(flags),
};

/* The control tensor before the first iteration. */
static int control_init_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return mtlm_infer_expect_shape(call, CONTROL_INIT_CONTROL, "control",
                                   MTLM_SHAPE(MTLM_CONTROL_COUNT), err);
}

static void control_init_cpu(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    (void) context;
    mtlm_control_begin(&call->attr, ptr[CONTROL_INIT_CONTROL]);
}

const struct mtlm_op mtlm_op_control_init = {
    .name = "control_init",
    .n_operands = 1,
    .access = {[CONTROL_INIT_CONTROL] = MTLM_W},
    .dtype = {[CONTROL_INIT_CONTROL] = MTLM_F64},
    .infer = control_init_infer,
    .cpu = control_init_cpu,
    .cuda = MTLM_CUDA_KERNEL(control_init),
};

static int control_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const int64_t n = call->attr.control.n_sums + MTLM_STATUS_EXTRA;

    call->shape[CONTROL_REPORT] = MTLM_SHAPE(MTLM_CONTROL_COUNT);
    return mtlm_infer_expect_shape(call, CONTROL_STATUS, "status",
                                   MTLM_SHAPE(n), err)
                   || mtlm_infer_expect_shape(call, CONTROL_CONTROL, "control",
                                              MTLM_SHAPE(MTLM_CONTROL_COUNT),
                                              err)
               ? -1
               : 0;
}

static void control_cpu(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context)
{
    const int64_t n_sums = call->attr.control.n_sums;
    const double *sums = ptr[CONTROL_STATUS];
    double square = 0;

    for (int64_t i = 0; i < n_sums; i++)
        square += sums[i];
    mtlm_control_advance(&call->attr, square, sums + n_sums, context->batch,
                         ptr[CONTROL_CONTROL], ptr[CONTROL_REPORT]);
}

const struct mtlm_op mtlm_op_control = {
    .name = "control",
    .n_operands = 3,
    .access = {[CONTROL_STATUS] = MTLM_R,
               [CONTROL_CONTROL] = MTLM_RW,
               [CONTROL_REPORT] = MTLM_W},
    .dtype = {[CONTROL_STATUS] = MTLM_F64,
              [CONTROL_CONTROL] = MTLM_F64,
              [CONTROL_REPORT] = MTLM_F64},
    .infer = control_infer,
    .cpu = control_cpu,
    .cuda = MTLM_CUDA_KERNEL(control),
};

static int eval_report_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    call->shape[EVAL_REPORT] = MTLM_SHAPE(MTLM_STATUS_EXTRA);
    return mtlm_infer_expect_shape(call, EVAL_STATUS, "status",
                                   MTLM_SHAPE(MTLM_STATUS_EXTRA), err);
}

static void eval_report_cpu(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    double *status = ptr[EVAL_STATUS];

    (void) call, (void) context;
    memcpy(ptr[EVAL_REPORT], status, MTLM_STATUS_EXTRA * sizeof(*status));
    memset(status, 0, MTLM_STATUS_EXTRA * sizeof(*status));
}

const struct mtlm_op mtlm_op_eval_report = {
    .name = "eval_report",
    .n_operands = 2,
    .access = {[EVAL_STATUS] = MTLM_RW, [EVAL_REPORT] = MTLM_W},
    .dtype = {[EVAL_STATUS] = MTLM_F64, [EVAL_REPORT] = MTLM_F64},
    .infer = eval_report_infer,
    .cpu = eval_report_cpu,
    .cuda = MTLM_CUDA_KERNEL(eval_report),
};
