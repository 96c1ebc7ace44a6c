#include "config.h"

#include "tests/codelets/twin.h"

#if HAVE_CUDA

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/codelets/support.h"
#include "tests/codelets/twin_operand.h"

#define BOUND 1e-5

static bool compared[MTLM_OP_COUNT];

static double bound_of(const struct twin *twin, enum mtlm_dtype dtype)
{
    if (dtype == MTLM_I32)
        return 0;
    if (dtype == MTLM_F64)
        return twin->doubles == TWIN_NEAR   ? 1e-12
               : twin->doubles == TWIN_EACH ? 1e-14
                                            : 0;
    if (twin->roundings && dtype != MTLM_REAL)
        return twin->roundings * twin_rounding(1, dtype);
    return twin->bound ? twin->bound : BOUND;
}

/* The greatest of the numbers in host: neither infinities and NaNs, nor what
 * marks the padding in lse (MTLM_ATTENTION_NO_LSE), beside which all would be
 * equal. */
static double greatest_of(const void *host, enum mtlm_dtype dtype, int64_t n)
{
    double greatest = 0;

    for (int64_t i = 0; i < n; i++) {
        const double x = fabs(twin_element(host, dtype, i));

        if (x < FLT_MAX / 2)
            greatest = fmax(greatest, x);
    }
    return greatest;
}

static void assert_same(const struct twin_operand *o, const void *raw,
                        const struct twin *twin, const char *what, int number)
{
    const enum mtlm_dtype host_dtype =
        mtlm_dtype_is_16_bit(o->dtype) ? MTLM_REAL : o->dtype;
    const bool each = twin->doubles != TWIN_NEAR && o->dtype == MTLM_F64;
    const double bound = bound_of(twin, o->dtype);
    double greatest = greatest_of(o->host, host_dtype, o->n);

    for (int64_t i = 0; i < o->n; i++) {
        const double want = twin_element(o->host, host_dtype, i);
        const double got = twin_element(raw, o->dtype, i);
        const double more = twin_rounding(want, o->dtype);

        if (got == want || (isnan(got) && isnan(want)))
            continue;
        if (each)
            greatest = fabs(want);
        if (!(fabs(got - want) <= bound * greatest + more * (1 + bound)))
            fail_msg("%s, operand %d: element %ld of %ld is %.17g, not %.17g "
                     "(greatest %g)",
                     what, number, (long) i, (long) o->n, got, want, greatest);
    }
}

/* Operands of all calls. */
static int count(const struct mtlm_call *call)
{
    int n = 0;

    for (; call; call = call->next)
        n += mtlm_ops[call->kind]->n_operands;
    return n;
}

/* The context of run_op(), for the device. */
static void run_there(struct twin_operand *operand, const struct twin *twin,
                      const struct mtlm_call *call)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];
    const int n = count(call);
    struct mtlm_device said = twin_device;
    const struct mtlm_context context = {.sample = twin->sample,
                                         .share = RUN_SHARE,
                                         .batch = RUN_BATCH,
                                         .first = true,
                                         .device = &said};
    void *ptr[MTLM_MAX_POINTERS];

    if (twin->capability)
        said.capability = twin->capability;
    said.epilogues = twin->epilogues;
    for (int i = 0; i < n; i++) {
        if (op->access[i % op->n_operands] != MTLM_W)
            twin_operand_put(&operand[i]);
        ptr[i] = operand[i].there.data;
    }
    mtlm_call_run_cuda(ptr, call, &context);
    twin_wait();
}

/* The same bits once more: in the emulator with the threads the other way
 * round. */
static void assert_again(struct twin_operand *operand, const struct twin *twin,
                         const struct mtlm_call *call, const char *what)
{
    const int n = count(call);
    void *raw[MTLM_MAX_POINTERS];

    for (int i = 0; i < n; i++)
        raw[i] = twin_operand_get(&operand[i]);
#if MTLM_EMULATED
    mtlm_emulator_backwards = true;
#endif
    run_there(operand, twin, call);
#if MTLM_EMULATED
    mtlm_emulator_backwards = false;
#endif
    for (int i = 0; i < n; i++) {
        void *again = twin_operand_get(&operand[i]);

        if (memcmp(raw[i], again,
                   operand[i].n * mtlm_dtype_bytes(operand[i].dtype))
            != 0)
            fail_msg("%s: operand %d is not the same bits again", what, i);
        free(again), free(raw[i]);
    }
}

/* Operands [first, first + n_operands) are the call's. */
static void make_operands(const struct mtlm_call *call,
                          struct twin_operand *operand, int first, bool aligned)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];

    for (int i = 0; i < op->n_operands; i++) {
        struct twin_operand *o = &operand[first + i];

        if (first > 0 && op->shared[i]) {
            *o = operand[i];
            o->again = true;
            continue;
        }
        twin_operand_new(o, mtlm_call_dtype(call, i),
                         mtlm_shape_elems(&call->shape[i]), 10 + first + i,
                         aligned);
    }
}

static void set_value(struct mtlm_call *call, enum mtlm_dtype value)
{
    struct mtlm_error err;

    for (; call; call = call->next) {
        call->value = value;
        if (mtlm_call_infer(call, &err))
            fail_msg("%s", err.text);
    }
}

static void compare(const struct twin *twin, enum mtlm_dtype value,
                    bool aligned)
{
    static const char *const names[] = {
        [MTLM_REAL] = "fp32", [MTLM_BF16] = "bf16", [MTLM_F16] = "fp16"};
    struct mtlm_call call = twin->call;
    const struct mtlm_op *op = mtlm_ops[call.kind];
    const int n = count(&call);
    struct twin_operand operand[MTLM_MAX_POINTERS] = {0};
    void *host[MTLM_MAX_POINTERS];
    char what[200], shape[96];
    int first = 0;

    set_value(&call, value);
    for (const struct mtlm_call *c = &call; c; c = c->next) {
        make_operands(c, operand, first, aligned);
        first += op->n_operands;
    }
    for (int i = 0; i < n; i++)
        host[i] = operand[i].host;
    snprintf(what, sizeof(what), "%s in %s of %s%s", op->name, names[value],
             mtlm_shape_str(&call.shape[0], shape),
             aligned ? "" : ", not aligned");
    first = 0;
    for (const struct mtlm_call *c = &call; c && twin->fill; c = c->next) {
        twin->fill(c, host + first);
        first += op->n_operands;
    }
    for (int i = 0; i < n; i++)
        twin_operand_round(&operand[i]);
    run_there(operand, twin, &call);
    assert_again(operand, twin, &call, what);
    set_value(&call, MTLM_REAL);
    run_op(call, host, twin->sample);
    for (int i = 0; i < n; i++) {
        void *raw;

        if (operand[i].again)
            continue;
        raw = twin_operand_get(&operand[i]);
        assert_same(&operand[i], raw, twin, what, i);
        twin_operand_free(&operand[i]);
        free(raw);
    }
}

void twin_compare(const struct twin *twin)
{
    static const enum mtlm_dtype values[] = {MTLM_REAL, MTLM_BF16, MTLM_F16};

    for (int i = 0; i < (twin->real_only ? 1 : 3); i++) {
        compare(twin, values[i], true);
        if (!twin->aligned)
            compare(twin, values[i], false);
    }
    compared[twin->call.kind] = true;
}

void twin_assert_complete(void)
{
    for (int kind = 0; kind < MTLM_OP_COUNT; kind++)
        if (mtlm_ops[kind]->cuda && !compared[kind])
            fail_msg("%s is not compared", mtlm_ops[kind]->name);
}

#endif /* HAVE_CUDA */
