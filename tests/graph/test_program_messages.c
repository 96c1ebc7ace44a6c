/* The programs of all ranks, as plain data: what messages, which collectives in
 * which order. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/build/stage.h"
#include "tests/graph/small.h"

/* ---- messages ---- */

struct message {
    int from, to, tag, microbatch;
    struct mtlm_shape shape;
    enum mtlm_phase phase;
    int stages; /* difference of the stages at the two ends */
};

static int gather(const struct mtlm_program *program, int rank,
                  const struct mtlm_items *items, enum mtlm_op_kind kind,
                  struct message *message)
{
    int n = 0;

    for (int i = 0; i < items->n; i++) {
        const struct mtlm_node *node = items->item[i].node;
        const bool send = node->call.kind == MTLM_OP_SEND;
        const int peer = node->call.attr.p2p.peer;

        if (node->call.kind != kind)
            continue;
        message[n++] = (struct message){.from = send ? rank : peer,
                                        .to = send ? peer : rank,
                                        .tag = node->call.attr.p2p.tag,
                                        .microbatch = items->item[i].microbatch,
                                        .shape = node->call.shape[0],
                                        .phase = node->phase};
        assert_in_range(node->call.attr.p2p.tag, 0,
                        mtlm_stage_tags(&program->config)
                                * mtlm_layout_stages(&program->config.layout)
                            - 1);
        assert_int_equal(node->operand[0]->dtype, MTLM_REAL);
    }
    return n;
}

static bool same_message(const struct message *a, const struct message *b)
{
    return a->from == b->from && a->to == b->to && a->tag == b->tag
           && a->microbatch == b->microbatch;
}

static void match(struct small_ranks *ranks, bool eval, int expected)
{
    struct message *send = mtlm_calloc(expected + 1, sizeof(*send));
    struct message *recv = mtlm_calloc(expected + 1, sizeof(*recv));
    int sends = 0, receives = 0;

    for (int r = 0; r < ranks->n; r++) {
        const struct mtlm_program *p = ranks->program[r];
        const struct mtlm_items *items = eval ? &p->eval : &p->train;

        assert_true(sends + small_count(items, MTLM_OP_SEND) <= expected);
        assert_true(receives + small_count(items, MTLM_OP_RECV) <= expected);
        sends += gather(p, r, items, MTLM_OP_SEND, send + sends);
        receives += gather(p, r, items, MTLM_OP_RECV, recv + receives);
    }
    assert_int_equal(sends, expected);
    assert_int_equal(receives, expected);
    for (int i = 0; i < sends; i++) {
        int found = 0;

        for (int j = 0; j < receives; j++)
            if (same_message(&send[i], &recv[j])) {
                assert_true(mtlm_shape_equal(&send[i].shape, &recv[j].shape));
                assert_int_equal(send[i].phase, recv[j].phase);
                found++;
            }
        assert_int_equal(found, 1);
    }
    free(send);
    free(recv);
}

static void check_messages(const struct small_case *c,
                           struct small_ranks *ranks)
{
    const struct mtlm_program *program = ranks->program[0];
    int boundaries = 0;

    for (int k = 0; k < c->pp * c->virtual_stages - 1; k++)
        boundaries += small_parts(c) * c->tp
                      * !small_neighbours(&program->config.layout, k);

    match(ranks, false, 2 * boundaries * c->microbatches);
    match(ranks, true, boundaries * mtlm_program_piece(&program->config));
}

static void test_every_send_has_one_receive(void **state)
{
    (void) state;
    small_for_each_case(check_messages);
}

/* Slots of the longest ring from which or into which messages go. */
static int longest_ring(const struct mtlm_items *items)
{
    int longest = 0;

    for (int i = 0; i < items->n; i++) {
        const struct mtlm_node *node = items->item[i].node;
        const enum mtlm_op_kind kind = node->call.kind;

        if (kind == MTLM_OP_SEND || kind == MTLM_OP_RECV) {
            const int slots =
                mtlm_tensor_slot(node->operand[0], 0).owner->slots;

            longest = slots > longest ? slots : longest;
        }
    }
    return longest;
}

static void check_tags(const struct small_case *c, struct small_ranks *ranks)
{
    (void) c;
    for (int r = 0; r < ranks->n; r++) {
        const struct mtlm_program *program = ranks->program[r];
        const int train = longest_ring(&program->train);
        const int eval = longest_ring(&program->eval);
        const int ring = train > eval ? train : eval;
        const int tags = mtlm_stage_tags(&program->config)
                         * mtlm_layout_stages(&program->config.layout);
        struct mtlm_error err;

        /* As many as any MPI library has. */
        assert_int_equal(mtlm_stage_check_tags(program, 32767, &err), 0);
        assert_int_equal(
            mtlm_stage_tag_microbatches(&program->config, tags - 1), 1);
        assert_int_equal(mtlm_stage_check_tags(program, ring * tags - 1, &err),
                         0);
        if (ring == 0)
            continue;
        assert_int_equal(mtlm_stage_check_tags(program, ring * tags - 2, &err),
                         -1);
        assert_int_equal(err.code, MTLM_EXIT_RESOURCE);
    }
}

static void test_tags_tell_the_microbatches_of_a_ring_apart(void **state)
{
    (void) state;
    small_for_each_case(check_tags);
}

/* ---- collectives ---- */

/* The next all-reduce of items from *i on that is in group; NULL: none. */
static const struct mtlm_item *next_meeting(const struct mtlm_items *items,
                                            int *i, int group)
{
    while (*i < items->n) {
        const struct mtlm_item *item = &items->item[(*i)++];
        const struct mtlm_call *call = &item->node->call;

        if (call->kind == MTLM_OP_ALL_REDUCE
            && (group < 0 || (int) call->attr.collective.group == group))
            return item;
    }
    return NULL;
}

/* group -1: all groups in one order. */
static void same_meetings(const struct mtlm_items *a,
                          const struct mtlm_items *b, int group)
{
    int i = 0, j = 0;

    while (true) {
        const struct mtlm_item *x = next_meeting(a, &i, group);
        const struct mtlm_item *y = next_meeting(b, &j, group);

        assert_true(!x == !y);
        if (!x)
            return;
        assert_int_equal(x->microbatch, y->microbatch);
        assert_int_equal(x->priority, y->priority);
        assert_int_equal(x->node->call.attr.collective.group,
                         y->node->call.attr.collective.group);
        assert_int_equal(x->node->call.attr.collective.reduce,
                         y->node->call.attr.collective.reduce);
        assert_int_equal(x->node->operand[0]->dtype,
                         y->node->operand[0]->dtype);
        assert_true(
            mtlm_shape_equal(&x->node->call.shape[0], &y->node->call.shape[0]));
    }
}

static void check_collectives(const struct small_case *c,
                              struct small_ranks *ranks)
{
    (void) c;
    for (int a = 0; a < ranks->n; a++)
        for (int b = 0; b < ranks->n; b++) {
            const struct mtlm_program *x = ranks->program[a];
            const struct mtlm_program *y = ranks->program[b];
            const struct mtlm_layout *m = &x->config.layout;
            const struct mtlm_layout *n = &y->config.layout;

            /* Ranks of no common pair of groups need no common order. */
            for (int g = 0; g < MTLM_GROUP_COUNT; g++)
                if (mtlm_layout_meet(m, m, g) && mtlm_layout_meet(m, n, g)) {
                    same_meetings(&x->train, &y->train, g);
                    same_meetings(&x->eval, &y->eval, g);
                }
            if (mtlm_layout_meet(m, n, MTLM_GROUP_TP)) {
                same_meetings(&x->train, &y->train, -1);
                same_meetings(&x->eval, &y->eval, -1);
            }
        }
}

static void test_ranks_of_a_group_meet_in_one_order(void **state)
{
    (void) state;
    small_for_each_case(check_collectives);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_send_has_one_receive),
        cmocka_unit_test(test_tags_tell_the_microbatches_of_a_ring_apart),
        cmocka_unit_test(test_ranks_of_a_group_meet_in_one_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
