/* Options that a job takes from the manifest of --load, and contradictions that
 * the job refuses. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/options/options_precision.h"
#include "launch/options/options_stored.h"
#include "tests/launch/parse.h"
#include "tests/launch/stored.h"

#define SETTINGS                                                               \
    "{\"model-type\": \"gpt\", \"num-layers\": \"2\", \"hidden-size\": "       \
    "\"64\", \"ffn-hidden-size\": \"256\", \"num-attention-heads\": \"4\", "   \
    "\"max-position-embeddings\": \"32\", \"vocab-size\": \"257\", "           \
    "\"layernorm-epsilon\": \"1e-05\", "                                       \
    "\"apply-query-key-layer-scaling\": \"yes\", \"seq-length\": \"32\", "     \
    "\"seed\": \"7\", \"split\": \"8,1,1\", \"data\": \"mock data\"}"

#define OTHERS                                                                 \
    "{\"micro-batch-size\": \"2\", \"global-batch-size\": \"8\", \"lr\": "     \
    "\"0.001\", \"train-iters\": \"10\", \"lr-warmup-iters\": \"2\", "         \
    "\"bf16\": \"yes\", \"data-path\": \"/nowhere/data\"}"

static void test_load_alone_brings_the_job(void **state)
{
    (void) state;
    stored_write(SETTINGS, OTHERS);
    accepts_load("");
    assert_int_equal(options.model.num_layers, 2);
    assert_int_equal(options.model.hidden_size, 64);
    assert_true(options.model.query_key_scaling);
    assert_int_equal(options.model.seq_length, 32);
    assert_int_equal(options.seed, 7);
    assert_string_equal(options.split, "8,1,1");
    assert_int_equal(options.global_batch_size, 8);
    assert_int_equal(options.train_iters, 10);
    assert_int_equal(options.lr_warmup_samples, 16);
    assert_true(options.bf16);
    assert_false(options.mock_data);
    assert_string_equal(options.data_path, "/nowhere/data");
    assert_string_equal(options.options_path, stored_checkpoint);
}

static void test_what_is_given_counts(void **state)
{
    (void) state;
    stored_write(SETTINGS, OTHERS);
    accepts_load("--train-samples 800 --lr 0.01 --fp16 --mock-data "
                 "--pipeline-model-parallel-size 2");
    assert_int_equal(options.train_iters, 100);
    assert_int_equal(options.lr_warmup_samples, 0);
    assert_true(options.lr_schedule.lr == 0.01);
    assert_true(options.fp16 && !options.bf16);
    assert_true(options.mock_data);
    assert_null(options.data_path);
    accepts_config("bf16 = no\n", "--model gpt-tiny");
    assert_null(options.options_path);
}

/* OTHERS for mock data in fp16, and more. */
#define FP16_AND                                                               \
    "{\"micro-batch-size\": \"2\", \"global-batch-size\": \"8\", \"lr\": "     \
    "\"0.001\", \"train-iters\": \"10\", \"mock-data\": \"yes\", \"fp16\": "   \
    "\"yes\", "

static void test_options_of_the_loss_scale_go_together(void **state)
{
    struct mtlm_loss_scale scale;

    (void) state;
    stored_write(SETTINGS, FP16_AND "\"initial-loss-scale\": \"65536\", "
                                    "\"min-loss-scale\": \"128\", "
                                    "\"loss-scale-window\": \"200\", "
                                    "\"hysteresis\": \"4\"}");
    accepts_load("--loss-scale-window 400");
    scale = mtlm_options_precision_scale(&options);
    assert_true(scale.dynamic && scale.initial == 65536 && scale.min == 128);
    assert_int_equal(scale.window, 400);
    assert_int_equal(scale.hysteresis, 4);
    /* The first scale is not the user's: a larger least one raises it. */
    accepts_load("--min-loss-scale 131072");
    scale = mtlm_options_precision_scale(&options);
    assert_true(scale.initial == 131072 && scale.min == 131072);
    /* A static scale is another thing. */
    accepts_load("--loss-scale 1024");
    scale = mtlm_options_precision_scale(&options);
    assert_true(!scale.dynamic && scale.initial == 1024);
    assert_false(mtlm_options_given(&options, MTLM_OPT_MIN_LOSS_SCALE));
    stored_write(SETTINGS, FP16_AND "\"loss-scale\": \"1024\"}");
    accepts_load("--hysteresis 4");
    scale = mtlm_options_precision_scale(&options);
    assert_true(scale.dynamic && scale.hysteresis == 4);
}

static void test_a_weight_decay_keeps_its_course(void **state)
{
    const struct mtlm_lr_schedule *s = &options.lr_schedule;

    (void) state;
    stored_write(SETTINGS, FP16_AND "\"weight-decay-incr-style\": \"linear\", "
                                    "\"start-weight-decay\": \"0.01\", "
                                    "\"end-weight-decay\": \"0.1\"}");
    accepts_load("--end-weight-decay 0.2");
    assert_int_equal(s->weight_decay_style, MTLM_WEIGHT_DECAY_LINEAR);
    assert_true(s->weight_decay == 0.01 && s->end_weight_decay == 0.2);
    /* Another course, or none. */
    accepts_load("--weight-decay 0.05");
    assert_int_equal(s->weight_decay_style, MTLM_WEIGHT_DECAY_CONSTANT);
    assert_true(s->weight_decay == 0.05 && s->end_weight_decay == 0.05);
    accepts_load("--weight-decay-incr-style cosine");
    assert_true(s->weight_decay == 0.01 && s->end_weight_decay == 0.1);
    accepts_load("--weight-decay-incr-style constant");
    assert_false(mtlm_options_given(&options, MTLM_OPT_END_WEIGHT_DECAY));
}

/* Of 800 samples, the first iterations may have had smaller batches. */
static void test_iterations_beyond_those_of_the_batch_may_be_traced(
    void **state)
{
    (void) state;
    stored_write(SETTINGS, OTHERS);
    accepts_load("--mock-data --train-samples 800 --trace t "
                 "--trace-iterations 110:112");
    assert_int_equal(options.train_iters, 100);
    refuses("--model gpt-tiny --train-samples 800 --global-batch-size 8 "
            "--trace t --trace-iterations 110:112",
            "--trace-iterations 110:112 goes beyond the 100 iterations of "
            "--train-samples");
}

static void test_the_micro_batch_gives_way(void **state)
{
    char *plan;
    char line[256];

    (void) state;
    stored_write(SETTINGS, OTHERS);
    accepts_load("--mock-data --global-batch-size 3");
    assert_string_equal(options.notes,
                        "micro batch of 1 sample: the checkpoint's 2 do not "
                        "divide the global batch of 3");
    snprintf(line, sizeof(line),
             "--load %s --mock-data --dry-run --world-size 8 "
             "--tensor-model-parallel-size 1 --pipeline-model-parallel-size 1",
             stored_dir);
    plan = plan_of(line);
    assert_string_equal(options.notes,
                        "micro batch of 1 sample: the checkpoint's 2 do not "
                        "divide the 1 of each of 8 data-parallel ranks");
    free(plan);
}

static void test_a_new_training_keeps_its_seed_and_precision(void **state)
{
    (void) state;
    stored_write(SETTINGS, OTHERS);
    accepts_load("--finetune --split 969,30,1");
    assert_int_equal(options.seed, 1234);
    assert_false(options.bf16);
    assert_string_equal(options.split, "969,30,1");
    assert_string_equal(options.data_path, "/nowhere/data");
    accepts_load("--no-load-rng");
    assert_int_equal(options.seed, 1234);
    assert_true(options.bf16);
}

static void test_a_contradiction_is_refused(void **state)
{
    (void) state;
    stored_write(SETTINGS, OTHERS);
    refuses_load("--num-layers 3",
                 "was saved with --num-layers 2, this job has 3");
    refuses_load("--position-embedding-type alibi",
                 "was saved with --position-embedding-type learned_absolute, "
                 "this job has alibi");
    refuses_load("--finetune --model-type bert",
                 "was saved with --model-type gpt, this job has bert");
    refuses_load("--model gpt-tiny",
                 "was saved with --num-layers 2, this job has 4 from --model; "
                 "without --model it takes the checkpoint's");
    refuses_load("--no-query-key-layer-scaling",
                 "was saved with --apply-query-key-layer-scaling yes, this job "
                 "has no");
    refuses_load("--eval-only --vocab-size 300",
                 "was saved with --vocab-size 257, this job has 300");
    refuses_load("--seq-length 16",
                 "was saved with --seq-length 32, this job has 16; --finetune "
                 "starts a new training from its weights");
    accepts_load("--seq-length 16 --finetune");
    accepts_load("--seq-length 16 --eval-only");
}

static void test_weights_alone_ask_for_the_rest(void **state)
{
    char line[128], want[256];

    (void) state;
    stored_write(SETTINGS, NULL);
    snprintf(want, sizeof(want),
             "--micro-batch-size is missing, and %s does not hold it; give it, "
             "or start from a preset such as --model gpt-tiny",
             stored_checkpoint);
    snprintf(line, sizeof(line), "--load %s", stored_dir);
    refuses(line, want);
    accepts_load("--mock-data --eval-only");
    assert_int_equal(options.micro_batch_size, 1);
    assert_int_equal(options.model.seq_length, 32);
    accepts_load("--micro-batch-size 2 --train-iters 3 --lr 1e-3");
    assert_int_equal(options.model.num_layers, 2);
    snprintf(line, sizeof(line), "--load %s/iter_0000007", stored_dir);
    snprintf(want, sizeof(want),
             "--num-layers is missing, and --load %s has no checkpoint that "
             "holds it; give it, or start from a preset such as --model "
             "gpt-tiny",
             stored_checkpoint);
    refuses(line, want);
}

/* Options of a job that lacks --lr alone. */
#define NO_RATE                                                                \
    "--num-layers 2 --hidden-size 8 --num-attention-heads 2 --seq-length 8 "   \
    "--micro-batch-size 1 --mock-data "

/* A job that saves where it loads begins without the directory. */
static void test_a_first_start_asks_for_what_is_missing(void **state)
{
    static const char *const others[] = {
        NO_RATE "--save other --load nowhere",
        NO_RATE "--save nowhere --load nowhere --finetune"};

    (void) state;
    refuses(NO_RATE "--save nowhere --load nowhere",
            "--lr is missing, and --load nowhere has no checkpoint that holds "
            "it; give it, or start from a preset such as --model gpt-tiny");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(parse(others[i]), -1);
        assert_string_equal(error.text,
                            "--load nowhere: No such file or directory");
        assert_int_equal(error.code, MTLM_EXIT_INPUT);
    }
}

/* The checkpoint holds both options, of another training. */
static void test_a_fine_tuning_asks_for_its_own_recipe(void **state)
{
    static const char *const task =
        "--task mnli --train-data a --valid-data b --pretrained-checkpoint";
    char line[256];

    (void) state;
    stored_write(SETTINGS, OTHERS);
    snprintf(line, sizeof(line), "%s %s", task, stored_dir);
    refuses(line, "--micro-batch-size is missing, and a fine-tuning takes none "
                  "from a pretraining; give it");
    snprintf(line, sizeof(line), "%s %s --micro-batch-size 2", task,
             stored_dir);
    refuses(line, "--lr is missing, and a fine-tuning takes none from a "
                  "pretraining; give it");
}

static void test_a_manifest_sets_its_own_options_only(void **state)
{
    char line[128], want[256];

    (void) state;
    stored_write(SETTINGS, "{\"save\": \"/etc\", \"later\": \"1\", \"lr\": "
                           "\"0.1\", \"micro-batch-size\": \"2\", "
                           "\"train-iters\": \"3\"}");
    accepts_load("");
    assert_null(options.save_dir);
    assert_non_null(strstr(options.notes,
                           "was saved with --save, which this program does "
                           "not know; the option is left out"));
    assert_non_null(strstr(options.notes, "was saved with --later,"));
    stored_write(SETTINGS, "{\"lr\": \"high\"}");
    snprintf(line, sizeof(line), "--load %s", stored_dir);
    snprintf(want, sizeof(want),
             "%s: lr is 'high', it must be a number from 0 to 1000",
             stored_checkpoint);
    assert_int_equal(parse(line), -1);
    assert_string_equal(error.text, want);
    assert_int_equal(error.code, MTLM_EXIT_INPUT);
}

/* A job stores what was given, and another job takes the same. */
static void test_stored_options_return(void **state)
{
    json_t *settings, *others, *again;
    char *here = get_current_dir_name(), *path;

    (void) state;
    accepts(
        "--model gpt-tiny --global-batch-size 8 --bf16 --data-path text "
        "--rampup-batch-size 4 4 "
        "64 --train-samples 800 --log-interval 1 --log-format short --save x "
        "--row-parts 2");
    settings = mtlm_options_stored_settings(&options);
    others = mtlm_options_stored_others(&options);
    assert_true(asprintf(&path, "%s/text", here) > 0);
    assert_string_equal(json_string_value(json_object_get(others, "data-path")),
                        path);
    assert_null(json_object_get(others, "log-interval"));
    assert_null(json_object_get(others, "log-format"));
    assert_null(json_object_get(others, "save"));
    assert_null(json_object_get(others, "row-parts"));
    stored_write(json_dumps(settings, 0), json_dumps(others, 0));
    accepts_load("");
    assert_int_equal(options.ramp.increment, 4);
    again = mtlm_options_stored_others(&options);
    assert_true(json_equal(others, again));
    json_decref(again);
    json_decref(others);
    json_decref(settings);
    free(path);
    free(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_alone_brings_the_job),
        cmocka_unit_test(test_what_is_given_counts),
        cmocka_unit_test(test_options_of_the_loss_scale_go_together),
        cmocka_unit_test(test_a_weight_decay_keeps_its_course),
        cmocka_unit_test(
            test_iterations_beyond_those_of_the_batch_may_be_traced),
        cmocka_unit_test(test_the_micro_batch_gives_way),
        cmocka_unit_test(test_a_new_training_keeps_its_seed_and_precision),
        cmocka_unit_test(test_a_contradiction_is_refused),
        cmocka_unit_test(test_weights_alone_ask_for_the_rest),
        cmocka_unit_test(test_a_first_start_asks_for_what_is_missing),
        cmocka_unit_test(test_a_fine_tuning_asks_for_its_own_recipe),
        cmocka_unit_test(test_a_manifest_sets_its_own_options_only),
        cmocka_unit_test(test_stored_options_return),
    };

    return cmocka_run_group_tests(tests, stored_setup, stored_teardown);
}
