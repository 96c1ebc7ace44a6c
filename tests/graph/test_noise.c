/* Noise: moments of the draws, what a draw depends on, and evaluations under
 * noise beside sums by hand. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph/order/published.h"
#include "graph/predict/evaluate.h"
#include "tests/graph/scene.h"

enum { SEED = 7, DRAWS = 200000 };

static double draw(const struct mtlm_noise *noise, int i)
{
    const struct mtlm_noise_pass pass = {.iteration = i / 600,
                                         .stage = i / 60 % 10,
                                         .microbatch = i / 3 % 20,
                                         .phase = i % 3};

    return mtlm_noise_of_pass(noise, SEED, &pass);
}

/* A lognormal number of mean 1 has variance exp(sigma^2) - 1; the logarithm has
 * mean -sigma^2 / 2 and variance sigma^2. */
static void test_moments_are_those_of_the_lognormal(void **state)
{
    static const double sigma[] = {0.05, 0.3, 0.6};

    (void) state;
    for (int k = 0; k < 3; k++) {
        const struct mtlm_noise noise = {.sigma = sigma[k]};
        const double s2 = sigma[k] * sigma[k];
        const double error = 4 / sqrt(DRAWS);
        double sum = 0, squares = 0, logs = 0, log_squares = 0, inside = 0;

        for (int i = 0; i < DRAWS; i++) {
            const double x = draw(&noise, i), y = log(x) + s2 / 2;

            sum += x / DRAWS;
            squares += x * x / DRAWS;
            logs += y / DRAWS;
            log_squares += y * y / DRAWS;
            inside += (fabs(y) < sigma[k]) / (double) DRAWS;
        }
        assert_true(fabs(sum - 1) < error * sqrt(exp(s2) - 1));
        assert_true(fabs((squares - sum * sum) / (exp(s2) - 1) - 1) < 0.06);
        assert_true(fabs(logs) < error * sigma[k]);
        assert_true(fabs(log_squares / s2 - 1) < error * sqrt(2));
        assert_true(fabs(inside - 0.682689) < error * 0.5);
    }
}

/* Returns the correlation of a pass's draws and those of another pass, which
 * `change` leads to. */
static double correlation(void (*change)(struct mtlm_noise_pass *))
{
    const struct mtlm_noise noise = {.sigma = 1};
    double sum = 0;

    for (int i = 0; i < 10000; i++) {
        struct mtlm_noise_pass pass = {.iteration = i, .stage = 1};
        double x = log(mtlm_noise_of_pass(&noise, SEED, &pass)) + 0.5;

        change(&pass);
        x *= log(mtlm_noise_of_pass(&noise, SEED, &pass)) + 0.5;
        sum += x / 10000;
    }
    return sum;
}

static void next_iteration(struct mtlm_noise_pass *p)
{
    p->iteration++;
}

static void next_replica(struct mtlm_noise_pass *p)
{
    p->replica++;
}

static void next_peer(struct mtlm_noise_pass *p)
{
    p->peer++;
}

static void next_stage(struct mtlm_noise_pass *p)
{
    p->stage++;
}

static void next_microbatch(struct mtlm_noise_pass *p)
{
    p->microbatch++;
}

static void once_per_iteration(struct mtlm_noise_pass *p)
{
    p->microbatch = -1;
}

static void next_phase(struct mtlm_noise_pass *p)
{
    p->phase++;
}

static void no_change(struct mtlm_noise_pass *p)
{
    (void) p;
}

static void test_each_part_of_the_key_draws_anew(void **state)
{
    void (*const change[])(struct mtlm_noise_pass *) = {
        next_iteration,  next_replica,       next_peer, next_stage,
        next_microbatch, once_per_iteration, next_phase};

    (void) state;
    for (int i = 0; i < 7; i++)
        assert_true(fabs(correlation(change[i])) < 0.04);
    assert_true(correlation(no_change) > 0.9);
}

static void test_draws_do_not_depend_on_other_draws(void **state)
{
    const struct mtlm_noise noise = {.sigma = 0.2};
    const struct mtlm_noise_pass pass = {.stage = 3, .microbatch = 5};
    double forward[100];

    (void) state;
    for (int i = 0; i < 100; i++)
        forward[i] = draw(&noise, i);
    for (int i = 99; i >= 0; i--)
        assert_true(draw(&noise, i) == forward[i]);
    assert_true(mtlm_noise_of_pass(&noise, SEED, &pass)
                != mtlm_noise_of_pass(&noise, SEED + 1, &pass));
}

/* The optimizer belongs to no microbatch. */
static void test_passes_of_microbatches_vary_alone(void **state)
{
    const struct mtlm_noise noise = {.sigma = 0.2, .chance = 1, .times = 5};
    const struct mtlm_noise_pass pass = {.microbatch = -1};

    (void) state;
    assert_true(mtlm_noise_of_pass(&noise, SEED, &pass) == 1);
}

/* A transient multiplies the draw of the same pass without transients. */
static void test_transients_come_as_often_as_said(void **state)
{
    const struct mtlm_noise none = {.sigma = 0.1};
    const struct mtlm_noise noise = {.sigma = 0.1, .chance = 0.01, .times = 5};
    double found = 0;

    (void) state;
    for (int i = 0; i < DRAWS; i++) {
        const double factor = draw(&noise, i) / draw(&none, i);

        if (factor == 1)
            continue;
        assert_float_equal(factor, 5, 1e-12);
        found++;
    }
    assert_true(fabs(found / DRAWS / 0.01 - 1) < 0.1);
}

static void test_no_noise_changes_nothing(void **state)
{
    const struct mtlm_noise none = {0};

    (void) state;
    assert_false(mtlm_noise_is_any(&none));
    for (int i = 0; i < 100; i++)
        assert_true(draw(&none, i) == 1);
}

static void test_ranks_have_their_factors(void **state)
{
    const struct mtlm_noise noise = {.rank = {{3, 1.2}, {4, 0.5}}, .ranks = 2};

    (void) state;
    assert_true(mtlm_noise_is_any(&noise));
    assert_true(mtlm_noise_of_ranks(&noise, 0, 1) == 1);
    assert_true(mtlm_noise_of_ranks(&noise, 3, 1) == 1.2);
    assert_true(mtlm_noise_of_ranks(&noise, 4, 1) == 0.5);
    /* A group is as fast as its slowest rank. */
    assert_true(mtlm_noise_of_ranks(&noise, 2, 2) == 1.2);
    assert_true(mtlm_noise_of_ranks(&noise, 4, 2) == 1);
    assert_null(mtlm_noise_absent(&noise, 5));
    assert_int_equal(mtlm_noise_absent(&noise, 4)->rank, 4);
}

/* ---- evaluations ---- */

/* Sets *config to the scene's pipeline under noise. */
static void disturb(const struct scene *s, struct mtlm_evaluate *config,
                    const struct mtlm_noise_draws *draws)
{
    *config = (struct mtlm_evaluate){.layout = &s->layout,
                                     .schedule = mtlm_schedule_find("zb-h1"),
                                     .microbatches = s->boxes.microbatches,
                                     .forward = s->forward,
                                     .backward = s->backward,
                                     .weight = s->weight,
                                     .hop = s->boxes.hop,
                                     .pieces = 1,
                                     .noise = draws};
}

/* Returns the longest path of the scene's order: each box starts behind the box
 * before on its rank and behind its data. */
static double longest_path(struct scene *s,
                           const struct mtlm_noise_draws *draws)
{
    double makespan = 0, end[3][2][8] = {0};
    int next[2] = {0};

    for (int done = 0; done < 3 * 2 * 8;)
        for (int r = 0; r < 2; r++) {
            struct mtlm_box box;
            double start = 0, time;

            if (next[r] == s->order.n[r])
                continue;
            box = mtlm_box_at(&s->boxes, s->order.box[r][next[r]]);
            if (next[r] > 0) {
                const struct mtlm_box last =
                    mtlm_box_at(&s->boxes, s->order.box[r][next[r] - 1]);

                start = end[last.phase][last.stage][last.microbatch];
            }
            if (box.phase == MTLM_PHASE_FORWARD && r == 1) {
                if (end[0][0][box.microbatch] == 0)
                    continue;
                start = fmax(start, end[0][0][box.microbatch] + s->boxes.hop);
            }
            if (box.phase == MTLM_PHASE_BACKWARD && r == 0) {
                if (end[1][1][box.microbatch] == 0)
                    continue;
                start = fmax(start, end[1][1][box.microbatch] + s->boxes.hop);
            }
            time = box.phase == MTLM_PHASE_FORWARD    ? s->forward[r]
                   : box.phase == MTLM_PHASE_BACKWARD ? s->backward[r]
                                                      : s->weight[r];
            time *= mtlm_noise_factor(draws, &s->layout, box.phase, r,
                                      box.microbatch);
            end[box.phase][r][box.microbatch] = start + time;
            makespan = fmax(makespan, start + time);
            next[r]++;
            done++;
        }
    return makespan;
}

static void test_orders_take_the_longest_path_of_their_draws(void **state)
{
    const double times[3] = {1, 1.2, 0.9};
    const struct mtlm_noise noise = {.sigma = 0.3,
                                     .chance = 0.1,
                                     .times = 4,
                                     .rank = {{1, 1.1}},
                                     .ranks = 1};
    struct mtlm_evaluate config;
    struct scene s;

    (void) state;
    scene_create(&s, 2, 8, 1, 1, times, 0.05);
    mtlm_published_build(mtlm_published_find("zb-h1"), &s.walk, 2, &s.order);
    for (int seed = 0; seed < 10; seed++) {
        const struct mtlm_noise_draws draws = {
            .noise = &noise, .seed = seed, .iteration = 3};
        struct mtlm_evaluation e;

        disturb(&s, &config, &draws);
        e = mtlm_evaluate_order(&config, &s.order);
        assert_float_equal(e.makespan_s, longest_path(&s, &draws), 1e-9);
        mtlm_evaluation_free(&e);
    }
    scene_free(&s);
}

/* One rank is never idle: an iteration takes the sum of its draws.  Without
 * noise the sum is that of the times, to the bit. */
static void test_a_lone_rank_takes_the_sum_of_its_draws(void **state)
{
    const double times[3] = {1, 1.2, 0.9};
    const struct mtlm_noise noise = {.sigma = 0.3}, none = {0};
    const struct mtlm_noise_draws draws = {.noise = &noise, .seed = SEED};
    const struct mtlm_noise_draws no_draws = {.noise = &none, .seed = SEED};
    const struct mtlm_window window = {.w = 8, .g = 8};
    struct mtlm_evaluate config;
    struct mtlm_evaluation e, f;
    double sum = 0;
    struct scene s;

    (void) state;
    scene_create(&s, 1, 8, 1, 1, times, 0);
    disturb(&s, &config, &draws);
    config.window = &window;
    config.steps = 4;
    for (int i = 0; i < 8; i++)
        for (int phase = 0; phase < 3; phase++)
            sum += times[phase]
                   * mtlm_noise_factor(&draws, &s.layout, phase, 0, i);
    e = mtlm_evaluate(&config);
    assert_float_equal(e.makespan_s, sum, 1e-6);
    mtlm_evaluation_free(&e);
    config.noise = &no_draws;
    e = mtlm_evaluate(&config);
    config.noise = NULL;
    f = mtlm_evaluate(&config);
    assert_true(e.makespan_s == f.makespan_s);
    mtlm_evaluation_free(&e);
    mtlm_evaluation_free(&f);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments_are_those_of_the_lognormal),
        cmocka_unit_test(test_each_part_of_the_key_draws_anew),
        cmocka_unit_test(test_draws_do_not_depend_on_other_draws),
        cmocka_unit_test(test_passes_of_microbatches_vary_alone),
        cmocka_unit_test(test_transients_come_as_often_as_said),
        cmocka_unit_test(test_no_noise_changes_nothing),
        cmocka_unit_test(test_ranks_have_their_factors),
        cmocka_unit_test(test_orders_take_the_longest_path_of_their_draws),
        cmocka_unit_test(test_a_lone_rank_takes_the_sum_of_its_draws)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
