/* Walks through the panels of a linear layer's product. */

#include "config.h"

#include <string.h>

#include "codelets/blas.h"
#include "codelets/linear.h"
#include "codelets/linear_walk.h"
#include "codelets/rows.h"
#include "codelets/value.h"
#include "runtime/base/least.h"

/* Rows or columns of a panel: caches hold so much.  Measured with oneDNN 2.6 on
 * a Xeon.  Panels whose products are summed are longer: with hidden sizes of
 * 1024 and 2048, gradients of inputs took 1.24 to 1.42 times as long with 384
 * as with 512; with 768, up to 0.85 times.  Gradients of weights need no
 * widened weight: short panels made most of them slower. */
enum { PANEL = 384, SUM_PANEL = 512, WGRAD_PANEL = 3072 };

static struct mtlm_linear_walk new_walk(enum mtlm_linear_product product,
                                        bool add, int64_t m,
                                        const struct mtlm_shape *weight,
                                        struct mtlm_linear_operand x,
                                        struct mtlm_linear_operand w,
                                        struct mtlm_linear_operand y)
{
    return (struct mtlm_linear_walk){.product = product,
                                     .add = add,
                                     .m = m,
                                     .n = weight->dim[0],
                                     .k = weight->dim[1],
                                     .x = x,
                                     .y = y,
                                     .weight = w};
}

static struct mtlm_linear_operand operand(enum mtlm_dtype type, void *values)
{
    return (struct mtlm_linear_operand){.type = type, .values = values};
}

struct mtlm_linear_walk mtlm_linear_walk_fwd(const struct mtlm_call *call,
                                             void *x, void *weight, void *y)
{
    return new_walk(MTLM_LINEAR_FWD, false,
                    mtlm_shape_rows(&call->shape[LIN_X]),
                    &call->shape[LIN_WEIGHT], operand(call->value, x),
                    operand(call->value, weight), operand(call->value, y));
}

struct mtlm_linear_walk mtlm_linear_walk_dgrad(const struct mtlm_call *call,
                                               void *dy, void *weight, void *dx,
                                               bool add)
{
    return new_walk(MTLM_LINEAR_DGRAD, add,
                    mtlm_shape_rows(&call->shape[LIND_DY]),
                    &call->shape[LIND_WEIGHT], operand(call->value, dx),
                    operand(call->value, weight), operand(call->value, dy));
}

struct mtlm_linear_walk mtlm_linear_walk_wgrad(const struct mtlm_call *call,
                                               void *x, void *dy, void *dweight,
                                               bool add)
{
    return new_walk(MTLM_LINEAR_WGRAD, add,
                    mtlm_shape_rows(&call->shape[LINW_X]),
                    &call->shape[LINW_DWEIGHT], operand(call->value, x),
                    operand(MTLM_REAL, dweight), operand(call->value, dy));
}

static bool is_along_n(const struct mtlm_linear_walk *walk)
{
    return walk->n >= walk->k;
}

static struct mtlm_linear_operand *result_of(struct mtlm_linear_walk *walk)
{
    return walk->product == MTLM_LINEAR_FWD     ? &walk->y
           : walk->product == MTLM_LINEAR_DGRAD ? &walk->x
                                                : &walk->weight;
}

/* Whether the result is whole, and the panels' products are its summands. */
static bool is_sum(const struct mtlm_linear_walk *walk)
{
    return walk->product == MTLM_LINEAR_FWD     ? !is_along_n(walk)
           : walk->product == MTLM_LINEAR_DGRAD ? is_along_n(walk)
                                                : false;
}

static int64_t panel_length(const struct mtlm_linear_walk *walk)
{
    return walk->x.type == MTLM_REAL            ? INT64_MAX
           : walk->product == MTLM_LINEAR_WGRAD ? WGRAD_PANEL
           : is_sum(walk)                       ? SUM_PANEL
                                                : PANEL;
}

static void set_part(struct mtlm_linear_operand *o, int64_t row, int64_t col,
                     int64_t rows, int64_t cols)
{
    o->row = row;
    o->col = col;
    o->rows = rows;
    o->cols = cols;
}

/* Places the panel behind the one before. */
static void place(struct mtlm_linear_walk *walk)
{
    const int64_t m = walk->m, n = walk->n, k = walk->k;
    const int64_t first = walk->first + walk->count;
    const int64_t length = is_along_n(walk) ? n : k;
    const int64_t count = mtlm_least(length - first, panel_length(walk));

    walk->first = first;
    walk->count = count;
    walk->starts = !is_sum(walk) || first == 0;
    walk->ends = !is_sum(walk) || first + count == length;
    if (is_along_n(walk)) {
        set_part(&walk->x, 0, 0, m, k);
        set_part(&walk->y, 0, first, m, count);
        set_part(&walk->weight, first, 0, count, k);
    } else {
        set_part(&walk->x, 0, first, m, count);
        set_part(&walk->y, 0, 0, m, n);
        set_part(&walk->weight, 0, first, n, count);
    }
}

/* Returns the elements of the operand's buffer, and of the distance to the next
 * one.  The first panel's part is the largest. */
static int64_t buffer_elems(const struct mtlm_linear_operand *o)
{
    return o->type == MTLM_REAL
               ? 0
               : mtlm_value_pad_elems(o->rows * o->cols) + MTLM_ROWS_APART;
}

/* first: a walk at its first panel. */
static size_t buffers_bytes(const struct mtlm_linear_walk *first)
{
    return (buffer_elems(&first->x) + buffer_elems(&first->y)
            + buffer_elems(&first->weight))
           * sizeof(mtlm_real);
}

static size_t wide_bytes(struct mtlm_linear_walk walk)
{
    place(&walk);
    return buffers_bytes(&walk);
}

size_t mtlm_linear_walk_fwd_bytes(const struct mtlm_call *call)
{
    return wide_bytes(mtlm_linear_walk_fwd(call, NULL, NULL, NULL));
}

size_t mtlm_linear_walk_dgrad_bytes(const struct mtlm_call *call)
{
    return wide_bytes(mtlm_linear_walk_dgrad(call, NULL, NULL, NULL, false));
}

size_t mtlm_linear_walk_wgrad_bytes(const struct mtlm_call *call)
{
    return wide_bytes(mtlm_linear_walk_wgrad(call, NULL, NULL, NULL, false));
}

void mtlm_linear_walk_begin(struct mtlm_linear_walk *walk,
                            const struct mtlm_context *context)
{
    struct mtlm_linear_walk first = *walk;

    walk->is_generated =
        walk->product == MTLM_LINEAR_FWD && walk->m == 1 && context->rows > 0;
    if (walk->x.type == MTLM_REAL)
        return;
    place(&first);
    walk->x.buffer = mtlm_scratch_get(context->scratch, buffers_bytes(&first));
    walk->y.buffer = walk->x.buffer + buffer_elems(&first.x);
    walk->weight.buffer = walk->y.buffer + buffer_elems(&first.y);
}

/* Elements between the rows of the whole matrix. */
static int64_t width_of(const struct mtlm_linear_walk *walk,
                        const struct mtlm_linear_operand *o)
{
    return o == &walk->y ? walk->n : walk->k;
}

/* Makes the part valid; is_read: with the operand's values. */
static void load(const struct mtlm_linear_walk *walk,
                 struct mtlm_linear_operand *o, bool is_read)
{
    const int64_t width = width_of(walk, o);

    if (o->type == MTLM_REAL) {
        o->at = (mtlm_real *) o->values + o->row * width + o->col;
        o->ld = width;
        return;
    }
    o->at = o->buffer;
    o->ld = o->cols;
    for (int64_t r = 0; is_read && r < o->rows; r++)
        mtlm_value_get(o->type, o->values, (o->row + r) * width + o->col,
                       o->cols, o->at + r * o->ld);
}

static void store(const struct mtlm_linear_walk *walk,
                  const struct mtlm_linear_operand *o)
{
    for (int64_t r = 0; o->type != MTLM_REAL && r < o->rows; r++)
        mtlm_value_put(o->type, o->at + r * o->ld,
                       (o->row + r) * width_of(walk, o) + o->col, o->cols,
                       o->values);
}

/* An operand that all panels share is loaded with the first one. */
static bool is_kept(const struct mtlm_linear_walk *walk,
                    const struct mtlm_linear_operand *o)
{
    return walk->first > 0 && o == (is_along_n(walk) ? &walk->x : &walk->y);
}

bool mtlm_linear_walk_next(struct mtlm_linear_walk *walk)
{
    struct mtlm_linear_operand *const all[] = {&walk->x, &walk->y,
                                               &walk->weight};
    struct mtlm_linear_operand *const result = result_of(walk);

    if (walk->count > 0 && walk->ends)
        store(walk, result);
    place(walk);
    for (int i = 0; walk->count > 0 && i < 3; i++)
        if (!is_kept(walk, all[i]))
            load(walk, all[i], all[i] != result || walk->add);
    return walk->count > 0;
}

static void multiply_row(const struct mtlm_linear_walk *walk, bool add)
{
    const struct mtlm_linear_operand *y = &walk->y, *w = &walk->weight;

    if (!add)
        memset(y->at, 0, y->cols * sizeof(*y->at));
    mtlm_blas_gemv_add(w->rows, w->cols, w->at, walk->x.at, y->at);
}

void mtlm_linear_walk_multiply(const struct mtlm_linear_walk *walk, bool onto)
{
    const struct mtlm_linear_operand *x = &walk->x, *y = &walk->y;
    const struct mtlm_linear_operand *w = &walk->weight;
    const bool add = onto || walk->add || !walk->starts;

    if (walk->is_generated)
        multiply_row(walk, add);
    else if (walk->product == MTLM_LINEAR_FWD)
        mtlm_blas_gemm(false, true, y->rows, y->cols, x->cols, x->at, x->ld,
                       w->at, w->ld, add, y->at, y->ld);
    else if (walk->product == MTLM_LINEAR_DGRAD)
        mtlm_blas_gemm(false, false, x->rows, x->cols, y->cols, y->at, y->ld,
                       w->at, w->ld, add, x->at, x->ld);
    else
        mtlm_blas_gemm(true, false, w->rows, w->cols, y->rows, y->at, y->ld,
                       x->at, x->ld, add, w->at, w->ld);
}
