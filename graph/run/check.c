/* Checks the outputs of tasks for values that are not finite. */

#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "codelets/task.h"
#include "graph/run/check.h"
#include "runtime/base/value16.h"

struct mtlm_checker {
    pthread_mutex_t mutex; /* guards bad */
    struct mtlm_bad_node bad;
    int stages;
    int64_t n_tasks; /* checked so far, in program order on this rank */
};

/* Argument of one task's check, which frees it. */
struct check {
    struct mtlm_checker *checker;
    int64_t order;
    int microbatch, stage, layer;
    bool poison;
};

struct mtlm_checker *mtlm_checker_create(int stages)
{
    struct mtlm_checker *checker = mtlm_calloc(1, sizeof(*checker));

    pthread_mutex_init(&checker->mutex, NULL);
    checker->bad.order = INT64_MAX;
    checker->stages = stages;
    return checker;
}

void mtlm_checker_destroy(struct mtlm_checker *checker)
{
    pthread_mutex_destroy(&checker->mutex);
    free(checker);
}

void mtlm_checker_result(const struct mtlm_checker *checker,
                         struct mtlm_bad_node *bad)
{
    *bad = checker->bad;
}

/* Writes a NaN.  Returns false if the type has none. */
static bool write_nan(enum mtlm_dtype dtype, void *to)
{
    const float nan = NAN;

    if (dtype == MTLM_REAL)
        *(mtlm_real *) to = nan;
    else if (mtlm_dtype_is_16_bit(dtype))
        mtlm_value16_round(dtype, &nan, 1, to);
    else
        return false;
    return true;
}

void mtlm_check_poison(const struct mtlm_task *task, void *const ptr[])
{
    const struct mtlm_op *op = mtlm_ops[task->call->kind];

    for (int i = 0; i < op->n_operands; i++)
        if (op->access[i] == MTLM_W
            && write_nan(mtlm_call_dtype(task->call, i), ptr[i]))
            return;
}

static bool all_finite(const void *values, enum mtlm_dtype dtype, int64_t n)
{
    const mtlm_real *real = values;
    const double *f64 = values;
    double sum = 0;

    if (dtype == MTLM_I32)
        return true;
    if (mtlm_dtype_is_16_bit(dtype))
        return mtlm_value16_finite(dtype, values, n);
    for (int64_t i = 0; i < n; i++)
        sum += 0 * (dtype == MTLM_F64 ? f64[i] : (double) real[i]);
    return sum == 0;
}

static void note_bad_node(const struct check *check, const struct mtlm_op *op)
{
    struct mtlm_checker *checker = check->checker;
    struct mtlm_bad_node *bad = &checker->bad;
    int n;

    pthread_mutex_lock(&checker->mutex);
    if (check->order < bad->order) {
        bad->found = true;
        bad->order = check->order;
        n = snprintf(bad->text, sizeof(bad->text), "%s", op->name);
        if (check->layer >= 0)
            n += snprintf(bad->text + n, sizeof(bad->text) - n, " of layer %d",
                          check->layer);
        snprintf(bad->text + n, sizeof(bad->text) - n,
                 ", microbatch %d, stage %d", check->microbatch, check->stage);
    }
    pthread_mutex_unlock(&checker->mutex);
}

static void check_outputs(const struct mtlm_task *task, void *const ptr[])
{
    const struct mtlm_op *op = mtlm_ops[task->call->kind];
    struct check *check = (struct check *) task->after_arg;

    if (check->poison)
        mtlm_check_poison(task, ptr);
    for (int i = 0; i < op->n_operands; i++)
        if (op->access[i] != MTLM_R
            && !all_finite(ptr[i], mtlm_call_dtype(task->call, i),
                           mtlm_shape_elems(&task->call->shape[i]))) {
            note_bad_node(check, op);
            break;
        }
    free(check);
}

/* Returns the node's place: forward goes up the stages, backward goes down,
 * weight gradients come last. */
static int64_t data_flow_order(const struct mtlm_checker *checker,
                               const struct mtlm_item *item)
{
    const struct mtlm_node *node = item->node;
    const bool forward = node->phase == MTLM_PHASE_FORWARD;
    const int64_t step = (int64_t) item->microbatch * 3 + node->phase;
    const int depth = forward ? node->stage : checker->stages - 1 - node->stage;

    return ((step * checker->stages + depth) << 24)
           + (checker->n_tasks & 0xffffff);
}

void mtlm_check_task(struct mtlm_checker *checker, struct mtlm_task *task,
                     const struct mtlm_item *item)
{
    struct check *check = mtlm_calloc(1, sizeof(*check));

    checker->n_tasks++;
    *check = (struct check){.checker = checker,
                            .order = data_flow_order(checker, item),
                            .microbatch = item->microbatch,
                            .stage = item->node->stage,
                            .layer = item->node->layer,
                            .poison = task->after == mtlm_check_poison};
    task->after = check_outputs;
    task->after_arg = check;
}
