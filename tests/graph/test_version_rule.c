/* Two versions of the weights: the rule of PipeDream-2BW in double against a
 * replay. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/graph/small.h"
#include "tests/graph/weights.h"
#include "tests/worse.h"

enum { ITERATIONS = 5 };

/* A replay of one rank: gradients come from a synchronous program at the
 * weights that are put into it, the step from the formulas. */
struct replay {
    struct interpreter *in;
    struct mtlm_program_config config;
    int64_t numbers;
    /* [numbers] whole parameters; before: W(t - 1), now: W(t) */
    mtlm_real **before, **now, **m, **v;
};

static mtlm_real **zeros(const struct replay *r)
{
    mtlm_real **all = mtlm_calloc(r->numbers, sizeof(*all));

    for (int64_t i = 0; i < r->numbers; i++) {
        const struct weight w = weight_number(&r->config, i);

        if (weight_exists(&r->config, i))
            all[i] = mtlm_calloc(w.info.rows * w.info.cols, sizeof(**all));
    }
    return all;
}

static struct replay replay_create(const struct mtlm_program_config *stale,
                                   double noise)
{
    struct replay r = {.config = *stale,
                       .numbers = mtlm_param_numbers(&stale->model)};

    r.config.weight_staleness = 0;
    r.config.microbatches *= stale->layout.dp;
    r.config.layout = (struct mtlm_layout){
        .tp = 1, .pp = 1, .dp = 1, .virtual_stages = 1, .workers = 1};
    r.in = weights_start(&r.config, noise);
    r.before = weights_read(r.in, 0);
    r.now = weights_read(r.in, 0);
    r.m = zeros(&r);
    r.v = zeros(&r);
    return r;
}

static void replay_free(struct replay *r)
{
    weights_free(r->in, r->before);
    weights_free(r->in, r->now);
    weights_free(r->in, r->m);
    weights_free(r->in, r->v);
    interpreter_destroy(r->in);
}

/* Returns the gradients of iteration t at the weights before. */
static mtlm_real **gradients_of(struct replay *r, int t)
{
    const struct mtlm_program *program = interpreter_program(r->in, 0);
    mtlm_real **gradient;

    for (int64_t i = 0; i < r->numbers; i++) {
        const struct weight w = weight_number(&r->config, i);

        if (r->before[i])
            weight_put(r->in, w.kind, w.layer, r->before[i]);
    }
    interpreter_iteration(r->in, t, true);
    gradient = weights_read(r->in, 1);
    for (int i = 0; i < program->n_params; i++)
        memset(interpreter_data(r->in, 0, program->param[i].grad), 0,
               mtlm_tensor_bytes(program->param[i].grad));
    return gradient;
}

static double norm_of(const struct replay *r, mtlm_real **gradient)
{
    double sum = 0;

    for (int64_t i = 0; i < r->numbers; i++)
        for (int64_t e = 0; gradient[i] && e < weight_number(&r->config, i).n;
             e++)
            sum += gradient[i][e] * gradient[i][e];
    return sqrt(sum);
}

/* W(t + 1) = W(t) - step, element by element; moves W(t) to before. */
static void step(struct replay *r, int t, int64_t number,
                 const mtlm_real *gradient, double clip)
{
    const struct mtlm_program_config *c = &r->config;
    const struct weight w = weight_number(c, number);
    const double lr = c->lr_schedule.lr;
    const double decay = w.info.decay ? c->lr_schedule.weight_decay : 0;
    const double c1 = 1 - pow(c->beta1, t + 1), c2 = 1 - pow(c->beta2, t + 1);

    for (int64_t e = 0; e < w.n; e++) {
        const double g = clip * gradient[e], now = r->now[number][e];
        mtlm_real *m = &r->m[number][e], *v = &r->v[number][e];

        *m = c->beta1 * *m + (1 - c->beta1) * g;
        *v = c->beta2 * *v + (1 - c->beta2) * g * g;
        r->before[number][e] = now;
        r->now[number][e] = now - lr * decay * now
                            - lr * (*m / c1) / (sqrt(*v / c2) + c->epsilon);
    }
}

static void replay_iteration(struct replay *r, int t)
{
    mtlm_real **gradient = gradients_of(r, t);
    const double norm = norm_of(r, gradient);
    const double clip =
        norm > r->config.clip ? r->config.clip / (norm + 1e-6) : 1;

    assert_true(clip < 1); /* else nothing would be clipped here */
    for (int64_t i = 0; i < r->numbers; i++)
        if (gradient[i])
            step(r, t, i, gradient[i], clip);
    weights_free(r->in, gradient);
}

/* Returns the largest relative distance of a weight. */
static double distance(const struct replay *r, mtlm_real **a, mtlm_real **b)
{
    double worst = 0;

    for (int64_t i = 0; i < r->numbers; i++)
        if (a[i])
            worst =
                worse(worst, relative_distance(a[i], b[i],
                                               weight_number(&r->config, i).n));
    return worst;
}

static void check_rule(struct mtlm_program_config config)
{
    struct interpreter *in;
    struct replay r;

    config.weight_staleness = 1;
    config.clip = 0.01;
    in = weights_start(&config, 0.02);
    r = replay_create(&config, 0.02);
    for (int t = 0; t < ITERATIONS; t++) {
        mtlm_real **got;

        interpreter_iteration(in, t, false);
        replay_iteration(&r, t);
        got = weights_read(in, 0);
        assert_true(distance(&r, got, r.now) < 1e-12);
        assert_true(distance(&r, got, r.before) > 1e-6);
        weights_free(in, got);
    }
    interpreter_destroy(in);
    replay_free(&r);
}

static struct mtlm_program_config layout(int tp, int pp, int dp)
{
    struct mtlm_program_config config = small_config(tp, pp, 2);

    config.layout.dp = dp;
    return config;
}

static void test_a_step_takes_the_gradient_of_the_weights_before(void **state)
{
    struct mtlm_program_config config = layout(1, 2, 1);

    (void) state;
    check_rule(layout(1, 1, 1));
    check_rule(layout(2, 2, 1));
    check_rule(layout(1, 4, 1));
    check_rule(layout(1, 2, 2));
    config.layout.virtual_stages = 2;
    config.layout.placement = MTLM_PLACEMENT_V; /* both ends on one rank */
    check_rule(config);
    config = layout(1, 2, 1);
    config.recompute =
        (struct mtlm_recompute){MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 1};
    check_rule(config);
}

/* Each replica steps a shard of the next version, and gathers that version. */
static void test_shards_step_by_the_same_rule(void **state)
{
    static const int sizes[][3] = {{1, 1, 2}, {1, 2, 2}, {2, 1, 2}, {1, 1, 3}};

    (void) state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct mtlm_program_config config =
            layout(sizes[i][0], sizes[i][1], sizes[i][2]);

        config.distributed_optimizer = true;
        check_rule(config);
    }
}

/* A validation after an iteration has the weights that it made. */
static void test_a_validation_has_the_newest_weights(void **state)
{
    struct mtlm_program_config config = layout(1, 2, 1);
    double loss[3];

    (void) state;
    for (int i = 0; i < 3; i++) {
        struct interpreter *in;

        config.weight_staleness = i % 2;
        in = weights_start(&config, 0.02);
        interpreter_iteration(in, 0, false);
        if (i == 2)
            interpreter_iteration(in, 1, false);
        loss[i] = interpreter_validation(in);
        interpreter_destroy(in);
    }
    assert_true(loss[0] == loss[1]); /* the first step has no delay */
    assert_true(loss[1] != loss[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_takes_the_gradient_of_the_weights_before),
        cmocka_unit_test(test_shards_step_by_the_same_rule),
        cmocka_unit_test(test_a_validation_has_the_newest_weights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
