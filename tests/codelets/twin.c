#include "config.h"

#include "tests/codelets/twin.h"

#if HAVE_CUDA

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/device.h"
#include "tests/codelets/support.h"
#if MTLM_EMULATED
#include "tests/emulator/device_double.h"
#include "tests/emulator/emulator.h"
#include "tests/emulator/guarded.h"
#endif

#define BOUND 1e-5

static struct mtlm_device device = {.workspace_bytes = 32 << 20,
                                    .capability = 90};
static bool compared[MTLM_OP_COUNT];

/* An operand on both sides, of a call or of all that follow it. */
struct operand {
    bool again; /* that the first call has already */
    enum mtlm_dtype dtype;
    int64_t n;
    void *host;  /* values widened to mtlm_real */
    void *there; /* on the device */
#if MTLM_EMULATED
    struct guarded memory;
#endif
};

#if MTLM_EMULATED

const char *twin_start(void)
{
    device.workspace = mtlm_calloc(1, device.workspace_bytes);
    device.blas = device.workspace; /* for the double: any but NULL */
    return NULL;
}

void twin_stop(void)
{
    free(device.workspace);
}

/* For cublaslt_double.c, which asks no device: no stream has anything to do,
 * and all memory counts as a device's. */
void mtlm_double_kernel(cudaStream_t stream)
{
    (void) stream;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                     const void *p)
{
    (void) p;
    attributes->type = cudaMemoryTypeDevice;
    return cudaSuccess;
}

static void make_there(struct operand *o, bool aligned)
{
    const size_t bytes = mtlm_dtype_bytes(o->dtype);

    o->memory = guarded_new(o->n * bytes, bytes, aligned);
    o->there = o->memory.data;
}

static void free_there(struct operand *o)
{
    assert_true(guarded_free(&o->memory));
}

static void copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void wait_there(void)
{
}

#else

static void check(cudaError_t error)
{
    if (error != cudaSuccess)
        fail_msg("%s", cudaGetErrorString(error));
}

const char *twin_start(void)
{
    int gpus = 0, minor;

    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0)
        return "no GPU";
    check(cudaDeviceGetAttribute(&device.capability,
                                 cudaDevAttrComputeCapabilityMajor, 0));
    check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    device.capability = 10 * device.capability + minor;
    check(cudaStreamCreate(&device.stream));
    check(cudaMalloc(&device.workspace, device.workspace_bytes));
    assert_int_equal(cublasLtCreate(&device.blas), CUBLAS_STATUS_SUCCESS);
    return NULL;
}

void twin_stop(void)
{
    cublasLtDestroy(device.blas);
    check(cudaFree(device.workspace));
    check(cudaStreamDestroy(device.stream));
}

/* Not aligned: by one element. */
static void make_there(struct operand *o, bool aligned)
{
    const size_t bytes = mtlm_dtype_bytes(o->dtype);

    check(cudaMalloc(&o->there, (o->n + 1) * bytes));
    check(cudaMemset(o->there, 0xff, (o->n + 1) * bytes));
    if (!aligned)
        o->there = (char *) o->there + bytes;
}

static void free_there(struct operand *o)
{
    check(cudaFree((void *) ((uintptr_t) o->there & ~(uintptr_t) 255)));
}

static void copy(void *to, const void *from, size_t bytes)
{
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}

static void wait_there(void)
{
    check(cudaGetLastError());
    check(cudaStreamSynchronize(device.stream));
}

#endif

static uint16_t narrow(float x, enum mtlm_dtype dtype)
{
    const _Float16 half = (_Float16) x;
    uint32_t bits;
    uint16_t result;

    memcpy(&bits, &x, sizeof(bits));
    result = (bits + 0x7fff + (bits >> 16 & 1)) >> 16; /* to nearest even */
    if (dtype == MTLM_F16)
        memcpy(&result, &half, sizeof(result));
    return result;
}

static float widen(uint16_t x, enum mtlm_dtype dtype)
{
    const uint32_t bits = (uint32_t) x << 16;
    _Float16 half;
    float result;

    memcpy(&result, &bits, sizeof(result));
    memcpy(&half, &x, sizeof(half));
    return dtype == MTLM_F16 ? (float) half : result;
}

static bool is_narrow(const struct operand *o)
{
    return o->dtype == MTLM_BF16 || o->dtype == MTLM_F16;
}

static size_t host_bytes(const struct operand *o)
{
    return o->n
           * (is_narrow(o) ? sizeof(mtlm_real) : mtlm_dtype_bytes(o->dtype));
}

static void put(const struct operand *o)
{
    const mtlm_real *host = o->host;
    uint16_t *bits;

    if (!is_narrow(o)) {
        copy(o->there, o->host, host_bytes(o));
        return;
    }
    bits = mtlm_calloc(o->n, sizeof(*bits));
    for (int64_t i = 0; i < o->n; i++)
        bits[i] = narrow(host[i], o->dtype);
    copy(o->there, bits, o->n * sizeof(*bits));
    free(bits);
}

/* What lies there, as it is; the caller frees it. */
static void *get_raw(const struct operand *o)
{
    const size_t bytes = o->n * mtlm_dtype_bytes(o->dtype);
    void *raw = mtlm_calloc(1, bytes);

    copy(raw, o->there, bytes);
    return raw;
}

/* Numbers of N(0, 1) or zeros, that the value type can express. */
static void make_host(struct operand *o, int seed)
{
    mtlm_real *normal = new_normal(o->n, seed);

    o->host = mtlm_calloc(1, host_bytes(o));
    for (int64_t i = 0; i < o->n && o->dtype != MTLM_I32; i++)
        if (o->dtype == MTLM_F64)
            ((double *) o->host)[i] = normal[i];
        else
            ((mtlm_real *) o->host)[i] = normal[i];
    free(normal);
}

static void round_host(struct operand *o)
{
    mtlm_real *host = o->host;

    for (int64_t i = 0; i < o->n && is_narrow(o); i++)
        host[i] = widen(narrow(host[i], o->dtype), o->dtype);
}

/* Element i of raw. */
static double element(const void *raw, enum mtlm_dtype dtype, int64_t i)
{
    switch (dtype) {
    case MTLM_F64:
        return ((const double *) raw)[i];
    case MTLM_I32:
        return ((const int32_t *) raw)[i];
    case MTLM_REAL:
        return ((const mtlm_real *) raw)[i];
    default:
        return widen(((const uint16_t *) raw)[i], dtype);
    }
}

/* Half a unit in the last place of x. */
static double rounding(double x, enum mtlm_dtype dtype)
{
    return dtype == MTLM_BF16  ? fabs(x) * 0x1p-8
           : dtype == MTLM_F16 ? fmax(fabs(x) * 0x1p-11, 0x1p-25)
                               : 0;
}

static double bound_of(const struct twin *twin, enum mtlm_dtype dtype)
{
    if (dtype == MTLM_I32)
        return 0;
    if (dtype == MTLM_F64)
        return twin->doubles == TWIN_NEAR   ? 1e-12
               : twin->doubles == TWIN_EACH ? 1e-14
                                            : 0;
    if (twin->roundings && dtype != MTLM_REAL)
        return twin->roundings * rounding(1, dtype);
    return twin->bound ? twin->bound : BOUND;
}

static void assert_same(const struct operand *o, const void *raw,
                        const struct twin *twin, const char *what, int number)
{
    const enum mtlm_dtype host_dtype = is_narrow(o) ? MTLM_REAL : o->dtype;
    const bool each = twin->doubles != TWIN_NEAR && o->dtype == MTLM_F64;
    const double bound = bound_of(twin, o->dtype);
    double greatest = 0;

    for (int64_t i = 0; i < o->n; i++)
        if (isfinite(element(o->host, host_dtype, i)))
            greatest = fmax(greatest, fabs(element(o->host, host_dtype, i)));
    for (int64_t i = 0; i < o->n; i++) {
        const double want = element(o->host, host_dtype, i);
        const double got = element(raw, o->dtype, i);
        const double more = rounding(want, o->dtype);

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
static void run_there(struct operand *operand, const struct twin *twin,
                      const struct mtlm_call *call)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];
    const int n = count(call);
    struct mtlm_device said = device;
    const struct mtlm_context context = {.sample = twin->sample,
                                         .share = RUN_SHARE,
                                         .batch = RUN_BATCH,
                                         .device = &said};
    void *ptr[MTLM_MAX_POINTERS];

    if (twin->capability)
        said.capability = twin->capability;
    for (int i = 0; i < n; i++) {
        if (op->access[i % op->n_operands] != MTLM_W)
            put(&operand[i]);
        ptr[i] = operand[i].there;
    }
    mtlm_call_run_cuda(ptr, call, &context);
    wait_there();
}

#if MTLM_EMULATED
/* Once more, the threads the other way round. */
static void assert_any_order(struct operand *operand, const struct twin *twin,
                             const struct mtlm_call *call, const char *what)
{
    const int n = count(call);
    void *raw[MTLM_MAX_POINTERS];

    for (int i = 0; i < n; i++)
        raw[i] = get_raw(&operand[i]);
    mtlm_emulator_backwards = true;
    run_there(operand, twin, call);
    mtlm_emulator_backwards = false;
    for (int i = 0; i < n; i++) {
        void *again = get_raw(&operand[i]);

        if (memcmp(raw[i], again,
                   operand[i].n * mtlm_dtype_bytes(operand[i].dtype))
            != 0)
            fail_msg("%s: operand %d depends on the order of the threads", what,
                     i);
        free(again), free(raw[i]);
    }
}
#endif

/* Operands [first, first + n_operands) are the call's. */
static void make_operands(const struct mtlm_call *call, struct operand *operand,
                          int first, bool aligned)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];

    for (int i = 0; i < op->n_operands; i++) {
        struct operand *o = &operand[first + i];

        if (first > 0 && op->shared[i]) {
            *o = operand[i];
            o->again = true;
            continue;
        }
        o->dtype = mtlm_call_dtype(call, i);
        o->n = mtlm_shape_elems(&call->shape[i]);
        make_host(o, 10 + first + i);
        make_there(o, aligned);
    }
}

static void set_value(struct mtlm_call *call, enum mtlm_dtype value)
{
    struct mtlm_error err;

    for (; call; call = call->next) {
        call->value = value;
        if (mtlm_ops[call->kind]->infer(call, &err))
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
    struct operand operand[MTLM_MAX_POINTERS] = {0};
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
        round_host(&operand[i]);
    run_there(operand, twin, &call);
#if MTLM_EMULATED
    assert_any_order(operand, twin, &call, what);
#endif
    set_value(&call, MTLM_REAL);
    run_op(call, host, twin->sample);
    for (int i = 0; i < n; i++) {
        void *raw;

        if (operand[i].again)
            continue;
        raw = get_raw(&operand[i]);
        assert_same(&operand[i], raw, twin, what, i);
        free_there(&operand[i]);
        free(raw), free(operand[i].host);
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

#endif
