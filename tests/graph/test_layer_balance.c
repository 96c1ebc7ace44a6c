/* Layers of stages from measured times: against all choices that there are. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/predict/layer_balance.h"

enum { MOST = 8 }; /* stages */

static const double near = 1e-9;

/* A pipeline and its times. */
struct pipeline {
    struct mtlm_layout layout;
    struct mtlm_stage_times times, inside;
    struct mtlm_layer_balance balance;
};

/* F, B and W of a layer take 1, 1.3 and 0.8 s over speed[rank].  Outside of
 * layers, stage k takes outside[k] s in all. */
static void begin(struct pipeline *p, struct mtlm_layout layout, int64_t layers,
                  const double *speed, const double *outside)
{
    static const double pass[] = {1, 1.3, .8};
    const int stages = mtlm_layout_stages(&layout);

    p->layout = layout;
    p->times = mtlm_stage_times_create(stages);
    p->inside = mtlm_stage_times_create(stages);
    p->times.hop = .25;
    for (int k = 0; k < stages; k++) {
        int64_t first, count;

        mtlm_layout_layers(&layout, layers, k, &first, &count);
        for (int i = 0; i < 3; i++) {
            const double in = (double) count * pass[i]
                              / speed[mtlm_layout_pp_rank(&layout, k)];

            p->inside.forward[i * stages + k] = in;
            p->times.forward[i * stages + k] = in + outside[k] / 3;
        }
    }
    p->balance =
        (struct mtlm_layer_balance){&p->layout, layers, &p->times, &p->inside};
}

static void end(struct pipeline *p)
{
    mtlm_stage_times_free(&p->times);
    mtlm_stage_times_free(&p->inside);
}

/* ---- all choices ---- */

/* The least time, and the fewest moves within `limit`. */
struct best {
    double seconds, limit;
    int64_t moved;
};

static double busiest(const struct pipeline *p, const double *speed,
                      const double *outside, const int64_t *layers)
{
    double work[MOST] = {0}, most = 0;

    for (int k = 0; k < mtlm_layout_stages(&p->layout); k++) {
        const int r = mtlm_layout_pp_rank(&p->layout, k);

        work[r] += 3.1 * (double) layers[k] / speed[r] + outside[k];
        most = fmax(most, work[r]);
    }
    return most;
}

/* Returns how many layers have another rank than before. */
static int64_t count_moved(const struct pipeline *p, const int64_t *layers)
{
    struct mtlm_layout after = p->layout;
    int64_t moved = 0;

    after.stage_layers = layers;
    for (int64_t i = 0; i < p->balance.num_layers; i++) {
        int owner[2] = {-1, -1};

        for (int k = 0; k < mtlm_layout_stages(&p->layout); k++)
            for (int j = 0; j < 2; j++) {
                int64_t first, count;

                mtlm_layout_layers(j ? &after : &p->layout,
                                   p->balance.num_layers, k, &first, &count);
                if (i >= first && i < first + count)
                    owner[j] = mtlm_layout_pp_rank(&p->layout, k);
            }
        moved += owner[0] != owner[1];
    }
    return moved;
}

/* Tries all layers of the stages from `stage` on. */
static void try_all(const struct pipeline *p, const double *speed,
                    const double *outside, int stage, int64_t left,
                    int64_t *layers, struct best *best)
{
    const int last = mtlm_layout_stages(&p->layout) - 1;

    for (int64_t n = stage == last ? left : 1; n <= left - (last - stage);
         n++) {
        double seconds;
        int64_t moved;

        layers[stage] = n;
        if (stage < last) {
            try_all(p, speed, outside, stage + 1, left - n, layers, best);
            continue;
        }
        seconds = busiest(p, speed, outside, layers);
        best->seconds = fmin(best->seconds, seconds);
        moved = count_moved(p, layers);
        if (seconds <= best->limit + near && moved < best->moved)
            best->moved = moved;
    }
}

/* Numbers without a pattern. */
static double any(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) / 16777216.;
}

static void test_no_choice_is_better(void **state)
{
    static const struct mtlm_layout layouts[] = {
        {.tp = 1, .pp = 2, .dp = 1, .virtual_stages = 1},
        {.tp = 1, .pp = 3, .dp = 1, .virtual_stages = 1},
        {.tp = 1, .pp = 4, .dp = 1, .virtual_stages = 1},
        {.tp = 1, .pp = 2, .dp = 1, .virtual_stages = 2},
        {.tp = 1,
         .pp = 2,
         .dp = 1,
         .virtual_stages = 2,
         .placement = MTLM_PLACEMENT_V}};
    unsigned seed = 7;
    int moves = 0;

    (void) state;
    for (int round = 0; round < 400; round++) {
        const struct mtlm_layout *layout =
            &layouts[round % (int) (sizeof(layouts) / sizeof(layouts[0]))];
        const int stages = mtlm_layout_stages(layout);
        const int64_t layers = stages + (int64_t) (8 * any(&seed));
        double speed[MOST], outside[MOST];
        int64_t tried[MOST], *chosen, sum = 0;
        struct best best = {INFINITY, 0, INT64_MAX};
        const double slack = round % 3 ? 0 : .2 * any(&seed);
        struct pipeline p;

        for (int i = 0; i < MOST; i++) {
            speed[i] = .5 + any(&seed);
            outside[i] = round % 2 ? 8 * any(&seed) : 0;
        }
        begin(&p, *layout, layers, speed, outside);
        try_all(&p, speed, outside, 0, layers, tried, &best);
        best.limit = (1 + slack) * best.seconds;
        try_all(&p, speed, outside, 0, layers, tried, &best);
        chosen = mtlm_layer_balance_choose(&p.balance, slack);
        for (int k = 0; k < stages; k++) {
            assert_true(chosen[k] >= 1);
            sum += chosen[k];
        }
        assert_int_equal(sum, layers);
        assert_true(busiest(&p, speed, outside, chosen) <= best.limit + near);
        if (layout->virtual_stages == 1)
            assert_int_equal(count_moved(&p, chosen), best.moved);
        moves += best.moved > 0;
        free(chosen);
        end(&p);
    }
    assert_true(moves > 100);
}

/* Equal ranks keep their layers, and a slow one of four gives one to the next
 * rank. */
static void test_a_slow_rank_gives_a_layer(void **state)
{
    static const double equal[] = {1, 1, 1, 1}, slow[] = {1, .8, 1, 1},
                        nothing[MOST] = {0};
    static const int64_t same[] = {8, 8, 8, 8}, fewer[] = {8, 7, 9, 8};
    const struct mtlm_layout four = {
        .tp = 1, .pp = 4, .dp = 1, .virtual_stages = 1};
    struct mtlm_stage_times times;
    struct pipeline p;
    int64_t *layers;

    (void) state;
    begin(&p, four, 32, equal, nothing);
    layers = mtlm_layer_balance_choose(&p.balance, 0);
    assert_memory_equal(layers, same, sizeof(same));
    free(layers);
    end(&p);

    begin(&p, four, 32, slow, nothing);
    layers = mtlm_layer_balance_choose(&p.balance, 0);
    assert_memory_equal(layers, fewer, sizeof(fewer));
    times = mtlm_layer_balance_times(&p.balance, layers);
    assert_float_equal(times.forward[1], 7 / .8, near);
    assert_float_equal(times.backward[1], 1.3 * 7 / .8, near);
    assert_float_equal(times.weight[3], p.times.weight[3], 0);
    assert_float_equal(times.hop, .25, 0);
    mtlm_stage_times_free(&times);
    free(layers);
    end(&p);
}

/* The time outside of layers, such as that of the loss, does not grow. */
static void test_the_rest_of_a_stage_stays(void **state)
{
    static const double equal[] = {1, 1};
    static const double outside[] = {0, 12.4}; /* as long as four layers */
    static const int64_t layers[] = {6, 2};
    struct mtlm_stage_times times;
    struct pipeline p;
    int64_t *chosen;

    (void) state;
    begin(&p,
          (struct mtlm_layout){.tp = 1, .pp = 2, .dp = 1, .virtual_stages = 1},
          8, equal, outside);
    chosen = mtlm_layer_balance_choose(&p.balance, 0);
    assert_memory_equal(chosen, layers, sizeof(layers));
    times = mtlm_layer_balance_times(&p.balance, chosen);
    assert_float_equal(times.forward[0], 6, near);
    assert_float_equal(times.forward[1], 2 + 12.4 / 3, near);
    mtlm_stage_times_free(&times);
    free(chosen);
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_choice_is_better),
        cmocka_unit_test(test_a_slow_rank_gives_a_layer),
        cmocka_unit_test(test_the_rest_of_a_stage_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
