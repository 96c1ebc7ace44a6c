/* --task mnli, qqp, race and squad: the head, what a pretraining's recipe
 * leaves behind, epochs, and what is refused. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/options/options_epochs.h"
#include "launch/options/options_finetune.h"
#include "launch/options/options_layout.h"
#include "launch/options/options_parse.h"
#include "runtime/base/memory.h"
#include "tests/launch/parse.h"

#define VOCAB "test_options_finetune.vocab"
#define BERT "--model bert-tiny --vocab-file " VOCAB " "
#define DATA "--train-data a b --valid-data c --lr 1e-4 "

static int write_vocabulary(void **state)
{
    FILE *file = fopen(VOCAB, "w");

    fputs("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n", file);
    fclose(file);
    return parse_setup(state);
}

static int remove_vocabulary(void **state)
{
    unlink(VOCAB);
    return parse_teardown(state);
}

static void test_a_task_sets_the_head(void **state)
{
    static const struct {
        const char *line;
        enum mtlm_head_kind head;
        int64_t classes;
    } cases[] = {
        {BERT DATA "--task MNLI", MTLM_HEAD_CLASSIFICATION, 3},
        {BERT DATA "--task qqp --predictions p", MTLM_HEAD_CLASSIFICATION, 2},
        {BERT DATA "--task race --micro-batch-size 8", MTLM_HEAD_CHOICE, 4},
        {BERT DATA "--task squad --predictions p", MTLM_HEAD_SPAN, 0},
    };

    (void) state;
    for (int i = 0; i < 4; i++) {
        accepts(cases[i].line);
        assert_true(mtlm_options_finetunes(&options));
        assert_int_equal(options.model.head, cases[i].head);
        assert_int_equal(options.model.classes, cases[i].classes);
        assert_false(options.model.binary_head || options.eval_only);
        assert_string_equal(options.train_data, "a b");
        assert_int_equal(options.epochs, 3);
    }
}

/* The warm-up of the preset counts iterations of a pretraining. */
static void test_the_recipe_of_a_pretraining_does_not_count(void **state)
{
    struct mtlm_error err;

    (void) state;
    accepts_config("data-path = words\neval-iters = 3\n",
                   BERT DATA "--task mnli --global-batch-size 32 --epochs 5 "
                             "--micro-batch-size 8 --lr-warmup-fraction 0.1");
    assert_null(options.data_path);
    assert_int_equal(mtlm_options_epochs_set(&options, 100, 7, &err), 0);
    assert_int_equal(options.train_iters, 500);
    assert_int_equal(options.eval_interval, 100);
    assert_int_equal(options.eval_iters, 7);
    assert_true(options.lr_schedule.decay_samples == 500 * 32);
    assert_true(options.lr_schedule.warmup_samples == 50 * 32);
    refuses(BERT "--train-data a --valid-data c --task mnli",
            "--lr is missing; give it");
}

/* Before the data is read, nobody knows the number of iterations. */
static void test_iterations_of_epochs_are_checked_once_known(void **state)
{
#define ONE_EPOCH BERT DATA "--task mnli --epochs 1 "
    static const struct {
        const char *line, *sentence;
    } cases[] = {
        {ONE_EPOCH "--trace d --trace-iterations 10:12",
         "--trace-iterations 10:12 goes beyond the 2 iterations of --epochs"},
        {ONE_EPOCH "--replan-after 3",
         "--replan-after 3 is not less than the 2 iterations of --epochs"},
        {ONE_EPOCH "--inject-nan 3",
         "--inject-nan 3 is beyond the 2 iterations of --epochs"},
    };
    struct mtlm_error err;

    (void) state;
    for (int i = 0; i < 3; i++) {
        accepts(cases[i].line);
        assert_int_equal(mtlm_options_epochs_set(&options, 12, 7, &err), 0);
        assert_int_equal(mtlm_options_epochs_set(&options, 2, 7, &err), -1);
        assert_string_equal(err.text, cases[i].sentence);
        assert_int_equal(err.code, MTLM_EXIT_USAGE);
    }
}

/* A checkpoint of more iterations than --train-iters may have would not load.
 */
static void test_epochs_are_limited_by_their_iterations(void **state)
{
    struct mtlm_error err;

    (void) state;
    accepts(BERT DATA "--task mnli --epochs 81500");
    assert_int_equal(mtlm_options_epochs_set(&options, 12270, 7, &err), -1);
    assert_string_equal(err.text,
                        "--epochs 81500 of 12270 iterations each are more than "
                        "1000000000 iterations; give at most 81499");
    assert_int_equal(err.code, MTLM_EXIT_USAGE);
    accepts(BERT DATA "--task mnli --epochs 81499");
    assert_int_equal(mtlm_options_epochs_set(&options, 12270, 7, &err), 0);
    assert_int_equal(options.train_iters, 999992730);
}

/* Megatron-LM's flag is no number of checkpoints. */
static void test_keep_last_without_a_value_is_about_batches(void **state)
{
    (void) state;
    accepts(BERT DATA "--task mnli --keep-last --epochs 2");
    assert_true(options.keep_last_batch);
    assert_int_equal(options.keep_last, 0);
    assert_string_equal(options.notes,
                        "--keep-last is spelled --keep-last-batch here");
    accepts(BERT DATA "--task mnli --save x --keep-last 2");
    assert_false(options.keep_last_batch);
    assert_int_equal(options.keep_last, 2);
}

/* examples/finetune_mnli_distributed.sh of v2.6 without its checkpoint, which
 * also tells that the model is a BERT. */
static void test_megatrons_script_is_understood(void **state)
{
    (void) state;
    accepts("--model-type bert --task MNLI --seed 1234 --train-data a "
            "--valid-data b c --tokenizer-type BertWordPieceLowerCase "
            "--vocab-file " VOCAB " --epochs 5 --tensor-model-parallel-size 1 "
            "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
            "--micro-batch-size 8 --activations-checkpoint-method uniform --lr "
            "5.0e-5 "
            "--lr-decay-style linear --lr-warmup-fraction 0.065 --seq-length "
            "512 --max-position-embeddings 512 --save-interval 500000 --save d "
            "--log-interval 10 --eval-interval 100 --eval-iters 50 "
            "--weight-decay 1.0e-1 --fp16");
    assert_string_equal(options.valid_data, "b c");
    assert_int_equal(options.epochs, 5);
    assert_non_null(
        strstr(options.notes, "--eval-interval has no effect with --task"));
}

/* The micro batch of the preset may shrink to a question of four samples. */
static void test_ranks_share_questions(void **state)
{
    struct mtlm_error err;

    (void) state;
    accepts(BERT DATA "--task race --global-batch-size 8 "
                      "--tensor-model-parallel-size 1");
    assert_int_equal(mtlm_options_layout_check(&options, 2, &err), 0);
    assert_int_equal(mtlm_options_layout_check(&options, 4, &err), -1);
    assert_string_equal(err.text,
                        "--global-batch-size 8 cannot be shared by 4 "
                        "data-parallel ranks: a question of the task is 4 "
                        "samples");
}

/* Options of one run, as lines of a file. */
static void check_files_of_one_run(void)
{
    static const char *const lines[] = {
        "trace = d",           "metrics = m",     "tensorboard-dir = d",
        "dump-first-step = d", "dump-logits = d", "predictions = p",
        "eval-only = yes"};

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const int name = (int) strcspn(lines[i], " ");
        char *want = mtlm_sprintf("--%.*s is for one run, and --seeds starts "
                                  "several",
                                  name, lines[i]);

        refuses_line_config(lines[i], BERT DATA "--task mnli --seeds 1,2",
                            want);
        free(want);
    }
    accepts_config("seed = 7\neval-only = no\n",
                   BERT DATA "--task mnli --seeds 1,2 --save d");
    assert_int_equal(options.n_seeds, 2);
}

/* Each run has a seed and a directory of its own. */
static void test_seeds_are_runs(void **state)
{
    char *argv[] = {"mtlm-dag", "--model", "bert-tiny",    "--vocab-file",
                    VOCAB,      "--task",  "mnli",         "--train-data",
                    "a",        "b",       "--valid-data", "c",
                    "--lr",     "1e-4",    "--seeds",      "5, 4294967295",
                    "--save",   "d"};
    const int argc = sizeof(argv) / sizeof(argv[0]);
    struct mtlm_options run;
    struct mtlm_error err;

    (void) state;
    accepts(BERT DATA "--task mnli --seeds 3,1,2 --save d");
    assert_int_equal(options.n_seeds, 3);
    assert_int_equal(options.seed_of_run[0], 3);
    assert_int_equal(options.seed_of_run[2], 2);
    assert_null(options.load_dir);
    assert_int_equal(mtlm_options_parse_seed(&run, argc, argv, 5, &err), 0);
    assert_int_equal(run.n_seeds, 0);
    assert_int_equal(run.seed, 5);
    assert_string_equal(run.save_dir, "d/seed-5");
    assert_string_equal(run.load_dir, "d/seed-5");
    mtlm_options_free(&run);
    refuses(BERT DATA "--task mnli --seeds 1,2,1", "--seeds has 1 twice");
    refuses(BERT DATA "--task mnli --seeds 1,4294967296",
            "--seeds is '1,4294967296', it must be a list of seeds, such as "
            "1,2,3,4,5");
    refuses(BERT DATA "--task mnli --seeds 1, --save d",
            "--seeds is '1,', it must be a list of seeds, such as 1,2,3,4,5");
    refuses(BERT DATA "--task mnli --seeds 1 --load d",
            "--seeds continues each seed in its directory of --save; leave "
            "out --load");
    refuses(BERT DATA "--task mnli --seeds 1 --seed 1",
            "--seed is for one run, and --seeds starts several");
    check_files_of_one_run();
    refuses("--model gpt-tiny --seeds 1",
            "--seeds is for --task mnli, qqp, race or squad");
}

static void test_contradictions_are_refused(void **state)
{
    (void) state;
    refuses(BERT "--task mnli --valid-data c --lr 1",
            "--task mnli needs --train-data FILE...; mtlm-dag --task mnli "
            "--help says where to get it");
    refuses(BERT "--task mnli --train-data c --lr 1",
            "--task mnli needs --valid-data FILE; mtlm-dag --task mnli --help "
            "says where to get it");
    refuses(BERT DATA "--task mnli --train-iters 5",
            "--train-iters is not for --task mnli, which counts --epochs");
    refuses(BERT DATA "--task mnli --overlapping-eval 5",
            "--overlapping-eval is for --task wikitext103");
    refuses(BERT DATA "--task mnli --strict-lambada",
            "--strict-lambada is for --task lambada");
    refuses(BERT DATA "--task mnli --synthetic c",
            "--synthetic is for a pretraining");
    refuses(BERT DATA "--task mnli --lr-warmup-samples 100",
            "--lr-warmup-samples counts samples, and --task mnli counts "
            "iterations of --epochs; give --lr-warmup-iters or "
            "--lr-warmup-fraction");
    refuses(BERT DATA "--task mnli --lr-decay-samples 100",
            "--lr-decay-samples counts samples, and --task mnli counts "
            "iterations of --epochs; give --lr-decay-iters");
    refuses(BERT DATA "--task mnli --lr-wsd-decay-samples 100",
            "--lr-wsd-decay-samples counts samples, and --task mnli counts "
            "iterations of --epochs; give --lr-wsd-decay-iters");
    refuses(BERT "--task mnli --train-data 0.7 a 0.3 b --valid-data c --lr 1",
            "--train-data takes files alone, without weights");
    refuses(BERT "--task mnli --train-data a --valid-data 1 c --lr 1",
            "--valid-data takes files alone, without weights");
    refuses(BERT DATA "--task race --micro-batch-size 6 --global-batch-size 12",
            "--micro-batch-size 6 cuts a question of --task race, which is 4 "
            "samples; give a multiple of 4");
    refuses("--model bert-tiny " DATA "--task mnli",
            "--task mnli needs the WordPiece vocabulary of the model: give "
            "--vocab-file or --tokenizer-model");
    /* Bytes name classes, but no words of a passage. */
    accepts("--model bert-tiny --tokenizer-type byte " DATA "--task mnli");
    refuses("--model bert-tiny --tokenizer-type byte " DATA "--task squad",
            "--task squad needs the WordPiece vocabulary of the model: give "
            "--vocab-file or --tokenizer-model");
    refuses("--model gpt-tiny " DATA "--task mnli",
            "--task mnli is for a BERT; this model is a GPT");
    refuses("--model gpt-tiny --pretrained-checkpoint x",
            "--pretrained-checkpoint is for --task mnli, qqp, race or squad");
    refuses("--model gpt-tiny --load x --task lambada --valid-data c "
            "--epochs 2",
            "--epochs is not for --task lambada, which does not train");
    refuses("--model gpt-tiny --train-data c",
            "--train-data is for --task NAME");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_task_sets_the_head),
        cmocka_unit_test(test_the_recipe_of_a_pretraining_does_not_count),
        cmocka_unit_test(test_iterations_of_epochs_are_checked_once_known),
        cmocka_unit_test(test_epochs_are_limited_by_their_iterations),
        cmocka_unit_test(test_keep_last_without_a_value_is_about_batches),
        cmocka_unit_test(test_megatrons_script_is_understood),
        cmocka_unit_test(test_ranks_share_questions),
        cmocka_unit_test(test_seeds_are_runs),
        cmocka_unit_test(test_contradictions_are_refused),
    };

    return cmocka_run_group_tests(tests, write_vocabulary, remove_vocabulary);
}
