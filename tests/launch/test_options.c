/* The command line: who overrides whom, what follows from what, and what has
 * to fit. */

#include "config.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/options/help_text.h"
#include "launch/options/options_layout.h"
#include "launch/options/options_resolve.h"
#include "launch/options/options_workers.h"
#include "models/presets.h"
#include "runtime/machine/machine.h"
#include "tests/launch/parse.h"

static void test_presets_fit_their_options(void **state)
{
    (void) state;
    for (const struct mtlm_preset *p = mtlm_presets; p->name; p++) {
        char line[128];

        snprintf(line, sizeof(line), "--model %s", p->name);
        accepts(line);
        assert_string_equal(options.preset, p->name);
    }
}

static void test_gpt_tiny_is_what_the_documents_say(void **state)
{
    (void) state;
    accepts("--model gpt-tiny");
    assert_int_equal(options.model.num_layers, 4);
    assert_int_equal(options.model.hidden_size, 256);
    assert_int_equal(options.model.num_heads, 4);
    assert_int_equal(options.model.seq_length, 256);
    assert_int_equal(options.model.vocab_size, 257);
}

static void test_a_stronger_source_overrides_a_weaker_one(void **state)
{
    (void) state;
    accepts("--model gpt-tiny");
    assert_int_equal(options.eval_iters, 16); /* preset over default */
    assert_int_equal(options.seed, 1234);     /* default */
    accepts_config("eval-iters = 7\nseed = 5\n", "--seed 6 --model gpt-tiny");
    assert_int_equal(options.eval_iters, 7); /* file over preset */
    assert_int_equal(options.seed, 6);       /* command line over file */
    accepts("--num-layers 12 --model gpt-tiny");
    assert_int_equal(options.model.num_layers, 12); /* whatever the order */
    accepts("--seed 1 --model gpt-tiny --seed 2");
    assert_int_equal(options.seed, 2); /* the last one on the line */
}

static void test_a_file_can_name_the_preset(void **state)
{
    (void) state;
    accepts_config("model = gpt-tiny\n", "");
    assert_int_equal(options.model.hidden_size, 256);
    accepts_config("model = gpt-tiny\n", "--model gpt2-124m");
    assert_int_equal(options.model.hidden_size, 768);
    assert_string_equal(options.preset, "gpt2-124m");
}

static void test_values_follow_from_others(void **state)
{
    (void) state;
    accepts("--num-layers 2 --hidden-size 96 --num-attention-heads 2 "
            "--seq-length 32 --micro-batch-size 3 --train-iters 40 --lr 0.1");
    assert_int_equal(options.model.ffn_hidden_size, 384);
    assert_int_equal(options.model.max_positions, 32);
    assert_int_equal(options.global_batch_size, 3);
    assert_int_equal(options.train_samples, 120);
    assert_true(options.lr_schedule.decay_samples == 120);
    assert_true(options.lr_schedule.warmup_samples == 0);
    assert_int_equal(options.lr_schedule.style, MTLM_LR_LINEAR);
    assert_true(options.mock_data);
    assert_int_equal(options.trace_iterations.first, 3);
    assert_int_equal(options.trace_iterations.last, 5);
    accepts("--model gpt-tiny --train-iters 2 --data-path x");
    assert_false(options.mock_data);
    assert_int_equal(options.trace_iterations.first, 2);
    assert_int_equal(options.trace_iterations.last, 2);
    accepts("--model gpt-tiny --make-vocab-size-divisible-by 100");
    assert_int_equal(mtlm_model_padded_vocab(&options.model, 1), 300);
    assert_int_equal(mtlm_model_padded_vocab(&options.model, 2), 400);
}

static void test_the_family_decides_what_a_model_has(void **state)
{
    (void) state;
    accepts("--model gpt-tiny");
    assert_int_equal(options.model.family, MTLM_GPT);
    assert_int_equal(options.model.num_token_types, 0);
    assert_false(options.model.binary_head);
    accepts("--model gpt-tiny --model-type bert");
    assert_int_equal(options.model.family, MTLM_BERT);
    assert_int_equal(options.model.num_token_types, 2);
    assert_true(options.model.binary_head);
    accepts("--model gpt-tiny --model-type bert --bert-no-binary-head "
            "--apply-residual-connection-post-layernorm "
            "--no-bias-gelu-fusion");
    assert_false(options.model.binary_head);
    assert_true(options.model.post_layernorm);
    assert_true(options.model.exact_gelu);
    assert_int_equal(options.model.vocab_size, 261);
    assert_false(options.model.tanh_head);
    accepts("--model gpt-tiny --position-embedding-type alibi "
            "--embed-layernorm");
    assert_int_equal(options.model.positions, MTLM_POSITIONS_ALIBI);
    assert_true(options.model.embedding_layernorm);
    accepts("--model gpt-tiny --position-embedding-type learned_absolute");
    assert_int_equal(options.model.positions, MTLM_POSITIONS_LEARNED);
    assert_false(options.model.embedding_layernorm);
    refuses("--model bert-tiny --position-embedding-type alibi",
            "--position-embedding-type alibi is for --model-type gpt; this "
            "model is a bert");
    accepts("--model bert-tiny --no-bias-gelu-fusion --openai-gelu");
    assert_false(options.model.exact_gelu);
    assert_true(options.model.tanh_head);
    refuses("--model bert-tiny --mask-prob 0.005",
            "--mask-prob 0.005 of --seq-length 128 is less than a token, and "
            "a bert predicts at least one of each sample; give 0.01 or more");
    accepts("--model gpt-tiny --mask-prob 0");
    accepts("--model bert-tiny --mask-prob 0.2 --short-seq-prob 0");
    assert_true(options.mask_prob == 0.2 && options.short_seq_prob == 0);
    accepts("--model bert-tiny --data-path x");
    accepts("--model bert-336m");
    refuses("--model bert-336m --data-path x",
            "--vocab-size 30522: without --vocab-file a bert learns from "
            "bytes, a vocabulary of 261; --mock-data needs no text");
    refuses("--model bert-tiny --seq-length 4",
            "--seq-length 4 is too short for a bert, which needs 5 tokens");
    refuses("--model bert-tiny --vocab-size 5",
            "--vocab-size 5 is too small for a bert, which needs 6 tokens");
    refuses(
        "--model gpt-tiny --bert-no-binary-head",
        "--bert-no-binary-head is for --model-type bert; this model is a gpt");
    refuses("--model gpt-tiny --model-type t5",
            "--model-type is 't5', it must be one of gpt/bert");
    accepts("--model gpt-tiny --eod-mask-loss");
    refuses("--model gpt-tiny --model-type bert --eod-mask-loss",
            "--eod-mask-loss is for --model-type gpt; a bert does not predict "
            "the next token");
}

static void test_query_key_scaling_is_said_one_way(void **state)
{
    (void) state;
    accepts("--model gpt-tiny");
    assert_false(options.model.query_key_scaling);
    accepts("--model gpt-tiny --no-query-key-layer-scaling");
    assert_false(options.model.query_key_scaling);
    accepts("--model gpt-tiny --apply-query-key-layer-scaling");
    assert_true(options.model.query_key_scaling);
    accepts_config("apply-query-key-layer-scaling = yes\n",
                   "--model gpt-tiny --no-query-key-layer-scaling");
    assert_false(options.model.query_key_scaling);
    accepts_config("no-query-key-layer-scaling = yes\n",
                   "--model gpt-tiny --apply-query-key-layer-scaling");
    assert_true(options.model.query_key_scaling);
    refuses("--model gpt-tiny --apply-query-key-layer-scaling "
            "--no-query-key-layer-scaling",
            "--apply-query-key-layer-scaling and --no-query-key-layer-scaling "
            "contradict each other; give one of them");
}

static void test_values_must_fit_each_other(void **state)
{
    (void) state;
    refuses("--model gpt-tiny --num-attention-heads 3",
            "--hidden-size 256 is not a multiple of --num-attention-heads 3");
    refuses("--model gpt-tiny --max-position-embeddings 128",
            "--seq-length 256 exceeds --max-position-embeddings 128");
    refuses("--model gpt-tiny --tensor-model-parallel-size 8",
            "--num-attention-heads 4 is not a multiple of "
            "--tensor-model-parallel-size 8");
    refuses("--model gpt-tiny --seq-length 4 --row-parts 5",
            "--row-parts 5 is more than the --seq-length 4 can be cut into");
    refuses("--model gpt-tiny --recompute-method block",
            "--recompute-method is for --recompute-granularity full");
    refuses("--model gpt-tiny --recompute-granularity selective "
            "--recompute-num-layers 2",
            "--recompute-num-layers is for --recompute-granularity full");
    accepts_config("recompute-num-layers = 4\n",
                   "--model gpt-tiny --recompute-granularity none "
                   "--num-layers 2");
    refuses_line_config("recompute-num-layers = 4\n",
                        "--model gpt-tiny --recompute-granularity full "
                        "--num-layers 2",
                        "--recompute-num-layers 4 is more than the "
                        "--num-layers 2 of the model");
    refuses("--model gpt-tiny --ffn-hidden-size 6 "
            "--tensor-model-parallel-size 4",
            "--ffn-hidden-size 6 is not a multiple of "
            "--tensor-model-parallel-size 4");
    refuses("--model gpt-tiny --pipeline-model-parallel-size 5",
            "--num-layers 4 cannot fill --pipeline-model-parallel-size 5 "
            "stages");
    refuses("--model gpt-tiny --global-batch-size 30 --micro-batch-size 4",
            "--global-batch-size 30 is not a multiple of --micro-batch-size "
            "4");
    accepts("--num-layers 2 --hidden-size 8 --num-attention-heads 2 "
            "--seq-length 8 --micro-batch-size 1 --mock-data --load x "
            "--eval-only");
    refuses("--num-layers 2 --hidden-size 8 --num-attention-heads 2 "
            "--seq-length 8 --micro-batch-size 1 --mock-data",
            "--lr is missing; give it, or start from a preset such as "
            "--model gpt-tiny");
    refuses("--model gpt-tiny --dump-logits d",
            "--dump-logits d needs --eval-only");
    refuses("--model gpt2-124m --mock-data --load x --eval-only "
            "--dump-logits d --eval-iters 10 --global-batch-size 8",
            "--dump-logits: 80 samples of 1024 x 50257 logits are 15.3 GiB, "
            "and the limit is 4 GiB; give fewer --eval-iters or a smaller "
            "--global-batch-size");
    refuses("--model gpt-tiny --trace-iterations 2:3",
            "--trace-iterations is for --trace DIR or --synthetic");
    refuses("--model gpt-tiny --trace-iterations 3:1001",
            "--trace-iterations 3:1001 goes beyond --train-iters 1000");
    refuses("--model gpt-tiny --train-samples 8 --trace-iterations 2:3",
            "--trace-iterations 2:3 goes beyond the 2 iterations of "
            "--train-samples");
    refuses("--model gpt-tiny --inject-nan 1001",
            "--inject-nan 1001 is beyond --train-iters 1000");
}

static void test_the_layout_must_fit_the_ranks(void **state)
{
    (void) state;
    accepts("--model gpt-tiny --tensor-model-parallel-size 2 "
            "--pipeline-model-parallel-size 2");
    assert_int_equal(mtlm_options_layout_check(&options, 4, &error), 0);
    assert_int_equal(mtlm_options_layout_check(&options, 3, &error), -1);
    assert_string_equal(
        error.text, "--tensor-model-parallel-size 2 x "
                    "--pipeline-model-parallel-size 2 = 4 ranks, but this job "
                    "has 3, which is not a multiple; start with mpirun -n 4");
    assert_int_equal(error.code, MTLM_EXIT_USAGE);
    assert_int_equal(mtlm_options_layout_check(&options, 6, &error), -1);
    assert_string_equal(
        error.text,
        "--tensor-model-parallel-size 2 x --pipeline-model-parallel-size 2 = 4 "
        "ranks, but this job has 6, which is not a multiple; start with mpirun "
        "-n 4 or give --pipeline-model-parallel-size 3");
}

/* Those beyond tensor x pipeline share the batches. */
static void test_the_batches_must_fit_the_ranks(void **state)
{
    (void) state;
    accepts("--model gpt-tiny --tensor-model-parallel-size 2 "
            "--micro-batch-size 2 --global-batch-size 12");
    assert_int_equal(mtlm_options_layout_check(&options, 4, &error), 0);
    assert_int_equal(mtlm_options_layout_check(&options, 12, &error), 0);
    assert_int_equal(mtlm_options_layout_check(&options, 8, &error), -1);
    assert_string_equal(error.text,
                        "--global-batch-size 12 is not a multiple of 8: "
                        "--micro-batch-size 2 x 4 data-parallel ranks");
    assert_int_equal(error.code, MTLM_EXIT_USAGE);
    /* Where the micro batch is a preset's, it can be smaller. */
    accepts("--model gpt2-345m --tensor-model-parallel-size 1 "
            "--global-batch-size 12");
    assert_int_equal(mtlm_options_layout_check(&options, 12, &error), 0);
    assert_int_equal(mtlm_options_layout_check(&options, 8, &error), -1);
    assert_string_equal(error.text,
                        "--global-batch-size 12 cannot be shared by 8 "
                        "data-parallel ranks");
    /* Every batch of a ramp-up. */
    accepts("--model gpt-tiny --tensor-model-parallel-size 1 "
            "--micro-batch-size 1 --global-batch-size 12 --train-samples 1000 "
            "--rampup-batch-size 4 4 100");
    assert_int_equal(mtlm_options_layout_check(&options, 4, &error), 0);
    assert_int_equal(mtlm_options_layout_check(&options, 6, &error), -1);
    assert_string_equal(error.text,
                        "--rampup-batch-size: start 4 is not a multiple of 6: "
                        "--micro-batch-size 1 x 6 data-parallel ranks");
    /* No batch given: a micro batch of each. */
    accepts("--num-layers 2 --hidden-size 32 --num-attention-heads 2 "
            "--seq-length 16 --micro-batch-size 2 --train-iters 10 --lr 1");
    assert_int_equal(mtlm_options_layout_check(&options, 5, &error), 0);
}

/* All that is counted in iterations goes with it. */
static void test_a_batch_that_was_not_given_follows_the_ranks(void **state)
{
    (void) state;
    accepts("--num-layers 2 --hidden-size 32 --num-attention-heads 2 "
            "--seq-length 16 --micro-batch-size 2 --train-iters 10 --lr 1 "
            "--lr-warmup-iters 3");
    assert_int_equal(options.global_batch_size, 2);
    assert_int_equal(mtlm_options_set_batch(&options, 8, &error), 0);
    assert_int_equal(options.global_batch_size, 8);
    assert_int_equal(options.train_samples, 80);
    assert_true(options.lr_schedule.warmup_samples == 24);
    assert_true(options.lr_schedule.decay_samples == 80);
    accepts("--num-layers 2 --hidden-size 32 --num-attention-heads 2 "
            "--seq-length 16 --micro-batch-size 2 --train-samples 40 --lr 1");
    assert_int_equal(options.train_iters, 20);
    assert_int_equal(mtlm_options_set_batch(&options, 10, &error), 0);
    assert_int_equal(options.train_iters, 4);
    assert_int_equal(options.trace_iterations.last, 4);
    assert_int_equal(mtlm_options_set_batch(&options, 80, &error), -1);
}

static void test_requests_are_returned(void **state)
{
    (void) state;
    assert_int_equal(parse("--help"), MTLM_REQUEST_HELP);
    assert_int_equal(parse("--usage"), MTLM_REQUEST_USAGE);
    assert_int_equal(parse("--version --nonsense"), MTLM_REQUEST_VERSION);
    assert_int_equal(parse("--list-models"), MTLM_REQUEST_MODELS);
    assert_int_equal(parse("--model help"), MTLM_REQUEST_MODELS);
    assert_int_equal(parse("--print-config --model gpt-tiny"),
                     MTLM_REQUEST_CONFIG);
    assert_int_equal(parse("--print-config --model gpt-tiny --lr x"), -1);
    assert_int_equal(parse("--nonsense --help"), -1);
}

/* MTLM_OPT_NUM_LAYERS is "num-layers": no entry of the list is misspelt. */
static void test_an_option_is_called_as_its_name(void **state)
{
    static const char *const ids[] = {
#define OPT(group, id, ...) #id,
        MTLM_OPTION_LIST(OPT)
#undef OPT
    };

    (void) state;
    for (int i = 0; i < MTLM_OPTION_COUNT; i++) {
        char name[64];
        int n = 0;

        for (const char *c = ids[i]; *c; c++)
            name[n++] = *c == '_' ? '-' : (char) tolower((unsigned char) *c);
        name[n] = '\0';
        assert_string_equal(mtlm_option_name(i), name);
        assert_int_equal(mtlm_option_find(name), i);
    }
}

static void test_help_names_every_option(void **state)
{
    const char *exits;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    (void) state;
    mtlm_help_text_print(out);
    fclose(out);
    for (int i = 0; i < MTLM_OPTION_COUNT; i++) {
        char name[64];

        snprintf(name, sizeof(name), "--%s", mtlm_option_table[i].name);
        assert_non_null(strstr(text, name));
    }
    assert_non_null(strstr(text, "\nExamples:"));
    exits = strstr(text, "\nExit status:");
    assert_non_null(exits);
    assert_non_null(strstr(exits, " or in a validation, or "));
    /* Nor are these lines wider than a terminal. */
    for (const char *line = exits; *line; line += *line == '\n') {
        assert_true(strcspn(line, "\n") < 80);
        line += strcspn(line, "\n");
    }
    free(text);
}

/* The examples of --help are good advice. */
static void test_the_examples_of_help_are_accepted(void **state)
{
    char *text = NULL, *rest;
    size_t bytes;
    int n = 0;
    FILE *out = open_memstream(&text, &bytes);

    (void) state;
    mtlm_help_text_print(out);
    fclose(out);
    for (char *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *begin = strstr(line, "mtlm-dag --model ");

        line[strcspn(line, ">")] = '\0';
        if (!begin || strncmp(line, "  ", 2) != 0)
            continue;
        n++;
        if (parse(begin + strlen("mtlm-dag ")) < 0)
            fail_msg("%s: %s", line, error.text);
    }
    free(text);
    assert_true(n >= 5);
}

static bool notes_cores(void)
{
    return options.notes && strstr(options.notes, "several ranks take all");
}

static void test_cores_have_workers_as_far_as_starpu_has_them(void **state)
{
    const int most = mtlm_machine_most_workers(false);

    (void) state;
    unsetenv("STARPU_NCPU");
    unsetenv("STARPU_NCPUS");
    accepts("--model gpt-tiny");
    assert_int_equal(mtlm_options_workers_check(&options, &error), 0);
    assert_int_equal(mtlm_options_workers(&options, most), most);
    assert_false(notes_cores());
    assert_int_equal(mtlm_options_workers(&options, most + 32), most);
    assert_true(notes_cores());
    accepts("--model gpt-tiny --comm-node task");
    assert_int_equal(mtlm_options_workers(&options, most), most - 1);
    assert_true(notes_cores());
}

/* What asks for so many workers is refused by its name; StarPU's variables
 * count in StarPU's order. */
static void test_workers_asked_for_must_be_there(void **state)
{
    const int most = mtlm_machine_most_workers(false);
    char line[64], number[16];

    (void) state;
    for (int more = 0; more < 2; more++) {
        snprintf(line, sizeof(line), "--model gpt-tiny --workers %d",
                 most + more);
        accepts(line);
        assert_int_equal(mtlm_options_workers_check(&options, &error), -more);
    }
    assert_int_equal(error.code, MTLM_EXIT_USAGE);
    assert_non_null(strstr(error.text, "--workers="));
    accepts("--model gpt-tiny --comm-node task");
    snprintf(number, sizeof(number), "%d", most);
    setenv("STARPU_NCPUS", number, 1);
    assert_int_equal(mtlm_options_workers_check(&options, &error), -1);
    assert_non_null(strstr(error.text, "STARPU_NCPUS="));
    setenv("STARPU_NCPU", "3", 1);
    assert_int_equal(mtlm_options_workers_check(&options, &error), 0);
    assert_int_equal(mtlm_options_workers(&options, 1), 3);
    unsetenv("STARPU_NCPU");
    unsetenv("STARPU_NCPUS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_presets_fit_their_options),
        cmocka_unit_test(test_gpt_tiny_is_what_the_documents_say),
        cmocka_unit_test(test_a_stronger_source_overrides_a_weaker_one),
        cmocka_unit_test(test_a_file_can_name_the_preset),
        cmocka_unit_test(test_values_follow_from_others),
        cmocka_unit_test(test_the_family_decides_what_a_model_has),
        cmocka_unit_test(test_query_key_scaling_is_said_one_way),
        cmocka_unit_test(test_values_must_fit_each_other),
        cmocka_unit_test(test_the_layout_must_fit_the_ranks),
        cmocka_unit_test(test_the_batches_must_fit_the_ranks),
        cmocka_unit_test(test_a_batch_that_was_not_given_follows_the_ranks),
        cmocka_unit_test(test_requests_are_returned),
        cmocka_unit_test(test_an_option_is_called_as_its_name),
        cmocka_unit_test(test_help_names_every_option),
        cmocka_unit_test(test_the_examples_of_help_are_accepted),
        cmocka_unit_test(test_cores_have_workers_as_far_as_starpu_has_them),
        cmocka_unit_test(test_workers_asked_for_must_be_there),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
