#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/codelets/gradcheck.h"
#include "tests/codelets/support.h"
#include "tests/worse.h"

#define STEP 1e-4
enum { SAMPLE = 3, DIRECTIONS = 2 };

static bool done[MTLM_OP_COUNT];

struct run {
    const struct gradcheck *check;
    const struct mtlm_op *op;
    struct mtlm_call call;
    void *ptr[MTLM_MAX_OPERANDS];
    /* Of real operands changed in place: what they were given. */
    mtlm_real *given[MTLM_MAX_OPERANDS];
    /* Of outputs: what the loss multiplies them with, or NULL. */
    mtlm_real *weight[MTLM_MAX_OPERANDS];
    /* Of outputs: as their weights; of inputs: from the rule, or NULL. */
    mtlm_real *grad[MTLM_MAX_OPERANDS];
};

static int64_t elems(const struct run *run, int i)
{
    return mtlm_shape_elems(&run->call.shape[i]);
}

static bool is_real(const struct run *run, int i)
{
    return mtlm_call_dtype(&run->call, i) == MTLM_REAL;
}

static bool in_place(const struct run *run, int i)
{
    return is_real(run, i) && run->op->access[i] == MTLM_RW;
}

static void *new_operand(const struct run *run, int i)
{
    switch (mtlm_call_dtype(&run->call, i)) {
    case MTLM_REAL:
        return new_normal(elems(run, i), 100 + i);
    case MTLM_I32:
        if (run->check->integers)
            return memcpy(mtlm_calloc(elems(run, i), sizeof(int32_t)),
                          run->check->integers,
                          elems(run, i) * sizeof(int32_t));
        return new_tokens(elems(run, i), run->check->tokens_below, 200 + i);
    default:
        return mtlm_calloc(elems(run, i), sizeof(double));
    }
}

static struct run run_start(const struct gradcheck *check)
{
    struct run run = {.check = check,
                      .op = mtlm_ops[check->kind],
                      .call = {.kind = check->kind, .attr = check->attr}};
    struct mtlm_error err;

    memcpy(run.call.shape, check->shape, sizeof(run.call.shape));
    if (mtlm_call_infer(&run.call, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < run.op->n_operands; i++) {
        run.ptr[i] = new_operand(&run, i);
        if (in_place(&run, i))
            run.given[i] = new_operand(&run, i);
    }
    return run;
}

static void run_end(struct run *run)
{
    for (int i = 0; i < run->op->n_operands; i++) {
        free(run->ptr[i]);
        free(run->given[i]);
        free(run->weight[i]);
        free(run->grad[i]);
    }
}

/* Whether the rule asks for the gradient of output i. */
static bool carries_gradient(const struct mtlm_op *op, int i)
{
    for (int c = 0; c < 2; c++)
        for (int a = 0; op->grad.call[c].used && a < MTLM_MAX_OPERANDS; a++)
            if (op->grad.call[c].arg[a].source == MTLM_GRAD_OF
                && op->grad.call[c].arg[a].operand == i)
                return true;
    for (int a = 0; a < MTLM_MAX_OPERANDS; a++)
        if (op->grad.pass[a].used && op->grad.pass[a].from == i)
            return true;
    return false;
}

/* Forward; returns the loss. */
static double forward(struct run *run)
{
    double loss = 0;

    if (run->check->prepare)
        run->check->prepare(&run->call, run->ptr);
    for (int i = 0; i < run->op->n_operands; i++) {
        if (run->op->access[i] == MTLM_W && is_real(run, i))
            for (int64_t e = 0; e < elems(run, i); e++)
                ((mtlm_real *) run->ptr[i])[e] = NAN;
        if (in_place(run, i))
            memcpy(run->ptr[i], run->given[i],
                   elems(run, i) * sizeof(mtlm_real));
        else if (run->op->access[i] == MTLM_RW)
            memset(run->ptr[i], 0,
                   elems(run, i)
                       * mtlm_dtype_bytes(mtlm_call_dtype(&run->call, i)));
    }
    run_op(run->call, run->ptr, SAMPLE);
    for (int i = 0; i < run->op->n_operands; i++) {
        const mtlm_real *y = run->ptr[i];

        if (run->op->grad.root && run->op->access[i] == MTLM_RW)
            for (int64_t e = 0; e < elems(run, i); e++)
                loss += ((double *) run->ptr[i])[e];
        else if (run->weight[i])
            for (int64_t e = 0; e < elems(run, i); e++)
                loss += y[e] * run->weight[i][e];
    }
    return loss;
}

/* The random gradients of what the rule says has one. */
static void seed_outputs(struct run *run)
{
    for (int i = 0; i < run->op->n_operands; i++)
        if (in_place(run, i)
            || (run->op->access[i] == MTLM_W && carries_gradient(run->op, i))) {
            run->weight[i] = new_normal(elems(run, i), 300 + i);
            run->grad[i] = new_normal(elems(run, i), 300 + i);
        }
}

/* One operand of a gradient call: where it lies, and in *base what it held
 * before if it is added to. */
static void *gradient_operand(struct run *run, struct mtlm_grad_arg arg,
                              enum mtlm_access access, mtlm_real **base)
{
    const int i = arg.operand;
    const int64_t n = elems(run, i);

    if (arg.source == MTLM_GRAD_VALUE)
        return run->ptr[i];
    if (arg.source == MTLM_GRAD_OVER) {
        assert_int_equal(access, MTLM_RW);
        run->grad[i] = mtlm_calloc(n, sizeof(mtlm_real));
        return memcpy(run->grad[i], run->ptr[i], n * sizeof(mtlm_real));
    }
    if (access == MTLM_R) {
        assert_non_null(run->grad[i]);
        return run->grad[i];
    }
    assert_null(run->grad[i]);
    if (access == MTLM_RW)
        *base = new_normal(n, 400 + i);
    return run->grad[i] =
               access == MTLM_RW ? new_normal(n, 400 + i) : new_undefined(n);
}

/* One call of the rule. */
static void backward_call(struct run *run, const struct mtlm_grad_call *rule,
                          bool add)
{
    const bool with_add = add && rule->kind_add;
    struct mtlm_call call = {.kind = with_add ? rule->kind_add : rule->kind,
                             .attr = run->call.attr};
    const struct mtlm_op *op = mtlm_ops[call.kind];
    void *ptr[MTLM_MAX_OPERANDS];
    mtlm_real *base[MTLM_MAX_OPERANDS] = {0};

    for (int a = 0; a < op->n_operands; a++) {
        assert_int_not_equal(rule->arg[a].source, MTLM_GRAD_END);
        assert_int_equal(mtlm_call_dtype(&call, a),
                         mtlm_call_dtype(&run->call, rule->arg[a].operand));
        ptr[a] = gradient_operand(run, rule->arg[a], op->access[a], &base[a]);
        if (op->access[a] != MTLM_W)
            call.shape[a] = run->call.shape[rule->arg[a].operand];
    }
    if (op->n_operands < MTLM_MAX_OPERANDS)
        assert_int_equal(rule->arg[op->n_operands].source, MTLM_GRAD_END);
    call = run_op(call, ptr, SAMPLE);
    for (int a = 0; a < op->n_operands; a++) {
        assert_true(mtlm_shape_equal(&call.shape[a],
                                     &run->call.shape[rule->arg[a].operand]));
        for (int64_t e = 0; base[a] && e < mtlm_shape_elems(&call.shape[a]);
             e++)
            ((mtlm_real *) ptr[a])[e] -= base[a][e];
        free(base[a]);
    }
}

static void backward(struct run *run, bool add)
{
    const struct mtlm_grad *rule = &run->op->grad;

    for (int c = 0; c < 2; c++)
        if (rule->call[c].used)
            backward_call(run, &rule->call[c], add);
    for (int i = 0; i < run->op->n_operands; i++)
        if (rule->pass[i].used) {
            const int64_t n = elems(run, i);

            assert_null(run->grad[i]);
            run->grad[i] = mtlm_calloc(n, sizeof(mtlm_real));
            memcpy(run->grad[i], run->grad[rule->pass[i].from],
                   n * sizeof(mtlm_real));
        }
}

/* Relative error of operand i's derivative along one direction. */
static double direction_error(struct run *run, int i, uint64_t seed)
{
    const int64_t n = elems(run, i);
    mtlm_real *x = in_place(run, i) ? run->given[i] : run->ptr[i];
    mtlm_real *direction = new_normal(n, seed);
    mtlm_real *at = mtlm_calloc(n, sizeof(*at));
    double norm = 0, want, got = 0, size = 0;

    memcpy(at, x, n * sizeof(*at));
    for (int64_t e = 0; e < n; e++)
        norm += direction[e] * direction[e];
    norm = sqrt(norm);
    for (int64_t e = 0; e < n; e++) {
        got += run->grad[i][e] * direction[e] / norm;
        size += run->grad[i][e] * run->grad[i][e];
        x[e] = at[e] + STEP * direction[e] / norm;
    }
    want = forward(run);
    for (int64_t e = 0; e < n; e++)
        x[e] = at[e] - STEP * direction[e] / norm;
    want = (want - forward(run)) / (2 * STEP);
    memcpy(x, at, n * sizeof(*at));
    free(at);
    free(direction);
    assert_true(size > 0);
    /* A direction almost at right angles to the gradient shows only the
     * rounding of the loss. */
    return fabs(got - want)
           / fmax(fmax(fabs(got), fabs(want)), 1e-2 * sqrt(size / n));
}

static double worst_of_run(const struct gradcheck *check, bool add)
{
    struct run run = run_start(check);
    double worst = 0;

    seed_outputs(&run);
    forward(&run);
    backward(&run, add);
    for (int i = 0; i < run.op->n_operands; i++) {
        if (run.op->access[i] == MTLM_W || !is_real(&run, i)
            || check->derived[i])
            continue;
        if (!run.grad[i])
            fail_msg("%s: no gradient of operand %d", run.op->name, i);
        for (int d = 0; d < DIRECTIONS; d++) {
            const double error = direction_error(&run, i, 500 + 10 * i + d);

            if (!(error <= 1e-6))
                print_message("# %s: operand %d is off by %g\n", run.op->name,
                              i, error);
            worst = worse(worst, error);
        }
    }
    run_end(&run);
    return worst;
}

double gradcheck_worst(const struct gradcheck *check)
{
    const struct mtlm_grad *rule = &mtlm_ops[check->kind]->grad;
    double worst;

    done[check->kind] = true;
    worst = worst_of_run(check, false);
    if (!rule->call[0].kind_add && !rule->call[1].kind_add)
        return worst;
    return worse(worst, worst_of_run(check, true));
}

bool gradcheck_done(enum mtlm_op_kind kind)
{
    return done[kind];
}

void gradcheck_otherwise(enum mtlm_op_kind kind)
{
    done[kind] = true;
}
