/* Whole programs, evaluated: times of nodes and messages, collectives one by
 * one or not, and an order of them that all ranks can follow. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/predict/exposure.h"
#include "graph/predict/pipeline_programs.h"
#include "tests/graph/small.h"

/* Seconds of what a test looks at; all else takes none. */
struct times {
    double computation, send, collective, transfer;
};

static double seconds(void *arg, const struct mtlm_program *program,
                      const struct mtlm_item *item, int iteration)
{
    const struct times *times = arg;

    (void) program;
    (void) iteration;
    if (item->node->lane == MTLM_LANE_DISK)
        return item->node->bytes > 0 ? times->transfer : 0;
    if (item->microbatch < 0)
        return 0;
    switch (mtlm_ops[item->node->call.kind]->op_class) {
    case MTLM_CLASS_COMPUTE:
        return times->computation;
    case MTLM_CLASS_P2P:
        assert_int_equal(item->node->call.kind, MTLM_OP_SEND);
        return times->send;
    case MTLM_CLASS_COLLECTIVE:
        return times->collective;
    default:
        return 0;
    }
}

static struct mtlm_execution run(const struct small_ranks *ranks, int step,
                                 struct times times, enum mtlm_turns turns)
{
    const struct mtlm_program **program =
        mtlm_calloc(ranks->n, sizeof(*program));
    struct mtlm_evaluate_program job = {.program = program,
                                        .iterations = 1,
                                        .seconds = seconds,
                                        .arg = &times,
                                        .turns = turns};
    struct mtlm_execution run;

    for (int r = 0; r < ranks->n; r += step)
        program[job.n++] = ranks->program[r];
    run = mtlm_evaluate_program(&job);
    free(program);
    return run;
}

/* Nodes of one microbatch, of one class. */
static int count(const struct small_ranks *ranks, enum mtlm_op_class class)
{
    const struct mtlm_items *items = &ranks->program[0]->train;
    int n = 0;

    for (int i = 0; i < items->n; i++)
        n += items->item[i].microbatch == 0
             && mtlm_ops[items->item[i].node->call.kind]->op_class == class;
    return n;
}

/* One rank does one thing after the other. */
static void test_a_rank_takes_as_long_as_its_nodes(void **state)
{
    const struct mtlm_program_config config = small_config(1, 1, 3);
    struct small_ranks ranks = small_ranks_create(&config);
    struct mtlm_execution e =
        run(&ranks, 1, (struct times){.computation = 1e-3}, MTLM_TURNS_LANE);

    (void) state;
    assert_int_equal(e.makespan_ns,
                     3 * 1000000 * count(&ranks, MTLM_CLASS_COMPUTE));
    mtlm_execution_free(&e);
    small_ranks_destroy(&ranks);
}

/* A microbatch crosses each of p - 1 boundaries twice. */
static void test_messages_take_their_time_on_the_way(void **state)
{
    (void) state;
    for (int pp = 1; pp <= 4; pp *= 2) {
        const struct mtlm_program_config config = small_config(1, pp, 1);
        struct small_ranks ranks = small_ranks_create(&config);
        struct mtlm_execution e =
            run(&ranks, 1, (struct times){.send = 0.5}, MTLM_TURNS_LANE);

        assert_int_equal(e.makespan_ns, 2 * (pp - 1) * INT64_C(500000000));
        mtlm_execution_free(&e);
        small_ranks_destroy(&ranks);
    }
}

/* Asserts the seconds of a lane of each of two programs, without others. */
static void check_turns(const struct mtlm_execution *run, enum mtlm_turns turns,
                        int lane, double seconds)
{
    double *taken = mtlm_exposure_turns(run, 2, turns);

    for (int i = 0; i < 2 * MTLM_EXPOSURE_LANES; i++)
        assert_true(fabs(taken[i]
                         - (i % MTLM_EXPOSURE_LANES == lane ? seconds : 0))
                    < 1e-9);
    free(taken);
}

/* Tensor-parallel collectives pass one by one. */
static void test_collectives_of_a_lane_pass_one_by_one(void **state)
{
    struct mtlm_program_config config = small_config(2, 1, 3);
    struct small_ranks ranks;
    struct mtlm_execution lane, serial;
    int64_t one;

    (void) state;
    config.window = 100;
    ranks = small_ranks_create(&config);
    one = count(&ranks, MTLM_CLASS_COLLECTIVE) * INT64_C(1000000);
    assert_true(one > 0);
    lane = run(&ranks, 1, (struct times){.collective = 1e-3}, MTLM_TURNS_LANE);
    serial = run(&ranks, 1, (struct times){.collective = 1e-3}, MTLM_TURNS_ALL);
    assert_int_equal(lane.makespan_ns, 3 * one);
    assert_int_equal(serial.makespan_ns, 3 * one);
    check_turns(&lane, MTLM_TURNS_LANE, MTLM_LANE_TP, 3e-9 * one);
    check_turns(&serial, MTLM_TURNS_ALL, 0, 3e-9 * one);
    mtlm_execution_free(&lane);
    mtlm_execution_free(&serial);
    small_ranks_destroy(&ranks);
}

static bool always(void *arg, const struct mtlm_program *program,
                   const struct mtlm_item *item)
{
    (void) arg;
    (void) program;
    (void) item;
    return true;
}

/* In a chain, computation and collectives of three microbatches add up; else
 * some collectives pass beside computation. */
static void test_links_of_a_chain_start_one_after_another(void **state)
{
    struct mtlm_program_config config = small_config(2, 1, 3);
    struct times times = {.computation = 1e-3, .collective = 1e-3};
    struct small_ranks ranks;
    struct mtlm_execution free, chain;
    int nodes;

    (void) state;
    config.window = 100;
    ranks = small_ranks_create(&config);
    nodes = count(&ranks, MTLM_CLASS_COMPUTE)
            + count(&ranks, MTLM_CLASS_COLLECTIVE);
    free = run(&ranks, 1, times, MTLM_TURNS_LANE);
    chain = mtlm_evaluate_program(&(struct mtlm_evaluate_program){
        .program = (const struct mtlm_program *const *) ranks.program,
        .n = ranks.n,
        .iterations = 1,
        .seconds = seconds,
        .arg = &times,
        .chained = always});
    assert_int_equal(chain.makespan_ns, 3 * INT64_C(1000000) * nodes);
    assert_true(free.makespan_ns < chain.makespan_ns);
    mtlm_execution_free(&free);
    mtlm_execution_free(&chain);
    small_ranks_destroy(&ranks);
}

/* One rank of each tensor-parallel group says as much as both. */
static void test_ranks_that_do_the_same_need_not_be_there(void **state)
{
    static const struct times times = {
        .computation = 1e-3, .send = 2e-3, .collective = 0.5e-3};
    const struct mtlm_program_config config = small_config(2, 2, 5);
    struct small_ranks ranks = small_ranks_create(&config);
    struct mtlm_execution all = run(&ranks, 1, times, MTLM_TURNS_ALL);
    struct mtlm_execution half = run(&ranks, 2, times, MTLM_TURNS_ALL);

    (void) state;
    assert_int_equal(all.makespan_ns, half.makespan_ns);
    mtlm_execution_free(&all);
    mtlm_execution_free(&half);
    small_ranks_destroy(&ranks);
}

/* The costs of the nodes of all ranks: [n]. */
static double modelled(void *arg, const struct mtlm_program *program,
                       const struct mtlm_item *item, int iteration)
{
    const struct mtlm_cost *cost = arg;

    (void) iteration;
    return mtlm_cost_seconds(&cost[mtlm_layout_rank(&program->config.layout)],
                             item->node);
}

/* Evaluates every rank of the job. */
static struct mtlm_execution run_unfolded(const struct small_ranks *ranks,
                                          const struct mtlm_cluster *cluster)
{
    struct mtlm_cost *cost = mtlm_calloc(ranks->n, sizeof(*cost));
    struct mtlm_execution all;

    for (int r = 0; r < ranks->n; r++)
        cost[r] = mtlm_cost_create(cluster, ranks->program[r]);
    all = mtlm_evaluate_program(&(struct mtlm_evaluate_program){
        .program = (const struct mtlm_program *const *) ranks->program,
        .n = ranks->n,
        .iterations = 1,
        .seconds = modelled,
        .arg = cost});
    free(cost);
    return all;
}

/* T2 x P4 x D2, a host for each stage: F, B and W of the first rank of a stage
 * run at the same times, with the other three ranks or without.  Replicas share
 * out some nodes of the optimizer, which lie beside these. */
static void test_a_folded_job_runs_as_the_whole_one(void **state)
{
    const struct mtlm_cluster cluster = {.flops_per_s = 1e9,
                                         .efficiency = 0.5,
                                         .bytes_per_s = 1e9,
                                         .memory_efficiency = 1,
                                         .launch_s = 2e-6,
                                         .element_bytes = 2,
                                         .devices = 4,
                                         .host = {1e-6, 1e9},
                                         .network = {5e-6, 1e8}};
    struct mtlm_program_config config = small_config(2, 4, 6);
    struct mtlm_pipeline_programs few;
    struct mtlm_execution all, folded;
    struct small_ranks ranks;
    int i = 0;

    (void) state;
    config.layout.dp = 2;
    ranks = small_ranks_create(&config);
    few = mtlm_pipeline_programs_create(&config, &cluster);
    assert_int_equal(ranks.n, 4 * few.n);
    all = run_unfolded(&ranks, &cluster);
    folded = mtlm_evaluate_program(&(struct mtlm_evaluate_program){
        .program = (const struct mtlm_program *const *) few.program,
        .n = few.n,
        .iterations = 1,
        .seconds = mtlm_pipeline_programs_seconds,
        .arg = &few});
    assert_true(llabs(all.makespan_ns - folded.makespan_ns)
                < 5e-4 * all.makespan_ns);
    for (int j = 0; j < all.n; j++) {
        const struct mtlm_executed *x = &all.node[j], *y;

        if (x->program % 4 > 0 || x->node->phase > MTLM_PHASE_WEIGHT)
            continue;
        while (folded.node[i].node->phase > MTLM_PHASE_WEIGHT)
            i++;
        y = &folded.node[i++];
        assert_int_equal(x->program, 4 * y->program);
        assert_int_equal(x->node->id, y->node->id);
        assert_int_equal(x->microbatch, y->microbatch);
        assert_int_equal(x->start_ns, y->start_ns);
        assert_int_equal(x->end_ns, y->end_ns);
    }
    assert_true(i > 6 * 4 * 10);
    mtlm_execution_free(&all);
    mtlm_execution_free(&folded);
    mtlm_pipeline_programs_free(&few);
    small_ranks_destroy(&ranks);
}

/* Each number once, the same for both ranks of a group, and each after what
 * it depends on: in the order of the starts of the program's items. */
static void test_the_order_of_collectives_is_one_for_all(void **state)
{
    static const struct times times = {
        .computation = 1e-3, .send = 0.2e-3, .collective = 0.3e-3};
    const struct mtlm_program_config config = small_config(2, 2, 6);
    struct small_ranks ranks = small_ranks_create(&config);
    struct mtlm_execution e = run(&ranks, 1, times, MTLM_TURNS_ALL);
    bool program_order = true;

    (void) state;
    for (int r = 0; r < ranks.n; r += 2) {
        int n, m;
        int *a = mtlm_execution_collectives(&e, r, 0, &n);
        int *b = mtlm_execution_collectives(&e, r + 1, 0, &m);
        bool *seen = mtlm_calloc(n, sizeof(*seen));

        assert_true(n > 6 * count(&ranks, MTLM_CLASS_COLLECTIVE));
        assert_int_equal(n, m);
        for (int i = 0; i < n; i++) {
            assert_int_equal(a[i], b[i]);
            assert_in_range(a[i], 0, n - 1);
            assert_false(seen[a[i]]);
            seen[a[i]] = true;
            program_order &= a[i] == i;
        }
        free(seen);
        free(a);
        free(b);
    }
    /* Forward passes of later microbatches go before earlier gradients. */
    assert_false(program_order);
    mtlm_execution_free(&e);
    small_ranks_destroy(&ranks);
}

/* ---- loads and stores ---- */

/* Loads and stores of all ranks that move bytes. */
static int count_transfers(const struct small_ranks *ranks, int r)
{
    const struct mtlm_items *items = &ranks->program[r]->train;
    int n = 0;

    for (int i = 0; i < items->n; i++)
        n += items->item[i].node->lane == MTLM_LANE_DISK
             && items->item[i].node->bytes > 0;
    return n;
}

/* Returns the makespan in transfers, with so many ranks to a host. */
static double transfers(const struct small_ranks *ranks, int devices)
{
    struct times times = {.transfer = 1e-3};
    struct mtlm_execution e =
        mtlm_evaluate_program(&(struct mtlm_evaluate_program){
            .program = (const struct mtlm_program *const *) ranks->program,
            .n = ranks->n,
            .iterations = 1,
            .seconds = seconds,
            .arg = &times,
            .devices = devices});
    const double n = 1e-6 * e.makespan_ns;

    mtlm_execution_free(&e);
    return n;
}

/* A disk serves the ranks of a host one transfer at a time; hosts have disks
 * of their own. */
static void test_transfers_of_a_host_take_turns(void **state)
{
    (void) state;
    for (int pp = 1; pp <= 2; pp++) {
        struct mtlm_program_config config = small_config(1, pp, 2);
        struct small_ranks ranks;
        int all = 0, most = 0;

        config.offload = MTLM_OFFLOAD_OPTIMIZER;
        ranks = small_ranks_create(&config);
        for (int r = 0; r < pp; r++) {
            const int n = count_transfers(&ranks, r);

            all += n;
            most = n > most ? n : most;
        }
        assert_true(most > 4);
        assert_float_equal(transfers(&ranks, 0), all, 1e-9);
        assert_float_equal(transfers(&ranks, 2), all, 1e-9);
        assert_float_equal(transfers(&ranks, 1), most, 1e-9);
        small_ranks_destroy(&ranks);
    }
}

/* Of the loads that have their slots, the first in program order goes first;
 * computation beside them takes no time from them. */
static void test_transfers_go_in_program_order(void **state)
{
    struct mtlm_program_config config = small_config(1, 1, 2);
    struct times times = {.computation = 1e-3, .transfer = 1e-3};
    struct small_ranks ranks;
    struct mtlm_execution e;
    const struct mtlm_item *before = NULL;
    int64_t idle = 0;

    (void) state;
    config.offload = MTLM_OFFLOAD_OPTIMIZER;
    ranks = small_ranks_create(&config);
    e = run(&ranks, 1, times, MTLM_TURNS_LANE);
    for (int i = 0; i < e.n && e.node[i].start_ns < 3000000; i++) {
        const struct mtlm_executed *x = &e.node[i];

        if (x->node->lane != MTLM_LANE_DISK || x->node->bytes == 0)
            continue;
        assert_true(!before || x->item > before);
        assert_int_equal(x->start_ns, idle);
        idle = x->end_ns;
        before = x->item;
    }
    assert_int_equal(idle, 3000000);
    mtlm_execution_free(&e);
    small_ranks_destroy(&ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_rank_takes_as_long_as_its_nodes),
        cmocka_unit_test(test_messages_take_their_time_on_the_way),
        cmocka_unit_test(test_collectives_of_a_lane_pass_one_by_one),
        cmocka_unit_test(test_links_of_a_chain_start_one_after_another),
        cmocka_unit_test(test_ranks_that_do_the_same_need_not_be_there),
        cmocka_unit_test(test_a_folded_job_runs_as_the_whole_one),
        cmocka_unit_test(test_the_order_of_collectives_is_one_for_all),
        cmocka_unit_test(test_transfers_of_a_host_take_turns),
        cmocka_unit_test(test_transfers_go_in_program_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
