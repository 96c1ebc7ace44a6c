/* Durations of messages, against the formulas of the header. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph/predict/message_cost.h"

static void near(double have, double want, double tolerance)
{
    if (fabs(have - want) > tolerance * fabs(want))
        fail_msg("%.9g, not %.9g", have, want);
}

static double reduce(const struct mtlm_cluster *c, int ranks, int hosts,
                     double bytes)
{
    const struct mtlm_message_group group = {ranks, hosts, 1};

    return mtlm_message_cost_all_reduce(c, &group, bytes);
}

static double gather(const struct mtlm_cluster *c, int ranks, int hosts,
                     double bytes)
{
    const struct mtlm_message_group group = {ranks, hosts, 1};

    return mtlm_message_cost_gather(c, &group, bytes);
}

static void test_collectives_take_what_the_formulas_say(void **state)
{
    const struct mtlm_cluster c = {.host = {1e-6, 1e9}, .network = {5e-6, 1e8}};

    (void) state;
    /* Long: a ring, 2 (n - 1) a + 2 (n - 1) / n N / b. */
    near(reduce(&c, 4, 1, 4e6), 6e-6 + 6e-3, 1e-12);
    /* Short: a tree, 2 ceil(log2 n) a + 2 N / b. */
    near(reduce(&c, 8, 1, 8), 6e-6 + 16e-9, 1e-12);
    near(reduce(&c, 5, 1, 8), 6e-6 + 16e-9, 1e-12);
    assert_true(reduce(&c, 1, 1, 8) == 0);
    near(gather(&c, 4, 1, 4e6), 3e-6 + 3e-3, 1e-12);
    /* Two hosts of 4: among 4, then 1e6 bytes between 2, then among 4. */
    near(reduce(&c, 8, 2, 4e6), 2 * (3e-6 + 3e-3) + 2 * (5e-6 + 5e-3), 1e-12);
    near(gather(&c, 8, 2, 4e6), 3e-6 + 3e-3 + 5e-6 + 5e-3, 1e-12);
    /* One rank on each host, or hosts of unequal shares: over the network. */
    near(gather(&c, 2, 2, 4e6), 5e-6 + 2e-2, 1e-12);
    near(gather(&c, 3, 2, 3e6), 10e-6 + 2e-2, 1e-12);
}

/* Collectives between hosts have their own rate, and a share of that where
 * several groups have several ranks on a host. */
static void test_collectives_between_hosts_have_rates_of_their_own(void **state)
{
    const struct mtlm_cluster c = {.host = {0, 1e9},
                                   .network = {0, 1e8},
                                   .collective_bytes_per_s = 5e7,
                                   .shared_rate = 0.25};
    const struct mtlm_message_group alone = {2, 2, 8}, pairs = {4, 2, 2};

    (void) state;
    near(mtlm_message_cost_gather(&c, &alone, 4e6), 2e6 / 5e7, 1e-12);
    near(mtlm_message_cost_send(&c, 0, 1, 4e6), 4e6 / 1e9, 1e-12);
    /* 2e6 bytes on the host, then 1e6 between the two hosts. */
    near(mtlm_message_cost_gather(&c, &pairs, 4e6),
         2e6 / 1e9 + 1e6 / (0.25 * 5e7), 1e-12);
    near(reduce(&c, 4, 2, 4e6), 2 * (2e6 / 1e9 + 1e6 / 5e7), 1e-12);
}

/* 2 x 2 x 4 ranks on hosts of 8. */
static void test_groups_count_their_hosts(void **state)
{
    const struct mtlm_cluster c = {.devices = 8};
    const struct {
        enum mtlm_group group;
        int ranks, hosts, per_host;
    } cases[] = {{MTLM_GROUP_TP, 2, 1, 4},
                 {MTLM_GROUP_DP, 4, 1, 2},
                 {MTLM_GROUP_WORLD, 16, 2, 1}};
    const struct mtlm_layout layout = {
        .tp = 2, .pp = 2, .dp = 4, .virtual_stages = 1, .pp_rank = 1};
    const struct mtlm_layout wide = {
        .tp = 2, .pp = 1, .dp = 32, .virtual_stages = 1};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct mtlm_message_group g =
            mtlm_message_cost_group(&c, &layout, cases[i].group);

        assert_int_equal(g.ranks, cases[i].ranks);
        assert_int_equal(g.hosts, cases[i].hosts);
        assert_int_equal(g.per_host, cases[i].per_host);
    }
    /* 8 hosts hold 4 of a group's 32 ranks each, and 2 groups. */
    assert_int_equal(mtlm_message_cost_group(&c, &wide, MTLM_GROUP_DP).hosts,
                     8);
    assert_int_equal(mtlm_message_cost_group(&c, &wide, MTLM_GROUP_DP).per_host,
                     2);
}

/* 8 + 4 ranks, 3 + 1, and a group of 6 from rank 6 on with 2 + 4: each rank
 * counts as on a host of its own. */
static void test_unequal_hosts_hold_one_rank_each(void **state)
{
    static const struct {
        int devices, tp, dp, rank;
        enum mtlm_group group;
    } cases[] = {{8, 1, 12, 0, MTLM_GROUP_DP},
                 {3, 1, 4, 0, MTLM_GROUP_DP},
                 {8, 6, 4, 6, MTLM_GROUP_TP}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct mtlm_cluster c = {.devices = cases[i].devices,
                                       .host = {1e-6, 1e9},
                                       .network = {5e-6, 1e8}};
        struct mtlm_layout layout = {
            .tp = cases[i].tp, .pp = 1, .dp = cases[i].dp, .virtual_stages = 1};
        struct mtlm_message_group g;
        int n;

        mtlm_layout_place(&layout, cases[i].rank);
        g = mtlm_message_cost_group(&c, &layout, cases[i].group);
        n = g.ranks;
        assert_int_equal(g.hosts, n);
        near(mtlm_message_cost_gather(&c, &g, 4e6),
             (n - 1) * 5e-6 + 4e-2 * (n - 1) / n, 1e-12);
    }
    /* The first six ranks share a host. */
    assert_int_equal(mtlm_message_cost_group(
                         &(struct mtlm_cluster){.devices = 8},
                         &(struct mtlm_layout){
                             .tp = 6, .pp = 1, .dp = 4, .virtual_stages = 1},
                         MTLM_GROUP_TP)
                         .hosts,
                     1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives_take_what_the_formulas_say),
        cmocka_unit_test(
            test_collectives_between_hosts_have_rates_of_their_own),
        cmocka_unit_test(test_groups_count_their_hosts),
        cmocka_unit_test(test_unequal_hosts_hold_one_rank_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
