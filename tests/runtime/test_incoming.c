/* Receives found by peer and tag: which are kept, and for how long a chain the
 * table makes. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/comm/incoming.h"

enum { PEERS = 3, TAGS = 2000 };

static struct mtlm_policy_node nodes[PEERS][TAGS];

/* Posts a receive for each peer and for each tag. */
static void post_all(struct mtlm_incoming_table *t, int stride)
{
    for (int tag = 0; tag < TAGS; tag++)
        for (int peer = 0; peer < PEERS; peer++) {
            struct mtlm_incoming *in =
                mtlm_incoming_find(t, peer, tag * stride);

            assert_null(in->node);
            assert_int_equal(in->when_ns, 0);
            in->node = &nodes[peer][tag];
        }
}

static int longest_chain(const struct mtlm_incoming_table *t)
{
    int longest = 0;

    for (int i = 0; i < 1 << t->bits; i++) {
        int n = 0;

        for (const struct mtlm_incoming *in = t->chain[i]; in; in = in->next)
            n++;
        longest = n > longest ? n : longest;
    }
    return longest;
}

static void test_each_receive_is_found_until_it_ends(void **state)
{
    struct mtlm_incoming_table t = {0};

    (void) state;
    mtlm_incoming_end(&t, 0, 0, NULL); /* nothing happens */
    post_all(&t, 1);
    assert_int_equal(t.n, PEERS * TAGS);
    for (int tag = 0; tag < TAGS; tag++)
        for (int peer = 0; peer < PEERS; peer++) {
            assert_ptr_equal(mtlm_incoming_find(&t, peer, tag)->node,
                             &nodes[peer][tag]);
            mtlm_incoming_end(&t, peer, tag, &nodes[peer][tag]);
        }
    assert_int_equal(t.n, 0);
    assert_null(mtlm_incoming_find(&t, 1, 7)->node);
    mtlm_incoming_clear(&t);
    assert_null(t.chain);
}

/* Tags of neighbours, and tags that differ in high bits alone. */
static void test_chains_stay_short(void **state)
{
    (void) state;
    for (int bits = 0; bits <= 20; bits++) {
        struct mtlm_incoming_table t = {0};

        post_all(&t, 1 << bits);
        assert_true(longest_chain(&t) <= 16);
        mtlm_incoming_clear(&t);
    }
}

/* A tag may be posted again before the former message has ended. */
static void test_the_end_of_another_node_forgets_nothing(void **state)
{
    struct mtlm_incoming_table t = {0};

    (void) state;
    mtlm_incoming_find(&t, 0, 5)->node = &nodes[0][1];
    mtlm_incoming_end(&t, 0, 5, &nodes[0][0]);
    assert_ptr_equal(mtlm_incoming_find(&t, 0, 5)->node, &nodes[0][1]);
    mtlm_incoming_end(&t, 0, 6, &nodes[0][0]);
    assert_int_equal(t.n, 1);
    mtlm_incoming_clear(&t);
}

/* Announcements whose messages never come fill no memory.  Those of messages
 * to come stay, and receives with a node, however late. */
static void test_late_announcements_are_forgotten(void **state)
{
    struct mtlm_incoming_table t = {0};
    struct mtlm_incoming *posted = mtlm_incoming_find(&t, 0, 0), *early;

    (void) state;
    posted->node = &nodes[0][0];
    posted->when_ns = INT64_MIN;
    early = mtlm_incoming_find(&t, 0, 1);
    early->when_ns = INT64_MAX;
    for (int tag = 2; tag < TAGS; tag++)
        mtlm_incoming_find(&t, 0, tag)->when_ns = INT64_MIN;
    assert_true(t.n < TAGS / 10);
    assert_ptr_equal(mtlm_incoming_find(&t, 0, 0), posted);
    assert_ptr_equal(mtlm_incoming_find(&t, 0, 1), early);
    mtlm_incoming_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_receive_is_found_until_it_ends),
        cmocka_unit_test(test_chains_stay_short),
        cmocka_unit_test(test_the_end_of_another_node_forgets_nothing),
        cmocka_unit_test(test_late_announcements_are_forgotten)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
