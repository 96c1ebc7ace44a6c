/* Reverse-mode differentiation of small graphs that no model of ours has. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph/build/backward.h"

enum { ROWS = 3, WIDTH = 8 };

struct scene {
    struct mtlm_graph *graph;
    struct mtlm_list forward, backward, weight;
};

static struct scene scene_create(void)
{
    return (struct scene){.graph = mtlm_graph_create()};
}

static void scene_destroy(struct scene *scene)
{
    mtlm_list_free(&scene->forward);
    mtlm_list_free(&scene->backward);
    mtlm_list_free(&scene->weight);
    mtlm_graph_destroy(scene->graph);
}

static struct mtlm_tensor *tensor(struct scene *scene,
                                  enum mtlm_storage storage, const char *name)
{
    const bool row = storage == MTLM_STORE_ACTIVATION;

    return mtlm_graph_tensor(
        scene->graph, storage, name,
        row ? MTLM_SHAPE(ROWS, 1, WIDTH) : MTLM_SHAPE(WIDTH, WIDTH), MTLM_REAL);
}

/* x times a new weight. */
static struct mtlm_tensor *linear(struct scene *scene, struct mtlm_tensor *x)
{
    struct mtlm_tensor *w = tensor(scene, MTLM_STORE_PARAM, "w");

    mtlm_graph_at(scene->graph, &scene->forward, MTLM_PHASE_FORWARD, 2, 7);
    w->grad = tensor(scene, MTLM_STORE_GRAD, "dw");
    return mtlm_graph_call(scene->graph, MTLM_OP_LINEAR_FWD, NULL,
                           (struct mtlm_tensor *[]){x, w, NULL})
        ->operand[2];
}

static void give_gradient(struct scene *scene, struct mtlm_tensor *y)
{
    y->grad = tensor(scene, MTLM_STORE_ACTIVATION, "dy");
}

static void assert_kinds(const struct mtlm_list *list,
                         const enum mtlm_op_kind kind[], int n)
{
    assert_int_equal(list->n, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(list->node[i]->call.kind, kind[i]);
}

/* y goes into two products: the second gradient is added to the first one. */
static void test_gradients_of_two_users_are_added(void **state)
{
    static const enum mtlm_op_kind b[] = {
        MTLM_OP_LINEAR_DGRAD, MTLM_OP_LINEAR_DGRAD_ADD, MTLM_OP_LINEAR_DGRAD};
    static const enum mtlm_op_kind w[] = {
        MTLM_OP_LINEAR_WGRAD, MTLM_OP_LINEAR_WGRAD, MTLM_OP_LINEAR_WGRAD};
    struct scene s = scene_create();
    struct mtlm_tensor *x = tensor(&s, MTLM_STORE_ACTIVATION, "x");
    struct mtlm_tensor *y = linear(&s, x);
    struct mtlm_tensor *z = linear(&s, y), *u = linear(&s, y);

    (void) state;
    give_gradient(&s, z);
    give_gradient(&s, u);
    mtlm_backward_build(s.graph, &s.forward, NULL, &s.backward, &s.weight,
                        false);
    assert_kinds(&s.backward, b, 3);
    assert_kinds(&s.weight, w, 3);
    /* The later user's comes first; the earlier one's is added to it. */
    assert_ptr_equal(s.backward.node[0]->operand[0], u->grad);
    assert_ptr_equal(s.backward.node[0]->operand[2], y->grad);
    assert_ptr_equal(s.backward.node[1]->operand[0], z->grad);
    assert_ptr_equal(s.backward.node[1]->operand[2], y->grad);
    assert_ptr_equal(s.backward.node[2]->operand[0], y->grad);
    assert_ptr_equal(s.backward.node[2]->operand[2], x->grad);
    scene_destroy(&s);
}

/* gelu(x + bias), whose gradient rule cannot add. */
static struct mtlm_tensor *gelu(struct scene *scene, struct mtlm_tensor *x)
{
    struct mtlm_tensor *bias = mtlm_graph_tensor(
        scene->graph, MTLM_STORE_PARAM, "bias", MTLM_SHAPE(WIDTH), MTLM_REAL);

    mtlm_graph_at(scene->graph, &scene->forward, MTLM_PHASE_FORWARD, 2, 7);
    bias->grad = mtlm_graph_tensor(scene->graph, MTLM_STORE_GRAD, "dbias",
                                   MTLM_SHAPE(WIDTH), MTLM_REAL);
    return mtlm_graph_call(scene->graph, MTLM_OP_BIAS_GELU_FWD, NULL,
                           (struct mtlm_tensor *[]){x, bias, NULL})
        ->operand[2];
}

static void test_what_a_rule_cannot_add_takes_a_node_of_its_own(void **state)
{
    static const enum mtlm_op_kind b[] = {MTLM_OP_BIAS_GELU_BWD,
                                          MTLM_OP_BIAS_GELU_BWD, MTLM_OP_ADD,
                                          MTLM_OP_LINEAR_DGRAD};
    struct scene s = scene_create();
    struct mtlm_tensor *x = tensor(&s, MTLM_STORE_ACTIVATION, "x");
    struct mtlm_tensor *y = linear(&s, x);
    struct mtlm_tensor *z = gelu(&s, y), *u = gelu(&s, y);
    const struct mtlm_node *add;

    (void) state;
    give_gradient(&s, z);
    give_gradient(&s, u);
    mtlm_backward_build(s.graph, &s.forward, NULL, &s.backward, &s.weight,
                        false);
    assert_kinds(&s.backward, b, 4);
    add = s.backward.node[2];
    assert_ptr_equal(add->operand[0], s.backward.node[1]->operand[3]);
    assert_ptr_equal(add->operand[1], s.backward.node[0]->operand[3]);
    assert_ptr_equal(add->operand[1], y->grad);
    assert_ptr_equal(s.backward.node[3]->operand[0], y->grad);
    scene_destroy(&s);
}

static void test_what_no_gradient_reaches_is_left_out(void **state)
{
    static const enum mtlm_op_kind b[] = {MTLM_OP_LINEAR_DGRAD,
                                          MTLM_OP_LINEAR_DGRAD};
    struct scene s = scene_create();
    struct mtlm_tensor *x = tensor(&s, MTLM_STORE_ACTIVATION, "x");
    struct mtlm_tensor *y = linear(&s, x);
    struct mtlm_tensor *z = linear(&s, y), *unused = linear(&s, y);

    (void) state;
    give_gradient(&s, z);
    mtlm_backward_build(s.graph, &s.forward, NULL, &s.backward, &s.weight,
                        false);
    assert_kinds(&s.backward, b, 2);
    assert_int_equal(s.weight.n, 2);
    assert_null(unused->grad);
    scene_destroy(&s);
}

static void test_gradients_belong_where_their_forward_node_does(void **state)
{
    struct scene s = scene_create();
    struct mtlm_tensor *x = tensor(&s, MTLM_STORE_ACTIVATION, "x");
    struct mtlm_tensor *y = linear(&s, x);

    (void) state;
    give_gradient(&s, y);
    mtlm_backward_build(s.graph, &s.forward, NULL, &s.backward, &s.weight,
                        false);
    assert_int_equal(s.backward.n, 1);
    assert_int_equal(s.backward.node[0]->phase, MTLM_PHASE_BACKWARD);
    assert_int_equal(s.backward.node[0]->stage, 2);
    assert_int_equal(s.backward.node[0]->layer, 7);
    assert_int_equal(s.weight.n, 1);
    assert_int_equal(s.weight.node[0]->phase, MTLM_PHASE_WEIGHT);
    assert_int_equal(s.weight.node[0]->stage, 2);
    assert_int_equal(s.weight.node[0]->layer, 7);
    /* x waits for W, which reads it last. */
    assert_int_equal(x->last_use, MTLM_PHASE_WEIGHT);
    scene_destroy(&s);
}

/* Megatron's f: the same tensor forward, the sum of gradients backward. */
static void test_a_copy_to_the_group_reduces_its_gradient(void **state)
{
    static const enum mtlm_op_kind b[] = {
        MTLM_OP_LINEAR_DGRAD, MTLM_OP_ALL_REDUCE, MTLM_OP_LINEAR_DGRAD};
    static const union mtlm_attr attr = {
        .collective = {MTLM_GROUP_TP, MTLM_REDUCE_SUM}};
    struct scene s = scene_create();
    struct mtlm_tensor *x = tensor(&s, MTLM_STORE_ACTIVATION, "x");
    struct mtlm_tensor *y = linear(&s, x), *z;
    struct mtlm_node *copy;

    (void) state;
    copy = mtlm_graph_call(s.graph, MTLM_OP_TP_COPY, &attr,
                           (struct mtlm_tensor *[]){y, NULL});
    z = linear(&s, copy->operand[1]);
    give_gradient(&s, z);
    mtlm_backward_build(s.graph, &s.forward, NULL, &s.backward, &s.weight,
                        false);
    assert_kinds(&s.backward, b, 3);
    assert_ptr_equal(s.backward.node[1]->operand[0],
                     s.backward.node[0]->operand[2]);
    assert_int_equal(s.backward.node[1]->call.attr.collective.group,
                     MTLM_GROUP_TP);
    assert_int_equal(s.backward.node[1]->lane, MTLM_LANE_TP);
    assert_ptr_equal(s.backward.node[2]->operand[0], y->grad);
    scene_destroy(&s);
}

static struct mtlm_tensor *attend(struct scene *scene,
                                  struct mtlm_tensor *const qkv[2],
                                  struct mtlm_tensor *lengths)
{
    const union mtlm_attr attr = {.attention = {.heads = 1,
                                                .causal = true,
                                                .first_query = ROWS,
                                                .seq_length = 2 * ROWS,
                                                .coefficient = 1}};
    struct mtlm_tensor *y, *lse;
    struct mtlm_node *own;

    mtlm_graph_at(scene->graph, &scene->forward, MTLM_PHASE_FORWARD, 0, 0);
    own = mtlm_graph_call(
        scene->graph, MTLM_OP_ATTENTION_FWD, &attr,
        (struct mtlm_tensor *[MTLM_MAX_OPERANDS]){qkv[1], lengths});
    y = own->operand[2], lse = own->operand[3];
    mtlm_graph_call(scene->graph, MTLM_OP_ATTENTION_MORE_FWD, &attr,
                    (struct mtlm_tensor *[MTLM_MAX_OPERANDS]){qkv[1], qkv[0],
                                                              lengths, y, lse});
    return y;
}

/* Several nodes add to one gradient: the first one finds zeros. */
static void test_accumulated_gradients_begin_with_zeros(void **state)
{
    static const enum mtlm_op_kind b[] = {MTLM_OP_FILL, MTLM_OP_FILL,
                                          MTLM_OP_ATTENTION_MORE_BWD,
                                          MTLM_OP_ATTENTION_BWD_ADD};
    struct scene s = scene_create();
    struct mtlm_tensor *qkv[2], *lengths, *y;

    (void) state;
    for (int i = 0; i < 2; i++)
        qkv[i] = mtlm_graph_tensor(s.graph, MTLM_STORE_ACTIVATION, "qkv",
                                   MTLM_SHAPE(ROWS, 1, 3 * WIDTH), MTLM_REAL);
    lengths = mtlm_graph_tensor(s.graph, MTLM_STORE_ACTIVATION, "lengths",
                                MTLM_SHAPE(1, 1), MTLM_I32);
    y = attend(&s, qkv, lengths);
    give_gradient(&s, y);
    mtlm_backward_build(s.graph, &s.forward, NULL, &s.backward, &s.weight,
                        false);
    assert_kinds(&s.backward, b, 4);
    assert_ptr_equal(s.backward.node[0]->operand[0], qkv[1]->grad);
    assert_ptr_equal(s.backward.node[1]->operand[0], qkv[0]->grad);
    assert_true(s.backward.node[0]->call.attr.fill.std == 0);
    scene_destroy(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_of_two_users_are_added),
        cmocka_unit_test(test_what_a_rule_cannot_add_takes_a_node_of_its_own),
        cmocka_unit_test(test_what_no_gradient_reaches_is_left_out),
        cmocka_unit_test(test_gradients_belong_where_their_forward_node_does),
        cmocka_unit_test(test_accumulated_gradients_begin_with_zeros),
        cmocka_unit_test(test_a_copy_to_the_group_reduces_its_gradient),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
