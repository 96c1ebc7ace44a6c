/* Runs CPU kernels on 16-bit operands.  Most CPU kernels compute in mtlm_real:
 * operands are widened before the kernel and rounded after, part by part where
 * the operation allows parts. */

#include "config.h"

#include <assert.h>
#include <string.h>

#include "codelets/bf16_product.h"
#include "codelets/rows.h"
#include "codelets/value.h"
#include "runtime/base/least.h"
#include "runtime/base/round_up.h"
#include "runtime/base/value16.h"

/* Floats in a cache line; floats of a part, which a core's caches hold, unless
 * few positions have more. */
enum { ALIGN = 16, PART = 96 * 1024 };

/* Floats before the first widened operand: MTLM_ROWS_APART further lie the rows
 * of kernels' own scratch. */
enum { BEGIN = MTLM_ROWS_APART / 2 };

static mtlm_kernel *kernel_of(const struct mtlm_call *call)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];

    return call->value == MTLM_BF16 && op->cpu_bf16 && mtlm_bf16_product_here()
                   && (!op->bf16_pays || op->bf16_pays(call))
               ? op->cpu_bf16
               : op->cpu;
}

bool mtlm_value_is_bf16(const struct mtlm_call *call)
{
    return kernel_of(call) != mtlm_ops[call->kind]->cpu;
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
    return mtlm_round_up(n, ALIGN);
}

/* Returns the elements of a widened operand and of the distance to the next. */
static int64_t wide_elems(const struct mtlm_call *call, int i)
{
    return mtlm_value_pad_elems(count_elems(call, i)) + MTLM_ROWS_APART;
}

/* Of this call alone. */
static size_t wide_bytes(const struct mtlm_call *call)
{
    int64_t sum = 0;

    for (int i = 0; i < mtlm_ops[call->kind]->n_operands; i++)
        if (is_wide(call, i))
            sum += wide_elems(call, i);
    return sum > 0 ? (BEGIN + sum) * sizeof(float) : 0;
}

/* Whether operand i has the positions of operand 0. */
static bool has_positions(const struct mtlm_call *call, int i)
{
    const struct mtlm_shape *x = &call->shape[0], *shape = &call->shape[i];

    return shape->rank >= 2 && shape->dim[0] == x->dim[0]
           && shape->dim[1] == x->dim[1];
}

static void set_positions(struct mtlm_call *call, int64_t count)
{
    for (int i = mtlm_ops[call->kind]->n_operands - 1; i >= 0; i--)
        if (has_positions(call, i))
            call->shape[i].dim[0] = count;
}

/* Whether the operation adds sums over rows to an operand. */
static bool sums_rows(const struct mtlm_call *call)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];

    for (int i = 0; i < op->n_operands; i++)
        if (op->access[i] == MTLM_RW && !has_positions(call, i))
            return true;
    return false;
}

/* Returns the largest part of a call: its first positions.  Sums over rows keep
 * their bits: they get whole blocks of MTLM_ROW_BLOCK rows. */
static struct mtlm_call part_of(const struct mtlm_call *call)
{
    const int64_t s = call->shape[0].dim[0], b = call->shape[0].dim[1];
    const int64_t elems = wide_bytes(call) / sizeof(float);
    struct mtlm_call part = *call;

    if (mtlm_ops[call->kind]->by_positions && elems > PART) {
        int64_t block = 1, most;

        while (sums_rows(call) && block * b % MTLM_ROW_BLOCK != 0)
            block *= 2;
        most = PART * s / elems / block * block;
        set_positions(&part, mtlm_least(s, most < block ? block : most));
    }
    return part;
}

size_t mtlm_value_wide_bytes(const struct mtlm_call *call)
{
    size_t most = 0;

    for (; call; call = call->next) {
        const struct mtlm_call part = part_of(call);
        const size_t bytes = wide_bytes(&part);

        most = bytes > most ? bytes : most;
    }
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

static void run_widened(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];
    void *given[MTLM_MAX_OPERANDS];
    float *next = mtlm_scratch_get(context->wide, wide_bytes(call));

    assert(sizeof(mtlm_real) == sizeof(float));
    next += BEGIN;
    for (int i = 0; i < op->n_operands; i++) {
        given[i] = ptr[i];
        if (!is_wide(call, i))
            continue;
        given[i] = next;
        next += wide_elems(call, i);
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

/* Advances operand i of a part to the next part. */
static void advance(void **ptr, const struct mtlm_call *part, int i)
{
    const enum mtlm_access access = mtlm_ops[part->kind]->access[i];

    assert(has_positions(part, i) || access == MTLM_R
           || (access == MTLM_RW && !is_wide(part, i)));
    if (has_positions(part, i))
        *ptr =
            (char *) *ptr
            + count_elems(part, i) * mtlm_dtype_bytes(mtlm_call_dtype(part, i));
}

static void run_by_parts(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context)
{
    const int n = mtlm_ops[call->kind]->n_operands;
    struct mtlm_context here = *context;
    struct mtlm_call part = part_of(call);
    int64_t left = call->shape[0].dim[0];
    void *at[MTLM_MAX_OPERANDS];

    memcpy(at, ptr, n * sizeof(*at));
    while (left > 0) {
        const int64_t count = mtlm_least(left, part.shape[0].dim[0]);

        set_positions(&part, count);
        run_widened(at, &part, &here);
        for (int i = 0; i < n; i++)
            advance(&at[i], &part, i);
        here.position += count;
        left -= count;
    }
}

static void run_one(void *const ptr[], const struct mtlm_call *call,
                    const struct mtlm_context *context)
{
    assert(!call->packed || kernel_of(call) == mtlm_ops[call->kind]->cpu_bf16);
    if (wide_bytes(call) == 0)
        kernel_of(call)(ptr, call, context);
    else if (mtlm_ops[call->kind]->by_positions)
        run_by_parts(ptr, call, context);
    else
        run_widened(ptr, call, context);
}

void mtlm_value_run_cpu(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];
    const bool together = op->bf16_together && kernel_of(call) == op->cpu_bf16;

    for (; call; call = together ? NULL : call->next) {
        run_one(ptr, call, context);
        ptr += op->n_operands;
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
