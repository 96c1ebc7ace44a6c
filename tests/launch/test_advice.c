/* The commands that are advised to a job that does not fit, and the state that
 * goes elsewhere to make it fit. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/predict/lp.h"
#include "launch/plan/advice.h"
#include "launch/plan/layout_choice.h"
#include "launch/plan/offload_choice.h"
#include "runtime/base/memory.h"
#include "runtime/machine/gpu.h"
#include "tests/launch/choice_for.h"
#include "tests/launch/parse.h"

/* The line after the one that begins so, from "mtlm-dag" on; its number of
 * ranks. */
static char *command_after(const char *advice, const char *begin, int *ranks)
{
    const char *line = strstr(advice, begin);
    const char *run;

    assert_non_null(line);
    line = strchr(line, '\n') + 1;
    run = strstr(line, "mtlm-run -n ");
    *ranks = run && run < strchrnul(line, '\n')
                 ? atoi(run + strlen("mtlm-run -n "))
                 : 1;
    run = strstr(line, "mtlm-dag ") + strlen("mtlm-dag ");
    return strndup(run, strcspn(run, "\n"));
}

/* Not every number of machines is tried where graphs are large, yet no number
 * below would do. */
static void test_advice_has_the_fewest_machines_of_many_layers(void **state)
{
    const struct mtlm_hosts one = {
        .ranks = 1, .per_host = 1, .available = 2 * GIB};
    struct mtlm_hosts hosts = one;
    struct mtlm_choice choice;
    struct mtlm_wish wish;
    char *advice, *command;
    int ranks;

    (void) state;
    accepts("--model gpt-tiny --num-layers 2000 --micro-batch-size 1 "
            "--global-batch-size 1 --offload none");
    wish = mtlm_layout_choice_wish(&options, 1);
    advice = mtlm_advice(&options, &wish, &hosts, 1);
    command = command_after(advice, "It fits on ", &ranks);
    assert_true(ranks > 4);
    wish.layout_free = wish.hurry = true;
    for (hosts.ranks = 2; hosts.ranks < ranks; hosts.ranks++)
        assert_false(mtlm_choose(&wish, &hosts, &choice) == 0 && choice.fits);
    accepts(command);
    assert_true(choice_for(ranks, 1, one.available / GIB).fits);
    free(command);
    free(advice);
}

/* A full disk is named with its need. */
static void test_advice_names_a_disk_without_room(void **state)
{
    const char *line = "--model gpt2-124m --micro-batch-size 1 "
                       "--global-batch-size 4 --offload-dir .";
    struct mtlm_hosts hosts = {.ranks = 1, .per_host = 1, .disk = 1e6};
    struct mtlm_choice choice;
    struct mtlm_error err;
    struct mtlm_wish wish;
    char *advice;

    (void) state;
    assert_true(parse(line) >= 0);
    hosts.available = 0.7 * choice_for(1, 1, 1e6).need;
    wish = mtlm_layout_choice_wish(&options, 1);
    assert_int_equal(
        mtlm_offload_choice_make(&options, &wish, &hosts, &choice, NULL, &err),
        0);
    assert_false(choice.fits);
    assert_int_equal(options.offload, MTLM_OFFLOAD_NONE);
    assert_true(hosts.disk_need > 1e8);
    advice = mtlm_advice(&options, &wish, &hosts, 1);
    assert_non_null(strstr(advice, "With its state on a disk it fits here, but "
                                   ". has 0.00 GiB free, and "));
    free(advice);
    /* Gradients must go, too, and memory is below the state. */
    assert_true(parse(line) >= 0);
    hosts.available = 0.42 * choice_for(1, 1, 1e6).need;
    wish = mtlm_layout_choice_wish(&options, 1);
    assert_int_equal(
        mtlm_offload_choice_make(&options, &wish, &hosts, &choice, NULL, &err),
        0);
    assert_true(hosts.disk_need > 1e9);
    hosts.available = 0.7 * choice_for(1, 1, 1e6).need;
    hosts.disk = 1e12;
    assert_true(parse(line) >= 0);
    wish = mtlm_layout_choice_wish(&options, 1);
    assert_int_equal(
        mtlm_offload_choice_make(&options, &wish, &hosts, &choice, NULL, &err),
        0);
    assert_true(choice.fits);
    assert_int_equal(wish.config.offload, options.offload);
    assert_true(options.offload != MTLM_OFFLOAD_NONE);
}

/* Moments on a disk where that is enough, and nobody asked for them yet. */
static void test_advice_names_the_disk(void **state)
{
    const char *line = "--model gpt2-124m --micro-batch-size 1 "
                       "--global-batch-size 4 --recompute-granularity full";
    const char *begin = "With Adam's moments on a disk";
    struct mtlm_hosts hosts = {.ranks = 1, .per_host = 1};
    struct mtlm_wish wish;
    char *advice, *command;
    double gib;
    int ranks;

    (void) state;
    setenv("XDG_CACHE_HOME", ".", 1);
    accepts("--model gpt2-124m --micro-batch-size 1 --global-batch-size 4 "
            "--recompute-granularity full --offload optimizer");
    gib = choice_for(1, 1, 1e6).need / GIB / 2;
    assert_true(parse(line) >= 0);
    gib += choice_for(1, 1, 1e6).need / GIB / 2; /* between the two */
    hosts.available = gib * GIB;
    wish = mtlm_layout_choice_wish(&options, 1);
    assert_false(choice_for(1, 1, gib).fits);
    advice = mtlm_advice(&options, &wish, &hosts, 1);
    command = command_after(advice, begin, &ranks);
    assert_int_equal(ranks, 1);
    accepts(command);
    assert_int_equal(options.offload, MTLM_OFFLOAD_OPTIMIZER);
    assert_true(choice_for(1, 1, gib).fits);
    free(command);
    free(advice);
    /* Too little memory for that, too; and on GPUs. */
    assert_true(parse(line) >= 0);
    for (int gpus = 0; gpus < 2; gpus++) {
        hosts.gpus = gpus;
        hosts.available = gpus ? gib * GIB : 1 * GIB;
        advice = mtlm_advice(&options, &wish, &hosts, 1);
        assert_null(strstr(advice, begin));
        free(advice);
    }
}

/* Both commands, read as a user would type them, fit. */
static void check_advice(const char *line, int per_host, double gib)
{
    const struct mtlm_hosts hosts = {
        .ranks = per_host, .per_host = per_host, .available = gib * GIB};
    struct mtlm_wish wish;
    char *advice, *command;
    int ranks;

    assert_true(parse(line) >= 0);
    wish = mtlm_layout_choice_wish(&options, 1);
    advice = mtlm_advice(&options, &wish, &hosts, per_host);
    command = command_after(advice, "It fits on", &ranks);
    accepts(command);
    assert_int_equal(options.pack_weights, MTLM_PACKING_AUTO);
    assert_int_equal(ranks % per_host, 0);
    assert_true(ranks > per_host);
    assert_int_equal(options.tensor_parallel * options.pipeline_parallel,
                     ranks);
    assert_true(choice_for(ranks, per_host, gib).fits);
    free(command);
    command = command_after(advice, "With fewer layers", &ranks);
    accepts(command);
    assert_int_equal(options.model.num_layers, 4);
    assert_int_equal(options.global_batch_size, 8);
    assert_true(choice_for(ranks, per_host, gib).fits);
    free(command);
    free(advice);
}

static void test_advised_commands_fit(void **state)
{
    (void) state;
    check_advice("--model bert-3.9b", 2, 22);
    check_advice("--model bert-3.9b", 1, 22);
    check_advice("--model gpt2-8.3b", 4, 24);
    check_advice("--model gpt-1.7b --eval-iters 0", 2, 64);
}

/* A plan's picture, ranks and windows belong to the plan's layout. */
static void test_advice_drops_options_of_the_plan(void **state)
{
    (void) state;
    check_advice("--model bert-3.9b --dry-run --svg plan.svg --svg-detail op "
                 "--world-size 2",
                 2, 22);
    check_advice("--model bert-3.9b --pipeline-model-parallel-size 2 "
                 "--stage-windows 2,1+1",
                 2, 22);
    check_advice("--model bert-3.9b --schedule zb-v", 2, 22);
    check_advice("--model bert-3.9b --schedule interleaved", 2, 22);
    check_advice("--model bert-3.9b --bf16 --pack-weights yes", 2, 22);
}

/* Numbers of a plan, which no run has. */
static void test_advice_drops_outputs_of_the_plan(void **state)
{
    char times[] = "/tmp/mtlm-times.XXXXXX", factors[] = "/tmp/mtlm-jit.XXXXXX";
    FILE *file = fdopen(mkstemp(times), "w");
    char *line;

    (void) state;
    assert_non_null(file);
    fputs("[stage 0]\nforward_ms = 10\nbackward_ms = 13\nweight_ms = 8\n",
          file);
    fclose(file);
    file = fdopen(mkstemp(factors), "w");
    assert_non_null(file);
    fputs("iteration,replica,stage,microbatch,pass,factor\n"
          "0,0,0,0,F,2\n0,0,0,0,B,3\n0,0,0,0,W,4\n",
          file);
    fclose(file);
    line = mtlm_sprintf("--model bert-3.9b --dry-run --stage-times %s "
                        "--modes-out m.csv --jitter 0.1 --jitter-file %s %s",
                        times, factors,
                        mtlm_lp_available() ? "--bound lp --bound-out p.json"
                                            : "");
    check_advice(line, 2, 22);
    free(line);
    unlink(factors);
    unlink(times);
}

/* No more layers are recomputed at a time than the model has, and a model of a
 * checkpoint has its layers. */
static void test_advice_of_fewer_layers(void **state)
{
    const struct mtlm_hosts hosts = {
        .ranks = 2, .per_host = 2, .available = 22 * GIB};
    struct mtlm_wish wish;
    char *advice;

    (void) state;
    check_advice("--model bert-3.9b --recompute-granularity full "
                 "--recompute-num-layers 8",
                 2, 22);
    assert_int_equal(options.recompute.num_layers, 4);
    accepts("--model bert-3.9b");
    options.options_path = mtlm_strdup("ck/iter_0000010");
    wish = mtlm_layout_choice_wish(&options, 1);
    advice = mtlm_advice(&options, &wish, &hosts, 2);
    assert_non_null(strstr(advice, "It fits on "));
    assert_null(strstr(advice, "With fewer layers"));
    free(advice);
}

static void test_advice_keeps_what_was_given(void **state)
{
    const struct mtlm_hosts hosts = {
        .ranks = 2, .per_host = 2, .available = 22 * GIB};
    struct mtlm_wish wish;
    char *advice;

    (void) state;
    accepts("--model gpt2-2.5b --eval-iters 3 --log-throughput --split 8,2 "
            "--num-layers 50 --tensor-model-parallel-size 1 "
            "--pipeline-model-parallel-size 2");
    wish = mtlm_layout_choice_wish(&options, 1);
    advice = mtlm_advice(&options, &wish, &hosts, 2);
    assert_non_null(strstr(advice, " mtlm-dag --model gpt2-2.5b --num-layers "
                                   "50 --eval-iters 3 --log-throughput "
                                   "--split 8,2 --tensor-model-parallel-size"));
    assert_non_null(strstr(advice,
                           "\n  mtlm-run -n 2 mtlm-dag --model gpt2-2.5b "
                           "--eval-iters 3 --log-throughput --split 8,2 "
                           "--num-layers 4 --global-batch-size 8 "
                           "--tensor-model-parallel-size 1 "
                           "--pipeline-model-parallel-size 2 "
                           "--micro-batch-size "));
    free(advice);
    accepts_config("split = 8, 2\n", "--model gpt2-2.5b");
    /* As a word of a shell. */
    options.source[MTLM_OPT_SPLIT] = MTLM_SOURCE_COMMAND_LINE;
    wish = mtlm_layout_choice_wish(&options, 1);
    advice = mtlm_advice(&options, &wish, &hosts, 2);
    assert_non_null(strstr(advice, " --split '8, 2' "));
    free(advice);
}

/* --load as the user gave it, not the directory that --pretrained-checkpoint
 * puts in its place. */
static void test_advice_keeps_the_load_of_a_fine_tuning(void **state)
{
    static const char *const load[] = {NULL, "tuned"};
    const struct mtlm_hosts hosts = {
        .ranks = 1, .per_host = 1, .available = 22 * GIB};
    struct mtlm_wish wish;
    char *advice;

    (void) state;
    for (int i = 0; i < 2; i++) {
        accepts("--model bert-3.9b");
        options.load_dir = mtlm_strdup("pre");
        options.load_instead = load[i] ? mtlm_strdup(load[i]) : NULL;
        options.source[MTLM_OPT_LOAD] = MTLM_SOURCE_COMMAND_LINE;
        options.new_head = true;
        wish = mtlm_layout_choice_wish(&options, 1);
        advice = mtlm_advice(&options, &wish, &hosts, 1);
        assert_non_null(strstr(advice, "mtlm-dag --model bert-3.9b "));
        assert_null(strstr(advice, "--load pre"));
        assert_int_equal(strstr(advice, " --load tuned ") != NULL, i);
        free(advice);
    }
}

/* Less than four layers where four do not fit, nothing where not even one
 * does. */
static void test_advice_where_little_fits(void **state)
{
    struct mtlm_hosts hosts = {
        .ranks = 1, .per_host = 1, .available = 14 * GIB};
    struct mtlm_wish wish;
    char *advice;

    (void) state;
    accepts("--model bert-3.9b");
    wish = mtlm_layout_choice_wish(&options, 1);
    advice = mtlm_advice(&options, &wish, &hosts, 1);
    assert_non_null(strstr(advice, " --num-layers 4 "));
    free(advice);
    hosts.available = 5 * GIB;
    advice = mtlm_advice(&options, &wish, &hosts, 1);
    assert_non_null(strstr(advice, "--num-layers"));
    assert_null(strstr(advice, "--num-layers 4"));
    free(advice);
    hosts.available = 0.5 * GIB;
    advice = mtlm_advice(&options, &wish, &hosts, 1);
    assert_non_null(strstr(advice, "No number of machines like this one"));
    assert_null(strstr(advice, "With fewer layers"));
    free(advice);
}

/* Beside GPUs, host memory takes the place of the disk: as much goes there as
 * fits, or the need is named. */
static void test_auto_uses_memory_beside_gpus(void **state)
{
    const char *line = "--model gpt2-124m --micro-batch-size 1 "
                       "--global-batch-size 4 --bf16";
    struct mtlm_hosts hosts = {
        .ranks = 1, .per_host = 1, .gpus = 1, .available = 3 * GIB};
    struct mtlm_choice choice;
    struct mtlm_error err;
    struct mtlm_wish wish;
    char *advice;

    (void) state;
    for (hosts.disk = 1e9; hosts.disk < 1e13; hosts.disk *= 1e3) {
        assert_true(parse(line) >= 0);
        wish = mtlm_layout_choice_wish(&options, 1);
        assert_int_equal(mtlm_offload_choice_make(&options, &wish, &hosts,
                                                  &choice, NULL, &err),
                         0);
        assert_int_equal(choice.fits, hosts.disk > 1e9);
        assert_int_equal(options.offload, hosts.disk > 1e9
                                              ? MTLM_OFFLOAD_OPTIMIZER
                                              : MTLM_OFFLOAD_NONE);
        if (choice.fits)
            continue;
        assert_true(hosts.disk_need > 1e9 + MTLM_GPU_HOST_BYTES
                    && hosts.disk_need < 1.2e9 + MTLM_GPU_HOST_BYTES);
        advice = mtlm_advice(&options, &wish, &hosts, 1);
        assert_non_null(strstr(advice, "With its state in host memory it fits "
                                       "here, but 0.93 GiB of that are "));
        free(advice);
    }
}

/* 8.3 billion parameters of 16 bytes are more than eight times 14 GiB. */
static void test_advice_counts_the_gpus_of_machines(void **state)
{
    const struct mtlm_hosts hosts = {
        .ranks = 8, .per_host = 8, .gpus = 8, .available = 14 * GIB};
    struct mtlm_wish wish;
    char *advice;
    int machines = 0;

    (void) state;
    accepts("--model gpt2-8.3b");
    wish = mtlm_layout_choice_wish(&options, 1);
    advice = mtlm_advice(&options, &wish, &hosts, 8);
    assert_int_equal(
        sscanf(advice, "It fits on %d machines like this one:", &machines), 1);
    assert_in_range(machines, 2, 4);
    free(advice);
}

/* The ranks of two machines do not move to one, which has no memory for all. */
static void test_advice_keeps_the_machines(void **state)
{
    const struct mtlm_hosts hosts = {
        .ranks = 4, .per_host = 2, .available = 22 * GIB};
    struct mtlm_wish wish;
    char *advice;

    (void) state;
    accepts("--model bert-3.9b");
    wish = mtlm_layout_choice_wish(&options, 1);
    advice = mtlm_advice(&options, &wish, &hosts, 4);
    assert_non_null(strstr(advice, "With fewer layers it fits here:\n"
                                   "  mtlm-run -n 4 --hostfile HOSTS "
                                   "--map-by ppr:2:node mtlm-dag --model "
                                   "bert-3.9b --num-layers 4 "));
    assert_null(strstr(advice, "mpirun"));
    free(advice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_advice_has_the_fewest_machines_of_many_layers),
        cmocka_unit_test(test_advice_names_a_disk_without_room),
        cmocka_unit_test(test_advice_names_the_disk),
        cmocka_unit_test(test_advised_commands_fit),
        cmocka_unit_test(test_advice_drops_options_of_the_plan),
        cmocka_unit_test(test_advice_drops_outputs_of_the_plan),
        cmocka_unit_test(test_advice_of_fewer_layers),
        cmocka_unit_test(test_advice_keeps_what_was_given),
        cmocka_unit_test(test_advice_keeps_the_load_of_a_fine_tuning),
        cmocka_unit_test(test_advice_where_little_fits),
        cmocka_unit_test(test_auto_uses_memory_beside_gpus),
        cmocka_unit_test(test_advice_counts_the_gpus_of_machines),
        cmocka_unit_test(test_advice_keeps_the_machines),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
