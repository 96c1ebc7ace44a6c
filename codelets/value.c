/* Runs CPU kernels on 16-bit operands.  Most CPU kernels compute in mtlm_real:
 * operands are widened before the kernel and rounded after. */

#include "config.h"

#include <assert.h>

#include "codelets/bf16_product.h"
#include "codelets/value.h"
#include "runtime/base/value16.h"

/* Floats in a cache line. */
enum { ALIGN = 16 };

static mtlm_kernel *kernel_of(const struct mtlm_call *call)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];

    return call->value == MTLM_BF16 && op->cpu_bf16 && mtlm_bf16_product_here()
                   && (!op->bf16_pays || op->bf16_pays(call))
               ? op->cpu_bf16
               : op->cpu;
}

static bool is_wide(const struct mtlm_call *call, int i)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];

    return op->dtype[i] == MTLM_VALUE && call->value != MTLM_REAL
           && !op->cpu_typed && !op->untouched[i] && kernel_of(call) == op->cpu;
}

static int64_t count_elems(const struct mtlm_call *call, int i)
{
    return mtlm_shape_elems(&call->shape[i]);
}

int64_t mtlm_value_pad_elems(int64_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Of this call alone. */
static size_t wide_bytes(const struct mtlm_call *call)
{
    size_t sum = 0;

    for (int i = 0; i < mtlm_ops[call->kind]->n_operands; i++)
        if (is_wide(call, i))
            sum += mtlm_value_pad_elems(count_elems(call, i)) * sizeof(float);
    return sum;
}

size_t mtlm_value_wide_bytes(const struct mtlm_call *call)
{
    size_t most = 0;

    for (; call; call = call->next)
        if (wide_bytes(call) > most)
            most = wide_bytes(call);
    return most;
}

static bool is_widened_by_kernel(const struct mtlm_call *call)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];

    return op->wide_bytes && call->value != MTLM_REAL
           && kernel_of(call) == op->cpu;
}

size_t mtlm_value_kernel_bytes(const struct mtlm_call *call)
{
    size_t most = 0;

    for (; call; call = call->next)
        if (is_widened_by_kernel(call)) {
            const size_t bytes = mtlm_ops[call->kind]->wide_bytes(call);

            most = bytes > most ? bytes : most;
        }
    return most;
}

static void run_one(void *const ptr[], const struct mtlm_call *call,
                    const struct mtlm_context *context)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];
    const size_t bytes = wide_bytes(call);
    void *given[MTLM_MAX_OPERANDS];
    float *next;

    assert(!call->packed || kernel_of(call) == op->cpu_bf16);
    if (bytes == 0) {
        kernel_of(call)(ptr, call, context);
        return;
    }
    assert(sizeof(mtlm_real) == sizeof(float));
    next = mtlm_scratch_get(context->wide, bytes);
    for (int i = 0; i < op->n_operands; i++) {
        given[i] = ptr[i];
        if (!is_wide(call, i))
            continue;
        given[i] = next;
        next += mtlm_value_pad_elems(count_elems(call, i));
        if (op->access[i] != MTLM_W)
            mtlm_value16_widen(call->value, ptr[i], count_elems(call, i),
                               given[i]);
    }
    op->cpu(given, call, context);
    for (int i = 0; i < op->n_operands; i++)
        if (is_wide(call, i) && op->access[i] != MTLM_R)
            mtlm_value16_round(call->value, given[i], count_elems(call, i),
                               ptr[i]);
}

void mtlm_value_run_cpu(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context)
{
    for (; call; call = call->next) {
        run_one(ptr, call, context);
        ptr += mtlm_ops[call->kind]->n_operands;
    }
}

mtlm_real *mtlm_value_get(enum mtlm_dtype type, void *values, int64_t first,
                          int64_t n, mtlm_real *scratch)
{
    if (type == MTLM_REAL)
        return (mtlm_real *) values + first;
    assert(sizeof(mtlm_real) == sizeof(float));
    mtlm_value16_widen(type, (const uint16_t *) values + first, n,
                       (void *) scratch);
    return scratch;
}

void mtlm_value_put(enum mtlm_dtype type, const mtlm_real *x, int64_t first,
                    int64_t n, void *values)
{
    if (type != MTLM_REAL)
        mtlm_value16_round(type, (const void *) x, n,
                           (uint16_t *) values + first);
}
