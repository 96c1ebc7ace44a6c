/* Two versions of the weights: the rule of PipeDream-2BW in double against a
 * replay, no pass waits for the optimizer of the iteration before, and the
 * pipeline has no bubble. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/build/dependencies.h"
#include "graph/build/version.h"
#include "graph/predict/evaluate_program.h"
#include "tests/graph/small.h"
#include "tests/graph/weights.h"
#include "tests/worse.h"

/* ---- the rule ---- */

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

/* ---- what waits for what ---- */

/* The tasks of three iterations on one rank: whether each needs, along all
 * dependencies, a node of the optimizer of the iteration before or of the one
 * before that. */
struct needs {
    bool one, two;
    int iteration;
    bool optimizer;
};

static void check_waits(const struct mtlm_program *program)
{
    const struct mtlm_items *items = &program->train;
    const int n = 3 * items->n, stale = program->config.weight_staleness;
    struct mtlm_dependencies *d = mtlm_dependencies_create(program->graph);
    struct needs *task = mtlm_calloc(n, sizeof(*task));
    int waits = 0;

    for (int i = 0; i < n; i++) {
        const struct mtlm_item *item = &items->item[i % items->n];
        const int e = i / items->n, m = (int) program->config.microbatches;
        const struct mtlm_submission at = {
            item->microbatch < 0 ? e : e * m + item->microbatch, e, item->lane};
        const struct mtlm_predecessors before =
            mtlm_dependencies_add(d, item->node, &at, i);

        task[i] = (struct needs){.iteration = e,
                                 .optimizer =
                                     item->node->phase == MTLM_PHASE_OPTIMIZER};
        for (int k = 0; k < before.n; k++) {
            const struct needs *p = &task[before.task[k]];
            const int ago = e - p->iteration;

            task[i].one |= (p->optimizer && ago == 1) || (p->one && ago == 0);
            task[i].two |= (p->optimizer && ago == 2) || (p->two && ago == 0)
                           || (p->one && ago == 1);
        }
        if (e < 2 || task[i].optimizer)
            continue;
        assert_true(!stale || !task[i].one);
        waits += stale ? task[i].two : task[i].one;
    }
    assert_true(waits > items->n / 2);
    mtlm_dependencies_destroy(d);
    free(task);
}

static void test_passes_wait_for_the_step_before_the_last_one(void **state)
{
    (void) state;
    for (int stale = 0; stale < 2; stale++)
        for (int c = 0; c < 6; c++) {
            const bool replicas = c == 2 || c > 3;
            struct mtlm_program_config config =
                layout(1 + (c == 1), 1 + (c > 0), 1 + replicas);
            struct small_ranks ranks;

            config.microbatches = 4;
            config.weight_staleness = stale;
            config.distributed_optimizer = c > 3;
            config.value = c == 3 || c == 5 ? MTLM_BF16 : MTLM_REAL;
            ranks = small_ranks_create(&config);
            for (int r = 0; r < ranks.n; r++)
                check_waits(ranks.program[r]);
            small_ranks_destroy(&ranks);
        }
}

/* ---- the bubble ---- */

static int count_tasks(const struct mtlm_list *list, enum mtlm_phase phase)
{
    int n = 0;

    for (int i = 0; i < list->n; i++)
        n += list->node[i]->phase == phase
             && mtlm_ops[list->node[i]->call.kind]->op_class
                    == MTLM_CLASS_COMPUTE;
    return n;
}

/* F, B and W of a stage take a second each. */
static double seconds(void *arg, const struct mtlm_program *program,
                      const struct mtlm_item *item, int iteration)
{
    const enum mtlm_phase phase = item->node->phase;
    const struct mtlm_stage *stage = &program->stage[mtlm_layout_chunk(
        &program->config.layout, item->node->stage)];

    (void) arg;
    (void) iteration;
    if (item->microbatch < 0
        || mtlm_ops[item->node->call.kind]->op_class != MTLM_CLASS_COMPUTE)
        return 0;
    return 1.0
           / (count_tasks(&stage->forward, phase)
              + count_tasks(&stage->backward, phase)
              + count_tasks(&stage->weight, phase));
}

/* Returns the idle share of rank 0 from the end of iteration 3 to that of
 * iteration 7, of 9 iterations. */
static double bubble_of(const struct mtlm_program_config *config)
{
    struct small_ranks ranks = small_ranks_create(config);
    const struct mtlm_evaluate_program job = {
        .program = (const struct mtlm_program *const *) ranks.program,
        .n = ranks.n,
        .iterations = 9,
        .seconds = seconds};
    struct mtlm_execution run = mtlm_evaluate_program(&job);
    int64_t end[9] = {0};

    for (int i = 0; i < run.n; i++)
        if (run.node[i].program == 0
            && run.node[i].node->phase == MTLM_PHASE_OPTIMIZER
            && run.node[i].end_ns > end[run.node[i].iteration])
            end[run.node[i].iteration] = run.node[i].end_ns;
    mtlm_execution_free(&run);
    small_ranks_destroy(&ranks);
    return 1 - 4 * 3e9 * config->microbatches / (end[7] - end[3]);
}

static void test_the_steady_state_has_no_bubble(void **state)
{
    static const char *const schedules[] = {"window", "1f1b", "zb-h1"};

    (void) state;
    for (int s = 0; s < 3; s++)
        for (int stale = 0; stale < 2; stale++) {
            struct mtlm_program_config config = small_config(1, 4, 8);
            double bubble;

            config.schedule = small_schedule(schedules[s]);
            config.weight_staleness = stale;
            bubble = bubble_of(&config);
            print_message("# %s, staleness %d: bubble %.2f %%\n", schedules[s],
                          stale, 100 * bubble);
            assert_true(stale ? bubble < 0.01 : bubble > 0.1);
        }
}

/* ---- memory ---- */

static double bytes_of(const struct mtlm_program *program,
                       enum mtlm_storage storage)
{
    double bytes = 0;

    for (int i = 0; i < program->graph->n_tensors; i++) {
        const struct mtlm_tensor *t = program->graph->tensor[i];

        if (t->storage == storage && mtlm_tensor_is_owner(t))
            bytes += t->slots * mtlm_tensor_bytes(t);
    }
    return bytes;
}

/* Versions lie behind each other, so that a message carries one of them. */
static void check_places(const struct mtlm_program *program)
{
    for (int i = 0; i < program->n_params; i++) {
        const struct mtlm_parameter *p = &program->param[i];
        const struct mtlm_tensor *const t[] = {p->weight, p->grad, p->reduced};

        for (int k = 0; k < 3; k++) {
            if (!t[k] || t[k]->same)
                continue;
            assert_int_equal(t[k]->slots, 2);
            assert_true(t[k]->stride
                        >= t[k]->offset + (int64_t) mtlm_tensor_bytes(t[k]));
            assert_true(program->graph->block[t[k]->block]
                        == 2 * (size_t) t[k]->stride);
        }
    }
}

static void check_memory(bool sharded)
{
    struct mtlm_program_config config = layout(2, 2, 2);
    struct small_ranks one, two;

    config.distributed_optimizer = sharded;
    one = small_ranks_create(&config);
    config.weight_staleness = 1;
    two = small_ranks_create(&config);
    for (int r = 0; r < one.n; r++) {
        const struct mtlm_program *a = one.program[r], *b = two.program[r];

        assert_true(bytes_of(b, MTLM_STORE_PARAM)
                    == 2 * bytes_of(a, MTLM_STORE_PARAM));
        assert_true(bytes_of(b, MTLM_STORE_GRAD)
                    == 2 * bytes_of(a, MTLM_STORE_GRAD));
        assert_true(bytes_of(b, MTLM_STORE_MOMENT)
                    == bytes_of(a, MTLM_STORE_MOMENT));
        assert_true(bytes_of(b, MTLM_STORE_ACTIVATION)
                    == bytes_of(a, MTLM_STORE_ACTIVATION));
        check_places(b);
    }
    small_ranks_destroy(&one);
    small_ranks_destroy(&two);
}

static void test_weights_and_gradients_take_twice_the_memory(void **state)
{
    (void) state;
    check_memory(false);
    check_memory(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_takes_the_gradient_of_the_weights_before),
        cmocka_unit_test(test_shards_step_by_the_same_rule),
        cmocka_unit_test(test_a_validation_has_the_newest_weights),
        cmocka_unit_test(test_passes_wait_for_the_step_before_the_last_one),
        cmocka_unit_test(test_the_steady_state_has_no_bubble),
        cmocka_unit_test(test_weights_and_gradients_take_twice_the_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
