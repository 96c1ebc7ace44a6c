/* The layout that is chosen for ranks and memory. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/build/ring.h"
#include "graph/predict/choose.h"
#include "graph/predict/forecast.h"
#include "graph/schedule/window.h"
#include "tests/graph/small.h"

static struct mtlm_wish small_wish(void)
{
    return (struct mtlm_wish){.config = small_config(1, 1, 1),
                              .global_batch = 12,
                              .eval_iters = 2,
                              .layout_free = true,
                              .micro_batch_free = true};
}

static struct mtlm_choice choose(const struct mtlm_wish *wish, int ranks,
                                 int per_host, double available)
{
    const struct mtlm_hosts hosts = {
        .ranks = ranks, .per_host = per_host, .available = available};
    struct mtlm_choice choice;

    assert_int_equal(mtlm_choose(wish, &hosts, &choice), 0);
    return choice;
}

static void assert_choice(struct mtlm_choice choice, int tp, int pp, int dp,
                          int micro_batch, bool fits)
{
    assert_int_equal(choice.tp, tp);
    assert_int_equal(choice.pp, pp);
    assert_int_equal(choice.dp, dp);
    assert_int_equal(choice.micro_batch, micro_batch);
    assert_int_equal(choice.fits, fits);
}

/* Where nobody can have a part of the batch: a model so small that a
 * tensor-parallel group would exchange more than it gains. */
static void test_pipeline_first_tensor_parallel_when_layers_run_out(
    void **state)
{
    struct mtlm_wish wish = small_wish(); /* 4 layers, 4 heads */

    (void) state;
    wish.global_batch = wish.config.micro_batch;
    wish.micro_batch_free = false;
    assert_choice(choose(&wish, 1, 1, 1e9), 1, 1, 1, 2, true);
    assert_choice(choose(&wish, 2, 2, 1e9), 1, 2, 1, 2, true);
    assert_choice(choose(&wish, 3, 3, 1e9), 1, 3, 1, 2, true);
    assert_choice(choose(&wish, 4, 4, 1e9), 1, 4, 1, 2, true);
    assert_choice(choose(&wish, 8, 8, 1e9), 2, 4, 1, 2, true);
    assert_choice(choose(&wish, 6, 6, 1e9), 2, 3, 1, 2, true);
    assert_choice(choose(&wish, 16, 4, 1e9), 4, 4, 1, 2, true);
    /* Across machines only when it cannot be otherwise. */
    assert_choice(choose(&wish, 8, 1, 1e9), 2, 4, 1, 2, true);
    assert_choice(choose(&wish, 12, 3, 1e9), 4, 3, 1, 2, true);
}

/* 12 samples in microbatches of 2. */
static void test_ranks_share_the_batch_as_far_as_it_goes(void **state)
{
    struct mtlm_wish wish = small_wish();

    (void) state;
    assert_choice(choose(&wish, 2, 2, 1e9), 1, 1, 2, 2, true);
    assert_choice(choose(&wish, 6, 6, 1e9), 1, 1, 6, 2, true);
    assert_choice(choose(&wish, 12, 12, 1e9), 1, 1, 12, 1, true);
    wish.micro_batch_free = false;
    assert_choice(choose(&wish, 12, 6, 1e9), 1, 2, 6, 2, true);
    assert_choice(choose(&wish, 8, 8, 1e9), 1, 4, 2, 2, true);
    /* Every batch of a ramp-up is shared. */
    wish.config.ramp = (struct mtlm_ramp){4, 4, 100, 12};
    assert_choice(choose(&wish, 6, 6, 1e9), 1, 3, 2, 2, true);
    wish.config.ramp = (struct mtlm_ramp){6, 6, 100, 12};
    assert_choice(choose(&wish, 6, 6, 1e9), 1, 2, 3, 2, true);
    /* Without a batch any number can have one. */
    wish.config.ramp = (struct mtlm_ramp){0};
    wish.global_batch = 0;
    assert_choice(choose(&wish, 7, 7, 1e9), 1, 1, 7, 2, true);
    /* Virtual stages are a pipeline's. */
    wish.global_batch = 12;
    wish.stages.virtual_stages = 2;
    assert_choice(choose(&wish, 6, 6, 1e9), 1, 2, 3, 2, true);
}

/* Returns the most seconds of a rank's data-parallel traffic on the link. */
static double replica_seconds(const struct mtlm_outline *outline,
                              const struct mtlm_link *link)
{
    double most = 0;

    for (int i = 0; i < outline->layout.pp; i++) {
        const struct mtlm_traffic *t =
            &outline->plan[i].traffic[MTLM_TRAFFIC_DP];

        most = fmax(most, t->messages * link->latency_s
                              + t->bytes / link->bytes_per_s);
    }
    return most;
}

/* Two stages of four replicas: hosts of four ranks hold a stage each, hosts of
 * two do not. */
static void test_replicas_of_a_host_exchange_on_it(void **state)
{
    struct mtlm_program_config config = small_config(1, 2, 2);
    struct mtlm_outline outline;
    double on_host, between, more;

    (void) state;
    config.layout.dp = 4;
    outline = mtlm_outline_create(&config, 0);
    on_host = replica_seconds(&outline, &mtlm_cluster_usual.host);
    between = replica_seconds(&outline, &mtlm_cluster_usual.network);
    more = mtlm_forecast(&config, &outline, 2)
           - mtlm_forecast(&config, &outline, 4);
    assert_true(on_host > 0 && between > on_host);
    assert_true(fabs(more - (between - on_host)) < 1e-6 * between);
    mtlm_outline_destroy(&outline);
}

/* Questions of four samples each, two in a microbatch. */
static void test_no_micro_batch_cuts_a_question(void **state)
{
    struct mtlm_wish wish = small_wish();
    struct mtlm_choice choice;

    (void) state;
    wish.config.model.family = MTLM_BERT;
    wish.config.model.num_token_types = 2;
    wish.config.model.head = MTLM_HEAD_CHOICE;
    wish.config.model.classes = 4;
    wish.config.micro_batch = 8;
    wish.global_batch = 8; /* two questions: no work for four replicas */
    assert_false(mtlm_wish_can_share(&wish, 4, 2));
    assert_true(mtlm_wish_can_share(&wish, 2, 4));
    choice = choose(&wish, 4, 4, 1e12);
    assert_true(choice.fits && choice.dp <= 2);
    assert_int_equal(choice.micro_batch % 4, 0);
    /* Where memory is short, a question is the least. */
    wish.global_batch = 16;
    wish.layout_free = false;
    choice = choose(&wish, 1, 1, 0.5 * choose(&wish, 1, 1, 1e12).need);
    assert_false(choice.fits);
    assert_int_equal(choice.micro_batch % 4, 0);
}

/* A replica of the model for each rank, or the ranks that it takes. */
static void test_memory_decides_how_many_replicas_there_are(void **state)
{
    struct mtlm_wish wish = small_wish();
    struct mtlm_choice replicas, two, one;

    (void) state;
    wish.global_batch = 128; /* enough for a sum of gradients to be cheap */
    wish.config.model.vocab_size = 60000;
    wish.config.model.hidden_size = 256;
    wish.layout_free = false;
    replicas = choose(&wish, 4, 4, 1e12);
    wish.config.layout.pp = 2;
    two = choose(&wish, 4, 4, 1e12);
    wish.config.layout.pp = 1;
    wish.config.layout.tp = 4;
    one = choose(&wish, 4, 4, 1e12);
    assert_int_equal(replicas.dp, 4);
    assert_int_equal(two.dp, 2);
    assert_int_equal(one.dp, 1);
    assert_true(one.need < 0.5 * replicas.need);
    wish.layout_free = true;
    assert_choice(choose(&wish, 4, 4, 1.06 * replicas.need), 1, 1, 4, 2, true);
    assert_int_equal(choose(&wish, 4, 4, 0.99 * replicas.need).dp, 2);
    assert_int_equal(choose(&wish, 4, 4, 1.06 * one.need).dp, 1);
}

static double need(const struct mtlm_wish *wish, int tp, int pp, int micro)
{
    const struct mtlm_program_config config =
        mtlm_wish_config(wish, tp, pp, 1, micro);
    struct mtlm_outline outline = mtlm_outline_create(&config, 0);
    const double bytes = mtlm_outline_host_bytes(&outline, tp * pp);

    mtlm_outline_destroy(&outline);
    return bytes;
}

/* The work of a sample is large enough for ranks to share a layer. */
static struct mtlm_wish large_wish(void)
{
    struct mtlm_wish wish = small_wish();

    wish.config.model.hidden_size = 512;
    wish.config.model.ffn_hidden_size = 2048;
    wish.config.model.seq_length = wish.config.model.max_positions = 256;
    wish.micro_batch_free = false;
    return wish;
}

/* Where the work is large enough, ranks that share each layer beat a pipeline
 * with too few microbatches, and lose against one with many where machines
 * are far apart. */
static void test_few_microbatches_are_no_work_for_a_pipeline(void **state)
{
    struct mtlm_wish wish = large_wish();
    struct mtlm_choice choice;

    (void) state;
    wish.config.micro_batch = 1;
    wish.global_batch = 1;
    choice = choose(&wish, 2, 2, 1e12);
    assert_choice(choice, 2, 1, 1, 1, true);
    assert_true(choice.seconds > 0);
    wish.global_batch = 33;
    assert_choice(choose(&wish, 2, 1, 1e12), 1, 2, 1, 1, true);
}

/* Without a global batch, two replicas take twice the samples of two ranks that
 * share each layer, in less than twice the time. */
static void test_layouts_are_compared_by_the_time_of_a_sample(void **state)
{
    struct mtlm_wish wish = large_wish();
    struct mtlm_choice choice;

    (void) state;
    wish.config.micro_batch = 16;
    wish.global_batch = 0;
    choice = choose(&wish, 2, 2, 1e12);
    assert_choice(choice, 1, 1, 2, 16, true);
    assert_int_equal(choice.samples, 32);
}

static void test_memory_decides_on_micro_batch_and_layout(void **state)
{
    struct mtlm_wish wish = small_wish();
    double two, one, split_two, split;

    (void) state;
    wish.global_batch = 2; /* three ranks cannot share it */
    wish.config.model.num_heads = 3;
    wish.config.model.hidden_size = 192;
    wish.config.model.ffn_hidden_size = 768;
    wish.config.model.seq_length = wish.config.model.max_positions = 512;
    wish.config.model.vocab_size = 60000; /* the last stage has a copy */
    two = need(&wish, 1, 3, 2);
    one = need(&wish, 1, 3, 1);
    split_two = need(&wish, 3, 1, 2);
    split = need(&wish, 3, 1, 1);
    assert_true(split < 0.95 * one && one < 0.9 * two);
    /* A pipeline has little to do with a microbatch or two. */
    assert_choice(choose(&wish, 3, 3, 1.06 * split_two), 3, 1, 1, 2, true);
    assert_choice(choose(&wish, 3, 3, 1.06 * split), 3, 1, 1, 1, true);
    /* Where the layout is given, the micro batch is left to choose. */
    wish.layout_free = false;
    wish.config.layout.pp = 3;
    assert_choice(choose(&wish, 3, 3, 1.06 * two), 1, 3, 1, 2, true);
    assert_choice(choose(&wish, 3, 3, 1.06 * one), 1, 3, 1, 1, true);
    wish.layout_free = true;
    /* It takes the one that needs least, to say what is missing. */
    assert_choice(choose(&wish, 3, 3, 0.9 * split), 3, 1, 1, 1, false);
    assert_true(choose(&wish, 3, 3, 0.9 * split).need == split);
    /* What is given stays. */
    wish.micro_batch_free = false;
    assert_int_equal(choose(&wish, 3, 3, 0.9 * split).micro_batch, 2);
    wish.layout_free = false;
    wish.config.layout.tp = 1;
    wish.config.layout.pp = 3;
    assert_choice(choose(&wish, 3, 3, 1.06 * split), 1, 3, 1, 2, false);
    assert_true(choose(&wish, 3, 3, 1.06 * split).need == two);
}

/* Slots of the first stage by a choice. */
static int slots(const struct mtlm_wish *wish, struct mtlm_choice choice)
{
    struct mtlm_wish chosen = *wish;
    struct mtlm_program_config config;
    struct mtlm_window *window;
    int w;

    chosen.config.window = choice.window;
    config = mtlm_choice_config(&chosen, &choice);
    window = mtlm_ring_windows(&config);
    w = window[0].w;
    free(window);
    return w;
}

static void test_all_reduces_get_a_microbatch_to_hide_under(void **state)
{
    struct mtlm_wish wish = small_wish();
    double wide, narrow;

    (void) state;
    wish.layout_free = wish.micro_batch_free = false;
    wish.window_free = true;
    wish.config.window = 1.5;
    for (int pp = 1; pp <= 2; pp++) {
        wish.config.layout.pp = pp;
        wish.config.layout.tp = 1;
        assert_int_equal(slots(&wish, choose(&wish, pp, 4, 1e12)), pp);
        wish.config.layout.tp = 2;
        assert_int_equal(slots(&wish, choose(&wish, 2 * pp, 4, 1e12)), pp + 1);
    }
    wide = choose(&wish, 4, 4, 1e12).need;
    /* Not where it does not fit, though the rest does. */
    assert_int_equal(slots(&wish, choose(&wish, 4, 4, 1.04 * wide)), 2);
    assert_int_equal(slots(&wish, choose(&wish, 4, 4, 1.06 * wide)), 3);
    /* What is asked for stays as it is. */
    wish.window_free = false;
    assert_int_equal(slots(&wish, choose(&wish, 4, 4, 1e12)), 2);
    narrow = choose(&wish, 4, 4, 1e12).need;
    assert_true(narrow < wide && 1.05 * narrow < 1.04 * wide);
    wish.window_free = true;
    wish.config.schedule = mtlm_schedule_find("1f1b");
    assert_int_equal(slots(&wish, choose(&wish, 4, 4, 1e12)), 2);
}

static void test_a_gpu_gets_a_microbatch_to_fill_gaps(void **state)
{
    struct mtlm_hosts hosts = {.per_host = 1, .gpus = 1, .available = 1e12};
    struct mtlm_wish wish = small_wish();
    struct mtlm_choice choice;

    (void) state;
    wish.layout_free = wish.micro_batch_free = false;
    wish.window_free = true;
    wish.config.window = 1.5;
    for (int pp = 1; pp <= 2; pp++) {
        wish.config.layout.pp = hosts.ranks = pp;
        assert_int_equal(mtlm_choose(&wish, &hosts, &choice), 0);
        assert_int_equal(slots(&wish, choice), pp + 1);
    }
    /* Not where the second one does not fit. */
    hosts.available = 1.04 * choice.need;
    assert_int_equal(mtlm_choose(&wish, &hosts, &choice), 0);
    assert_int_equal(slots(&wish, choice), 2);
    assert_true(choice.fits);
}

static void test_some_numbers_of_ranks_cannot_share_a_model(void **state)
{
    const struct mtlm_wish wish = small_wish();
    struct mtlm_choice choice;

    (void) state;
    for (int ranks = 5; ranks <= 11; ranks += ranks == 5 ? 2 : 4) {
        const struct mtlm_hosts hosts = {
            .ranks = ranks, .per_host = ranks, .available = 1e9};

        assert_int_equal(mtlm_choose(&wish, &hosts, &choice), -1);
    }
    assert_true(mtlm_choose_possible(&wish, 8, 2));
    assert_false(mtlm_choose_possible(&wish, 8, 1));
    assert_false(mtlm_choose_possible(&wish, 9, 3));
}

/* Without trying to describe it. */
static void test_what_is_far_too_large_is_not_worked_out(void **state)
{
    struct mtlm_wish wish = small_wish();
    struct mtlm_choice choice;

    (void) state;
    wish.config.model.num_layers = 32768;
    wish.config.model.hidden_size = wish.config.model.ffn_hidden_size = 1 << 20;
    choice = choose(&wish, 1, 1, 1e9);
    assert_true(choice.least && !choice.fits);
    assert_true(choice.need > 1e18);
    wish = small_wish();
    wish.global_batch = (int64_t) 1 << 40;
    assert_true(isinf(choose(&wish, 1, 1, 1e9).need));
}

/* In a hurry, what a rank lacks is known before the other ranks' graphs. */
static void test_a_hurry_plans_no_rank_beside_one_that_does_not_fit(
    void **state)
{
    struct mtlm_wish wish = small_wish();
    double need;

    (void) state;
    wish.hurry = true;
    need = choose(&wish, 1, 1, 1e9).need;
    assert_true(choose(&wish, 1, 1, 1.06 * need).fits);
    assert_false(choose(&wish, 1, 1, 1.06 * need).least);
    assert_false(choose(&wish, 1, 1, 1.04 * need).fits); /* no margin */
    assert_true(choose(&wish, 1, 1, 1.04 * need).least);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_pipeline_first_tensor_parallel_when_layers_run_out),
        cmocka_unit_test(test_ranks_share_the_batch_as_far_as_it_goes),
        cmocka_unit_test(test_replicas_of_a_host_exchange_on_it),
        cmocka_unit_test(test_no_micro_batch_cuts_a_question),
        cmocka_unit_test(test_memory_decides_how_many_replicas_there_are),
        cmocka_unit_test(test_few_microbatches_are_no_work_for_a_pipeline),
        cmocka_unit_test(test_layouts_are_compared_by_the_time_of_a_sample),
        cmocka_unit_test(test_memory_decides_on_micro_batch_and_layout),
        cmocka_unit_test(test_all_reduces_get_a_microbatch_to_hide_under),
        cmocka_unit_test(test_a_gpu_gets_a_microbatch_to_fill_gaps),
        cmocka_unit_test(test_some_numbers_of_ranks_cannot_share_a_model),
        cmocka_unit_test(test_what_is_far_too_large_is_not_worked_out),
        cmocka_unit_test(
            test_a_hurry_plans_no_rank_beside_one_that_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
