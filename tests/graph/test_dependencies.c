/* What waits for what, against the definition: of two nodes that use a slot,
 * not both to read it, the second comes after the first. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/build/dependencies.h"
#include "graph/run/watch.h"
#include "runtime/base/memory.h"
#include "tests/graph/small.h"

static const struct mtlm_submission first = {.lane = -1};

/* A node as it is submitted. */
struct call {
    const struct mtlm_node *node;
    int64_t use;
};

/* [n][n]: whether the first must come after the second. */
static bool *closed(bool *after, int n)
{
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++)
            if (after[i * n + k])
                for (int j = 0; j < k; j++)
                    after[i * n + j] |= after[k * n + j];
    return after;
}

static bool conflict(const struct call *a, const struct call *b)
{
    for (int i = 0; i < mtlm_node_n_uses(a->node); i++)
        for (int j = 0; j < mtlm_node_n_uses(b->node); j++) {
            const struct mtlm_use x = mtlm_node_use(a->node, i);
            const struct mtlm_use y = mtlm_node_use(b->node, j);
            const struct mtlm_slot s = mtlm_tensor_slot(x.tensor, a->use);
            const struct mtlm_slot t = mtlm_tensor_slot(y.tensor, b->use);

            if (s.owner == t.owner && s.slot == t.slot
                && (x.access != MTLM_R || y.access != MTLM_R))
                return true;
        }
    return false;
}

/* The calls become tasks 3, 5, 7 ... */
static void assert_definition(const struct mtlm_graph *graph,
                              const struct call *call, int n)
{
    struct mtlm_dependencies *d = mtlm_dependencies_create(graph);
    bool *want = mtlm_calloc((size_t) n * n, 1);
    bool *got = mtlm_calloc((size_t) n * n, 1);

    for (int i = 0; i < n; i++) {
        const struct mtlm_submission at = {call[i].use, 0, -1};
        const struct mtlm_predecessors p =
            mtlm_dependencies_add(d, call[i].node, &at, 3 + 2 * i);

        for (int k = 0; k < p.n; k++) {
            assert_true(k == 0 || p.task[k] > p.task[k - 1]);
            assert_in_range(p.task[k], 3, 1 + 2 * i);
            assert_int_equal(p.task[k] % 2, 1);
            got[(size_t) i * n + (p.task[k] - 3) / 2] = true;
        }
        for (int j = 0; j < i; j++) {
            const bool after = conflict(&call[i], &call[j]);

            /* No edge but of two nodes that use the same slot. */
            assert_true(after || !got[(size_t) i * n + j]);
            want[(size_t) i * n + j] = after;
        }
    }
    assert_memory_equal(closed(got, n), closed(want, n), (size_t) n * n);
    free(want);
    free(got);
    mtlm_dependencies_destroy(d);
}

static struct mtlm_tensor *tensor(struct mtlm_graph *graph, int slots)
{
    struct mtlm_tensor *t = mtlm_graph_tensor(graph, MTLM_STORE_ACTIVATION, "x",
                                              MTLM_SHAPE(2), MTLM_REAL);

    t->slots = slots;
    return t;
}

/* A node without operands that uses these. */
static struct mtlm_node *node(struct mtlm_graph *graph)
{
    static struct mtlm_list list;

    mtlm_graph_at(graph, &list, MTLM_PHASE_FORWARD, 0, 0);
    list.n = 0;
    return mtlm_graph_call(graph, MTLM_OP_BUCKET_ALL_REDUCE, NULL, NULL);
}

static void test_readers_wait_for_the_writer_and_a_writer_for_readers(
    void **state)
{
    static const enum mtlm_access access[] = {MTLM_R, MTLM_W,  MTLM_R, MTLM_R,
                                              MTLM_W, MTLM_RW, MTLM_R};
    static const int want[][3] = {{-1},       {0, -1}, {1, -1}, {1, -1},
                                  {2, 3, -1}, {4, -1}, {5, -1}};
    struct mtlm_graph *graph = mtlm_graph_create();
    struct mtlm_tensor *t = tensor(graph, 1);
    struct mtlm_dependencies *d = mtlm_dependencies_create(graph);

    (void) state;
    for (int i = 0; i < 7; i++) {
        struct mtlm_node *x = node(graph);
        struct mtlm_predecessors p;
        int n = 0;

        mtlm_node_add_use(x, t, access[i], i % 2 == 0);
        p = mtlm_dependencies_add(d, x, &first, i);
        for (; want[i][n] >= 0; n++)
            assert_int_equal(p.task[n], want[i][n]);
        assert_int_equal(p.n, n);
    }
    mtlm_dependencies_destroy(d);
    mtlm_graph_destroy(graph);
}

/* As weights while text is generated: no task waits, and no list grows. */
static void test_readers_of_what_nobody_writes_wait_for_nothing(void **state)
{
    struct mtlm_graph *graph = mtlm_graph_create();
    struct mtlm_tensor *fixed = tensor(graph, 2), *t = tensor(graph, 1);
    struct mtlm_node *writer = node(graph), *reader = node(graph);
    struct mtlm_dependencies *d = mtlm_dependencies_create(graph);
    struct mtlm_predecessors p;

    (void) state;
    mtlm_node_add_use(writer, fixed, MTLM_W, false);
    mtlm_node_add_use(writer, t, MTLM_W, false);
    mtlm_node_add_use(reader, fixed, MTLM_R, false);
    mtlm_dependencies_add(d, writer, &first, 0);
    mtlm_dependencies_fix(d, fixed);
    p = mtlm_dependencies_add(d, reader, &first, 1);
    assert_int_equal(p.n, 0);
    mtlm_node_add_use(reader, t, MTLM_R, false);
    p = mtlm_dependencies_add(d, reader, &first, 2);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.task[0], 0);
    mtlm_dependencies_destroy(d);
    mtlm_graph_destroy(graph);
}

static bool uses(const struct mtlm_node *x, const struct mtlm_tensor *t)
{
    for (int i = 0; i < mtlm_node_n_uses(x); i++)
        if (mtlm_node_use(x, i).tensor == t)
            return true;
    return false;
}

/* Submits the items that use t, of an iteration or of the start, for a policy
 * that watches; adds their nodes to node, and returns the number of all. */
static int watch_users(struct mtlm_run_watch *w, const struct mtlm_items *items,
                       const struct mtlm_tensor *t,
                       struct mtlm_policy_node **node, int n)
{
    for (int i = 0; i < items->n; i++) {
        const struct mtlm_item *item = &items->item[i];
        const struct mtlm_record record = {.job = n,
                                           .microbatch = item->microbatch};

        if (uses(item->node, t))
            node[n++] = mtlm_run_watch_node(w, item, 0, &record, 1, 0);
    }
    return n;
}

/* The control that passes read besides two versions of the weights: nobody
 * would empty a list of its readers. */
static void test_passes_do_not_wait_for_a_constant_control(void **state)
{
    enum { MOST = 16 };
    struct mtlm_program_config config = small_config(1, 1, 1);
    struct mtlm_policy_node *node[MOST];
    const struct mtlm_policy_node *on[MOST];
    const struct mtlm_program *program;
    struct mtlm_run_watch *w;
    struct small_ranks ranks;
    int n;

    (void) state;
    config.weight_staleness = 1;
    ranks = small_ranks_create(&config);
    program = ranks.program[0];
    mtlm_policy_watch(&(struct mtlm_policy_watch){0});
    w = mtlm_run_watch_create(program, 1);
    n = watch_users(w, &program->init, program->pass_control, node, 0);
    assert_int_equal(n, 1);
    n = watch_users(w, &program->train, program->pass_control, node, n);
    assert_in_range(n, 3, MOST);
    for (int i = 1; i < n; i++) {
        const size_t before = mtlm_policy_predecessors(node[i], on, MOST);

        for (size_t k = 0; k < before; k++)
            assert_ptr_not_equal(on[k], node[0]);
    }
    for (int i = 0; i < n; i++)
        mtlm_policy_nodes_ended(node[i]);
    mtlm_policy_watch(NULL);
    mtlm_run_watch_destroy(w);
    small_ranks_destroy(&ranks);
}

/* The program is built for the most workers of any rank. */
static void test_policies_learn_the_workers_of_this_rank(void **state)
{
    struct mtlm_program_config config = small_config(1, 1, 1);
    struct small_ranks ranks;

    (void) state;
    config.layout.workers = 2;
    ranks = small_ranks_create(&config);
    assert_null(mtlm_run_watch_create(ranks.program[0], 1));
    assert_int_equal(mtlm_policy_job(0).workers, 1);
    small_ranks_destroy(&ranks);
}

/* As Adam on several weights, behind the readers of all microbatches. */
static void test_a_writer_of_several_tensors_waits_for_each_reader_once(
    void **state)
{
    enum { TENSORS = 3, READERS = 100 };
    struct mtlm_graph *graph = mtlm_graph_create();
    struct mtlm_node *writer = node(graph);
    struct mtlm_tensor *t[TENSORS];
    struct mtlm_predecessors p;
    struct mtlm_dependencies *d;

    (void) state;
    for (int i = 0; i < TENSORS; i++) {
        t[i] = tensor(graph, 1);
        mtlm_node_add_use(writer, t[i], MTLM_RW, false);
    }
    d = mtlm_dependencies_create(graph);
    for (int i = 0; i < READERS; i++) {
        struct mtlm_node *x = node(graph);

        mtlm_node_add_use(x, t[i % TENSORS], MTLM_R, false);
        mtlm_node_add_use(x, t[(i + 1) % TENSORS], MTLM_R, false);
        mtlm_dependencies_add(d, x, &first, i);
    }
    p = mtlm_dependencies_add(d, writer, &first, READERS);
    assert_int_equal(p.n, READERS);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(p.task[i], i);
    mtlm_dependencies_destroy(d);
    mtlm_graph_destroy(graph);
}

static void test_random_programs_follow_the_definition(void **state)
{
    enum { NODES = 12, TENSORS = 6, CALLS = 150 };

    (void) state;
    srand(1);
    for (int program = 0; program < 20; program++) {
        struct mtlm_graph *graph = mtlm_graph_create();
        struct mtlm_tensor *t[TENSORS];
        struct mtlm_node *x[NODES];
        struct call call[CALLS];

        for (int i = 0; i < TENSORS; i++)
            t[i] = tensor(graph, 1 + rand() % 3);
        t[1]->alias_of = t[0];
        /* Two take turns in the ring of a third. */
        t[3]->pool = t[4]->pool = t[2];
        t[3]->pool_size = t[4]->pool_size = 2;
        t[4]->pool_index = 1;
        for (int i = 0; i < NODES; i++) {
            x[i] = node(graph);
            for (int u = rand() % 4; u >= 0; u--)
                mtlm_node_add_use(x[i], t[rand() % TENSORS], rand() % 3,
                                  rand() % 2);
        }
        for (int i = 0; i < CALLS; i++)
            call[i] = (struct call){x[rand() % NODES], rand() % 5};
        assert_definition(graph, call, CALLS);
        mtlm_graph_destroy(graph);
    }
}

/* Two iterations of a rank's program, the second one shorter. */
static int calls_of(const struct mtlm_program *program, struct call *call)
{
    const int64_t m = program->config.microbatches;
    int n = 0;

    for (int e = 0; e < 2; e++)
        for (int i = 0; i < program->train.n; i++) {
            const struct mtlm_item *item = &program->train.item[i];

            if (e == 0 || item->microbatch < m - 1)
                call[n++] = (struct call){
                    item->node,
                    item->microbatch < 0 ? e : e * m + item->microbatch};
        }
    return n;
}

static void test_programs_of_ranks_follow_the_definition(void **state)
{
    (void) state;
    for (int fused = 0; fused < 2; fused++) {
        struct mtlm_program_config config = small_config(2, 2, 3);
        struct small_ranks ranks;

        config.schedule = small_schedule(fused ? "1f1b" : "zb-h1");
        config.layout.dp = 2;
        config.distributed_optimizer = fused;
        ranks = small_ranks_create(&config);
        for (int r = 0; r < ranks.n; r += 3) {
            const struct mtlm_program *program = ranks.program[r];
            struct call *call =
                mtlm_calloc(2 * program->train.n, sizeof(*call));

            assert_definition(program->graph, call, calls_of(program, call));
            free(call);
        }
        small_ranks_destroy(&ranks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_readers_wait_for_the_writer_and_a_writer_for_readers),
        cmocka_unit_test(test_readers_of_what_nobody_writes_wait_for_nothing),
        cmocka_unit_test(test_passes_do_not_wait_for_a_constant_control),
        cmocka_unit_test(test_policies_learn_the_workers_of_this_rank),
        cmocka_unit_test(
            test_a_writer_of_several_tensors_waits_for_each_reader_once),
        cmocka_unit_test(test_random_programs_follow_the_definition),
        cmocka_unit_test(test_programs_of_ranks_follow_the_definition),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
