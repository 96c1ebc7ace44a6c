/* Command lines written for Megatron-LM: what is understood, what is left out
 * with a note, and what is refused. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "launch/options/megatron.h"
#include "tests/launch/parse.h"

static void test_old_spellings_work_with_a_hint(void **state)
{
    (void) state;
    accepts("--model gpt-tiny --batch-size 4");
    assert_int_equal(options.micro_batch_size, 4);
    assert_string_equal(options.notes, "--batch-size is spelled "
                                       "--micro-batch-size here");
    accepts("--model gpt-tiny --model-parallel-size=2 --warmup 0.5 "
            "--norm-epsilon 1e-6");
    assert_int_equal(options.tensor_parallel, 2);
    assert_true(options.lr_warmup_fraction == 0.5);
    assert_true(options.model.layernorm_epsilon == 1e-6);
    assert_string_equal(
        options.notes,
        "--model-parallel-size is spelled --tensor-model-parallel-size here\n"
        "--warmup is spelled --lr-warmup-fraction here\n"
        "--norm-epsilon is spelled --layernorm-epsilon here");
    refuses("--model gpt-tiny --batch-size 0",
            "--micro-batch-size is '0', it must be a whole number from 1 to "
            "65536");
    refuses("--model gpt-tiny --batch-size", "--batch-size needs a value");
    accepts("--model gpt-tiny --recompute-activations");
    assert_int_equal(options.recompute.granularity, MTLM_RECOMPUTE_SELECTIVE);
    assert_string_equal(options.notes,
                        "--recompute-activations is spelled "
                        "--recompute-granularity=selective here");
    accepts("--model gpt-tiny --checkpoint-activations "
            "--checkpoint-num-layers 2");
    assert_int_equal(options.recompute.granularity, MTLM_RECOMPUTE_FULL);
    assert_int_equal(options.recompute.method, MTLM_RECOMPUTE_UNIFORM);
    assert_int_equal(options.recompute.num_layers, 2);
    accepts("--model gpt-tiny --activations-checkpoint-method block "
            "--activations-checkpoint-num-layers 3");
    assert_int_equal(options.recompute.granularity, MTLM_RECOMPUTE_FULL);
    assert_int_equal(options.recompute.method, MTLM_RECOMPUTE_BLOCK);
    assert_int_equal(options.recompute.num_layers, 3);
    refuses("--model gpt-tiny --activations-checkpoint-method some",
            "--recompute-method is 'some', it must be one of uniform/block");
    /* Three options once, one now: each kind counts for itself. */
    accepts("--model gpt-tiny --gelu-epilogue on --bias-gradient-epilogue off");
    assert_int_equal(options.epilogues.gelu, MTLM_EPILOGUE_ON);
    assert_int_equal(options.epilogues.gelu_gradient, MTLM_EPILOGUE_AUTO);
    assert_int_equal(options.epilogues.bias_gradient, MTLM_EPILOGUE_OFF);
    assert_string_equal(
        options.notes,
        "--gelu-epilogue is spelled --epilogues=gelu:on here\n"
        "--bias-gradient-epilogue is spelled --epilogues=bias-gradient:off "
        "here");
    refuses("--model gpt-tiny --gelu-epilogue perhaps",
            "--epilogues is 'gelu:perhaps', it must be auto, or KIND:WAY of "
            "gelu/gelu-gradient/bias-gradient and auto/on/off");
    /* A flag of Megatron-LM takes no value from the next word. */
    accepts("--model gpt-tiny --load nowhere --data-path a --skip-train");
    assert_true(options.eval_only);
    assert_string_equal(options.notes,
                        "--skip-train is spelled --eval-only here");
    refuses("--model gpt-tiny --load nowhere --skip-train=yes",
            "--skip-train takes no value");
    /* The two spellings are one option: the last one counts. */
    accepts("--model gpt-tiny --batch-size 4 --micro-batch-size 2");
    assert_int_equal(options.micro_batch_size, 2);
}

/* One word becomes two options: the line has more options than words. */
static void test_a_word_may_stand_for_two_options(void **state)
{
    char line[4096] = "--model gpt-tiny";

    (void) state;
    for (int i = 0; i < 60; i++)
        strcat(line, " --activations-checkpoint-method=uniform");
    strcat(line, " --activations-checkpoint-method=block");
    accepts(line);
    assert_int_equal(options.recompute.granularity, MTLM_RECOMPUTE_FULL);
    assert_int_equal(options.recompute.method, MTLM_RECOMPUTE_BLOCK);
}

static void test_what_changes_nothing_is_left_out(void **state)
{
    (void) state;
    accepts("--model gpt-tiny --num-workers 2 --deterministic-mode "
            "--recompute-modules a b --seed 7");
    assert_int_equal(options.seed, 7);
    assert_string_equal(options.notes,
                        "--num-workers changes nothing here: nodes of the "
                        "graph read the samples\n"
                        "--deterministic-mode changes nothing here: always on\n"
                        "--recompute-modules changes nothing here: same "
                        "results, with more memory");
    accepts("--model gpt-tiny --optimizer adam --dataloader-type=single "
            "--data-impl infer");
    refuses("--model gpt-tiny --optimizer sgd",
            "--optimizer sgd is not in this version, which only has adam");
    refuses("--model gpt-tiny --data-impl map",
            "--data-impl map is not in this version, which only has "
            "mmap|infer");
    refuses("--model gpt-tiny --num-workers --seed 7",
            "--num-workers needs a value");
    refuses("--deterministic-mode=1 --model gpt-tiny",
            "--deterministic-mode takes no value");
}

static void test_what_would_change_the_result_is_refused_at_once(void **state)
{
    (void) state;
    refuses("--fp8-hybrid",
            "--fp8-hybrid is an option of Megatron-LM that this version does "
            "not have; leave it out; --fp8-hybrid: give --bf16 or --fp16");
    refuses("--swiglu --model gpt-tiny --num-experts 8",
            "--swiglu, --num-experts are options of Megatron-LM that this "
            "version does not have; leave them out");
    refuses("--model gpt-tiny --step-batch-size-schedule 0:8",
            "--step-batch-size-schedule is an option of Megatron-LM that this "
            "version does not have; leave it out; --step-batch-size-schedule: "
            "give --rampup-batch-size");
    refuses("--model gpt-tiny --enable-zero-bubble "
            "--zero-bubble-v-schedule-mem-setup half",
            "--enable-zero-bubble, --zero-bubble-v-schedule-mem-setup are "
            "options of Megatron-LM that this version does not have; leave "
            "them out; --enable-zero-bubble: give --schedule zb-h1, zb-h2, "
            "zb-v or auto; --zero-bubble-v-schedule-mem-setup: give --act-mem");
    /* Nobody who asks for help is told off. */
    assert_int_equal(parse("--swiglu --help"), MTLM_REQUEST_HELP);
    assert_int_equal(parse("--help --swiglu"), MTLM_REQUEST_HELP);
    assert_int_equal(parse("--swiglu --print-config --model gpt-tiny"), -1);
}

static void assert_epilogues(int gelu, int gelu_gradient, int bias_gradient)
{
    assert_int_equal(options.epilogues.gelu, gelu);
    assert_int_equal(options.epilogues.gelu_gradient, gelu_gradient);
    assert_int_equal(options.epilogues.bias_gradient, bias_gradient);
}

/* --print-config once wrote three options for what is one option now. */
static void test_configuration_files_may_have_former_options(void **state)
{
    static const char *const note[] = {
        ":1: gelu-epilogue is spelled epilogues=gelu:on here\n",
        ":2: gelu-gradient-epilogue is spelled epilogues=gelu-gradient:auto "
        "here\n",
        ":3: bias-gradient-epilogue is spelled epilogues=bias-gradient:off "
        "here"};
    const char *at;

    (void) state;
    accepts_config("gelu-epilogue = on\ngelu-gradient-epilogue = auto\n"
                   "bias-gradient-epilogue = off\n",
                   "--model gpt-tiny");
    assert_epilogues(MTLM_EPILOGUE_ON, MTLM_EPILOGUE_AUTO, MTLM_EPILOGUE_OFF);
    at = options.notes;
    for (int i = 0; i < 3; i++) {
        at = strstr(at, note[i]);
        assert_non_null(at);
    }
    /* In one file with the option of now, the last line counts for a kind. */
    accepts_config("gelu-epilogue = on\nepilogues = gelu-gradient:on,gelu:off\n"
                   "bias-gradient-epilogue = on\n",
                   "--model gpt-tiny --gelu-gradient-epilogue=off");
    assert_epilogues(MTLM_EPILOGUE_OFF, MTLM_EPILOGUE_OFF, MTLM_EPILOGUE_ON);
    refuses_config("gelu-epilogue = on\nseed = 1\ngelu-epilogue = on\n",
                   ":3: gelu-epilogue is given already in line 1");
    refuses_config("epilogues = auto\nepilogues = auto\n",
                   ":2: epilogues is given already in line 1");
    refuses_config("seed = 1\ngelu-epilogue = perhaps\n",
                   ":2: epilogues is 'gelu:perhaps', it must be auto, or "
                   "KIND:WAY of gelu/gelu-gradient/bias-gradient and "
                   "auto/on/off");
}

static void test_configuration_files_are_in_our_words(void **state)
{
    (void) state;
    refuses_config("batch-size = 4\n",
                   ":1: batch-size is spelled micro-batch-size here");
    refuses_config("min-scale = 2\n",
                   ":1: min-scale is spelled min-loss-scale here");
    refuses_config("checkpoint-activations = yes\n",
                   ":1: checkpoint-activations is spelled "
                   "recompute-granularity=full here");
    refuses_config("swiglu = yes\n",
                   ":1: swiglu is an option of Megatron-LM that this version "
                   "does not have");
    refuses_config("num-workers = 2\n",
                   ":1: num-workers is an option of Megatron-LM that this "
                   "version does not have");
}

/* The flags of examples/pretrain_gpt.sh of Megatron-LM v2.6 (345M). */
#define GPT_345M                                                               \
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 "             \
    "--micro-batch-size 4 --global-batch-size 8 --seq-length 1024 "            \
    "--max-position-embeddings 1024 --train-iters 500000 "                     \
    "--lr-decay-iters 320000 --data-path corpus_text_document "                \
    "--data-impl mmap --split 949,50,1 --distributed-backend nccl "            \
    "--lr 0.00015 --min-lr 1.0e-5 --lr-decay-style cosine "                    \
    "--weight-decay 1e-2 --clip-grad 1.0 --lr-warmup-fraction .01 "            \
    "--activations-checkpoint-method uniform --log-interval 100 "              \
    "--save checkpoints --load checkpoints --save-interval 10000 "             \
    "--eval-interval 1000 --eval-iters 10 --fp16 "
/* What newer ones also have, and this version lacks. */
#define UNAVAILABLE "--num-experts 8 --reset-position-ids "

static void test_the_345m_script_of_v2_6_is_understood(void **state)
{
    (void) state;
    accepts(GPT_345M "--vocab-size 50257");
    assert_int_equal(options.model.num_layers, 24);
    assert_int_equal(options.model.max_positions, 1024);
    assert_int_equal(options.train_iters, 500000);
    assert_true(options.lr_schedule.decay_samples == 320000 * 8);
    assert_true(options.lr_schedule.warmup_samples == 3200 * 8);
    assert_int_equal(options.lr_schedule.style, MTLM_LR_COSINE);
    assert_string_equal(options.data_path, "corpus_text_document");
    assert_string_equal(options.split, "949,50,1");
    assert_string_equal(
        options.notes,
        "--data-impl changes nothing here: data files are always mapped\n"
        "--distributed-backend changes nothing here: ranks communicate by MPI\n"
        "--activations-checkpoint-method is spelled "
        "--recompute-granularity=full --recompute-method=uniform here");
    assert_int_equal(options.recompute.granularity, MTLM_RECOMPUTE_FULL);
    assert_true(options.fp16 && !options.bf16);
    refuses(GPT_345M UNAVAILABLE,
            "--num-experts, --reset-position-ids are options of Megatron-LM "
            "that this version does not have; leave them out");
}

/* The evaluation in README.md of v2.6, with one token per byte. */
static void test_the_tasks_of_v2_6_are_understood(void **state)
{
    (void) state;
    accepts("--task WIKITEXT103 --num-layers 24 --hidden-size 1024 "
            "--num-attention-heads 16 --seq-length 1024 "
            "--max-position-embeddings 1024 --fp16 --vocab-size 257 "
            "--valid-data wiki.txt --load checkpoints --micro-batch-size 8 "
            "--activations-checkpoint-method uniform --log-interval 10 "
            "--no-load-optim --no-load-rng");
    assert_string_equal(options.task->name, "wikitext103");
    assert_int_equal(options.overlapping_eval, 32);
    assert_string_equal(
        options.notes,
        "--activations-checkpoint-method is spelled "
        "--recompute-granularity=full --recompute-method=uniform here");
    accepts("--task LAMBADA --strict-lambada --num-layers 24 --hidden-size "
            "1024 --num-attention-heads 16 --seq-length 1024 --vocab-size 257 "
            "--valid-data lambada.json --load checkpoints "
            "--micro-batch-size 8");
    assert_true(options.strict_lambada);
}

/* examples/pretrain_gpt2.sh of v1.0, without what is refused. */
static void test_the_345m_script_of_v1_0_is_understood(void **state)
{
    (void) state;
    accepts("--num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
            "--batch-size 8 --seq-length 1024 --max-position-embeddings 1024 "
            "--train-iters 500000 --lr-decay-iters 320000 --data-path x "
            "--data-impl mmap --split 949,50,1 --distributed-backend nccl "
            "--lr 0.00015 --min-lr 1.0e-5 --lr-decay-style cosine "
            "--weight-decay 1e-2 --clip-grad 1.0 --warmup .01 "
            "--checkpoint-activations --log-interval 100 --eval-interval 1000 "
            "--eval-iters 10 --vocab-size 50257");
    assert_int_equal(options.micro_batch_size, 8);
    assert_true(options.lr_schedule.warmup_samples == 3200 * 8);
}

/* examples/bert/train_bert_340m_distributed.sh of core_v0.12.0, likewise. */
static void test_the_bert_script_of_core_is_understood(void **state)
{
    (void) state;
    accepts("--model-type bert --num-layers 24 --hidden-size 1024 "
            "--num-attention-heads 16 --seq-length 512 "
            "--max-position-embeddings 512 --attention-backend auto "
            "--micro-batch-size 4 --global-batch-size 32 "
            "--train-iters 1000000 --weight-decay 1e-2 --clip-grad 1.0 "
            "--lr 0.0001 --lr-decay-iters 990000 --lr-decay-style linear "
            "--min-lr 1.0e-5 --weight-decay 1e-2 --lr-warmup-fraction .01 "
            "--clip-grad 1.0 --tensor-model-parallel-size 8 "
            "--pipeline-model-parallel-size 16 --data-path x "
            "--split 949,50,1 --log-interval 100 --eval-interval 1000 "
            "--eval-iters 10 --tensorboard-dir logs "
            "--log-memory-to-tensorboard");
    assert_int_equal(options.tensor_parallel, 8);
    assert_int_equal(options.model.family, MTLM_BERT);
    assert_string_equal(options.notes,
                        "--log-memory-to-tensorboard changes nothing here: "
                        "this version writes no such log");
    assert_string_equal(options.tensorboard_dir, "logs");
}

/* An option that we have is not looked up among those that we lack. */
static void test_no_entry_hides_an_option_of_ours(void **state)
{
    (void) state;
    for (int i = 0; i < MTLM_OPTION_COUNT; i++) {
        assert_null(mtlm_megatron_renamed(mtlm_option_table[i].name));
        assert_false(mtlm_megatron_has(mtlm_option_table[i].name));
    }
    assert_true(mtlm_megatron_has("swiglu"));
    assert_string_equal(mtlm_megatron_renamed("batch-size"),
                        "micro-batch-size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_old_spellings_work_with_a_hint),
        cmocka_unit_test(test_a_word_may_stand_for_two_options),
        cmocka_unit_test(test_what_changes_nothing_is_left_out),
        cmocka_unit_test(test_what_would_change_the_result_is_refused_at_once),
        cmocka_unit_test(test_configuration_files_may_have_former_options),
        cmocka_unit_test(test_configuration_files_are_in_our_words),
        cmocka_unit_test(test_the_345m_script_of_v2_6_is_understood),
        cmocka_unit_test(test_the_tasks_of_v2_6_are_understood),
        cmocka_unit_test(test_the_345m_script_of_v1_0_is_understood),
        cmocka_unit_test(test_the_bert_script_of_core_is_understood),
        cmocka_unit_test(test_no_entry_hides_an_option_of_ours),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
