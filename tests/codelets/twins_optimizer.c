/* The CUDA kernels of the end of an iteration against their CPU twins. */

#include "config.h"

#include "tests/codelets/twin.h"

#if HAVE_CUDA

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/adam.h"
#include "codelets/status.h"
#include "tests/codelets/support.h"
#include "tests/codelets/twins.h"

static void fill_gradient(const struct mtlm_call *call, void *const ptr[])
{
    mtlm_real *g = ptr[SQ_G];

    for (int64_t i = 0; i < mtlm_shape_elems(&call->shape[SQ_G]); i += 3)
        g[i] = 0;
}

/* One block, several, more parts than blocks. */
void test_sums(void **state)
{
    static const struct {
        int64_t n, padding;
        bool real_only;
    } sums[] = {{1, 0, false},         {5, 5, false},    {301, 4, false},
                {8192, 0, false},      {8193, 1, false}, {40003, 7000, false},
                {1025 * 8192, 3, true}};

    (void) state;
    for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
        for (int zeros = 0; zeros < 2; zeros++)
            twin_compare(&(struct twin){
                .call = {.kind =
                             zeros ? MTLM_OP_COUNT_ZEROS : MTLM_OP_SQUARE_SUM,
                         .attr.status = {.slot = 2, .padding = sums[i].padding},
                         .shape = {MTLM_SHAPE(sums[i].n), MTLM_SHAPE(4)}},
                .fill = fill_gradient,
                .real_only = sums[i].real_only || zeros});
}

static void fill_squares(const struct mtlm_call *call, void *const ptr[])
{
    double *sums = ptr[NORM_SUMS];

    for (int64_t i = 0; i < mtlm_shape_elems(&call->shape[NORM_SUMS]); i++)
        sums[i] *= sums[i] * (1 + i % 5);
}

void test_status(void **state)
{
    const struct mtlm_shape extra = MTLM_SHAPE(MTLM_STATUS_EXTRA);

    (void) state;
    for (int64_t n = 1; n < 2000; n = 2 * n + 5)
        twin_compare(&(struct twin){
            .call = {.kind = MTLM_OP_NORM, .shape = {MTLM_SHAPE(n)}},
            .fill = fill_squares,
            .doubles = TWIN_EXACT,
            .real_only = true});
    twin_compare(&(struct twin){
        .call = {.kind = MTLM_OP_PUBLISH,
                 .attr.status = {.slot = 1, .factor = 0.5},
                 .shape = {MTLM_SHAPE(MTLM_LOSS_COUNT), MTLM_SHAPE(6)}},
        .doubles = TWIN_EXACT,
        .real_only = true});
    twin_compare(&(struct twin){.call = {.kind = MTLM_OP_FLAGS,
                                         .attr.status.slot = 3,
                                         .shape = {MTLM_SHAPE(5)}},
                                .doubles = TWIN_EXACT,
                                .real_only = true});
    twin_compare(
        &(struct twin){.call = {.kind = MTLM_OP_EVAL_REPORT, .shape = {extra}},
                       .doubles = TWIN_EXACT,
                       .real_only = true});
}

/* ---- control ---- */

enum { SUMS = 261 };

static const struct mtlm_loss_scale dynamic = {
    .initial = 65536, .min = 2, .window = 3, .hysteresis = 2, .dynamic = true};

/* What an iteration begins with, and what it finds. */
static const struct control_case {
    double sum; /* of each square */
    double loss, sop, clip;
    double clock, nans, scale, growth, hysteresis;
    bool nan_is_final;
} cases[] = {
    {.sum = 1, .loss = 2},
    {.sum = 1, .loss = 2, .clip = 1, .clock = 80},
    {.sum = 1e-9, .loss = 2, .clip = 1, .clock = 160},
    {.sum = 1, .loss = NAN, .clock = 161},
    {.sum = 1, .sop = INFINITY, .clock = 200, .nan_is_final = true},
    {.sum = NAN, .loss = 1, .clock = 250},
    {.sum = INFINITY, .loss = 1, .clock = 300, .clip = 1},
    {.sum = 1, .loss = 1, .nans = 1, .nan_is_final = true},
    {.sum = 1, .loss = 1, .nans = 1, .clock = 1000},
    {.sum = 1e12, .loss = 1, .scale = 65536, .hysteresis = 2, .clip = 1},
    {.sum = 1, .loss = 1, .scale = 4, .growth = 2, .hysteresis = 1},
    {.sum = INFINITY, .loss = 1, .scale = 65536, .hysteresis = 2},
    {.sum = INFINITY, .loss = 1, .scale = 65536, .hysteresis = 1, .growth = 2},
    {.sum = NAN, .loss = 1, .scale = 4, .hysteresis = 0, .clip = 1},
    {.sum = INFINITY, .loss = 1, .scale = 2, .hysteresis = 0},
    {.sum = INFINITY, .loss = NAN, .scale = 1024, .hysteresis = 2},
};

static const struct control_case *at; /* the one that is compared */

static void fill_control(const struct mtlm_call *call, void *const ptr[])
{
    double *status = ptr[CONTROL_STATUS], *extra = status + SUMS;
    double *control = ptr[CONTROL_CONTROL];

    (void) call;
    for (int i = 0; i < SUMS; i++)
        status[i] = at->sum / (1 + i % 7);
    extra[MTLM_STATUS_LOSS] = at->loss;
    extra[MTLM_STATUS_SOP] = at->sop;
    extra[MTLM_STATUS_ZEROS] = 12345;
    extra[MTLM_STATUS_STOP] = 1;
    memset(control, 0, MTLM_CONTROL_COUNT * sizeof(*control));
    control[MTLM_CONTROL_ITERATION] = 7;
    control[MTLM_CONTROL_STEP] = 6;
    control[MTLM_CONTROL_SAMPLES] = 7 * RUN_BATCH;
    control[MTLM_CONTROL_CLOCK] = at->clock;
    control[MTLM_CONTROL_NAN] = at->nans;
    control[MTLM_CONTROL_LOSS_SCALE] = at->scale > 0 ? at->scale : 1;
    control[MTLM_CONTROL_GROWTH] = at->growth;
    control[MTLM_CONTROL_HYSTERESIS] = at->hysteresis;
}

static void compare_control(const struct mtlm_lr_schedule *schedule)
{
    const struct mtlm_call call = {
        .kind = MTLM_OP_CONTROL,
        .attr.control = {.lr_schedule = *schedule,
                         .clip = at->clip,
                         .n_sums = SUMS,
                         .nan_is_final = at->nan_is_final,
                         .scale = at->scale > 0 ? dynamic
                                                : (struct mtlm_loss_scale){0}},
        .shape = {MTLM_SHAPE(SUMS + MTLM_STATUS_EXTRA),
                  MTLM_SHAPE(MTLM_CONTROL_COUNT)}};

    twin_compare(&(struct twin){.call = call,
                                .fill = fill_control,
                                .doubles = TWIN_EACH,
                                .real_only = true});
}

void test_control(void **state)
{
    struct mtlm_lr_schedule schedule = {.lr = 1,
                                        .min_lr = 0.01,
                                        .warmup_samples = 160,
                                        .decay_samples = 320,
                                        .wsd_samples = 100,
                                        .weight_decay = 0.1,
                                        .end_weight_decay = 0.3,
                                        .weight_decay_samples = 192};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        at = &cases[i];
        for (int lr = 0; lr <= MTLM_LR_WSD; lr++) {
            schedule.style = lr;
            schedule.wsd_style = (i + lr) % (MTLM_WSD_COSINE + 1);
            schedule.weight_decay_style =
                (i + lr) % (MTLM_WEIGHT_DECAY_COSINE + 1);
            compare_control(&schedule);
        }
    }
    twin_compare(
        &(struct twin){.call = {.kind = MTLM_OP_CONTROL_INIT,
                                .attr.control.scale = dynamic,
                                .shape = {MTLM_SHAPE(MTLM_CONTROL_COUNT)}},
                       .doubles = TWIN_EXACT,
                       .real_only = true});
}

/* ---- Adam ---- */

static bool apply;

static void fill_adam(const struct mtlm_call *call, void *const ptr[])
{
    double *control = ptr[ADAM_CONTROL];
    mtlm_real *v = ptr[ADAM_V];

    for (int64_t i = 0; i < mtlm_shape_elems(&call->shape[ADAM_V]); i++)
        v[i] *= v[i];
    memset(control, 0, MTLM_CONTROL_COUNT * sizeof(*control));
    control[MTLM_CONTROL_STEP] = 3;
    control[MTLM_CONTROL_LR] = 0.01;
    control[MTLM_CONTROL_WEIGHT_DECAY] = 0.1;
    control[MTLM_CONTROL_CLIP] = 0.5;
    control[MTLM_CONTROL_APPLY] = apply;
}

void test_adam(void **state)
{
    static const int64_t sizes[] = {1, 3, 301, 2048, 10007};

    (void) state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        for (int k = 0; k < 4; k++) {
            static const int64_t begins[] = {0, 3, 4, 0};
            const struct mtlm_shape n = MTLM_SHAPE(sizes[i]);
            const struct mtlm_call call = {
                .kind = MTLM_OP_ADAM,
                .attr.adam = {.beta1 = 0.9,
                              .beta2 = 0.95,
                              .epsilon = 1e-8,
                              .decay = k % 2 == 0,
                              .first = begins[k],
                              .keeps_g = k >= 2},
                .shape = {n, MTLM_SHAPE(MTLM_CONTROL_COUNT),
                          MTLM_SHAPE(sizes[i] + 5), n, n}};

            struct mtlm_call master = call;

            apply = k < 3;
            master.kind = MTLM_OP_ADAM_MASTER;
            master.shape[ADAMM_MASTER] = n;
            master.shape[ADAMM_WEIGHT] = call.shape[ADAM_WEIGHT];
            twin_compare(&(struct twin){
                .call = call, .fill = fill_adam, .real_only = true});
            twin_compare(&(struct twin){.call = master, .fill = fill_adam});
            master.kind = MTLM_OP_ADAM_VERSION;
            master.shape[ADAMM_MASTER] = master.shape[ADAMM_WEIGHT];
            twin_compare(&(struct twin){
                .call = master, .fill = fill_adam, .real_only = true});
        }
}

/* ---- many calls of one task ---- */

enum { ODD_SIZES = 7 };

/* Smaller than a part, a part, several parts, none of them all in a row. */
static int64_t odd_size(int k)
{
    static const int64_t sizes[ODD_SIZES] = {1, 2048, 301, 10007,
                                             3, 8193, 2049};

    return sizes[k % ODD_SIZES];
}

static struct mtlm_call nth_call(enum mtlm_op_kind kind, int k)
{
    const struct mtlm_shape n = MTLM_SHAPE(odd_size(k));
    struct mtlm_call call = {.kind = kind, .shape = {n}};

    if (kind == MTLM_OP_SQUARE_SUM || kind == MTLM_OP_COUNT_ZEROS) {
        call.attr.status.slot =
            kind == MTLM_OP_COUNT_ZEROS ? 3 : MTLM_MAX_CALLS - k;
        call.attr.status.padding = k % 3 == 1 ? odd_size(k) / 2 : 0;
        call.shape[SQ_STATUS] = MTLM_SHAPE(MTLM_MAX_CALLS + 2);
        return call;
    }
    call.attr.adam.beta1 = 0.9;
    call.attr.adam.beta2 = 0.95;
    call.attr.adam.epsilon = 1e-8;
    call.attr.adam.decay = k % 2;
    call.attr.adam.first = k % 3;
    call.attr.adam.keeps_g = k % 5 == 1;
    for (int i = 0; i < mtlm_ops[kind]->n_operands; i++)
        call.shape[i] = n;
    call.shape[ADAM_CONTROL] = MTLM_SHAPE(MTLM_CONTROL_COUNT);
    call.shape[kind == MTLM_OP_ADAM ? (int) ADAM_WEIGHT : (int) ADAMM_WEIGHT] =
        MTLM_SHAPE(odd_size(k) + 2);
    if (kind == MTLM_OP_ADAM_VERSION)
        call.shape[ADAMM_MASTER] = call.shape[ADAMM_WEIGHT];
    return call;
}

/* Each call has its own operands and attributes. */
static void compare_together(enum mtlm_op_kind kind, int n, bool real_only)
{
    const bool steps = kind == MTLM_OP_ADAM || kind == MTLM_OP_ADAM_MASTER
                       || kind == MTLM_OP_ADAM_VERSION;
    struct mtlm_call calls[MTLM_MAX_CALLS];

    for (int k = 0; k < n; k++) {
        calls[k] = nth_call(kind, k);
        if (k > 0)
            calls[k - 1].next = &calls[k];
    }
    twin_compare(&(struct twin){.call = calls[0],
                                .fill = steps ? fill_adam : fill_gradient,
                                .real_only = real_only});
}

void test_calls_together(void **state)
{
    (void) state;
    for (int n = 2; n <= MTLM_MAX_CALLS; n = n < 8 ? n + 1 : n + 56) {
        apply = n != 3;
        compare_together(MTLM_OP_SQUARE_SUM, n, false);
        compare_together(MTLM_OP_COUNT_ZEROS, n, true);
        compare_together(MTLM_OP_ADAM, n, true);
        compare_together(MTLM_OP_ADAM_MASTER, n, false);
        compare_together(MTLM_OP_ADAM_VERSION, n, true);
    }
}

#endif
