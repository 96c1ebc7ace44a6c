/* Generation of text in every layout, beside the argmax of a validation's
 * logits, for which the whole sequence is computed again for each token. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/graph/interpreter.h"
#include "tests/graph/small.h"

enum { SEQUENCES = 3, SLOTS = 2, ROWS = 3, MOST = 12, VOCAB = 57 };

/* Lengths of the prompts: less than a piece, whole pieces, the most. */
static const int64_t length[SEQUENCES] = {2, 6, 7};

static int32_t text[SEQUENCES][MOST];
static int64_t known[SEQUENCES];

static void read_text(struct mtlm_samples *source, int64_t sample,
                      enum mtlm_field field, int64_t first, int64_t n,
                      int32_t *values)
{
    (void) source;
    for (int64_t i = first; i < first + n; i++)
        values[i - first] = field == MTLM_FIELD_LENGTH ? MOST
                            : field != MTLM_FIELD_TOKENS || i >= known[sample]
                                ? 0
                                : text[sample][i];
}

static struct mtlm_samples source = {.read = read_text};

static void write_prompts(void)
{
    for (int q = 0; q < SEQUENCES; q++) {
        known[q] = length[q];
        for (int64_t i = 0; i < length[q]; i++)
            text[q][i] = (int32_t) ((7 + 13 * q + 5 * i) % VOCAB);
    }
}

/* Weights far from zero, so that other tokens follow from other prompts. */
static struct mtlm_program_config config_of(const struct small_model *model,
                                            int tp, int pp)
{
    struct mtlm_program_config config = small_model_config(model, tp, pp, 1);

    config.model.init_std = 0.3;
    config.valid = &source;
    config.eval_only = true;
    config.micro_batch = 1;
    config.eval_microbatches = 0;
    config.decoding = (struct mtlm_decoding){
        .sequences = SLOTS, .positions = MOST, .prompt_rows = ROWS, .top_p = 1};
    return config;
}

/* ---- the other way ---- */

static int32_t find_next(struct interpreter *in, int q)
{
    const struct mtlm_program *program = interpreter_program(in, 0);
    int64_t row = known[q] - 1;
    const mtlm_real *logits;
    int32_t best = 0;
    int i = 0;

    interpreter_validation(in);
    while (row >= program->eval_logits.part[i]->shape.dim[0])
        row -= program->eval_logits.part[i++]->shape.dim[0];
    logits = interpreter_data_of(in, 0, program->eval_logits.part[i], q);
    logits += row * program->eval_logits.part[i]->shape.dim[2];
    for (int32_t k = 1; k < VOCAB; k++)
        if (logits[k] > logits[best])
            best = k;
    return best;
}

/* Continues all prompts to MOST tokens. */
static void continue_again(const struct small_model *model,
                           int32_t want[SEQUENCES][MOST])
{
    struct mtlm_program_config config = config_of(model, 1, 1);
    struct interpreter *in;

    config.decoding.sequences = 0;
    config.eval_microbatches = SEQUENCES;
    config.microbatches = SEQUENCES;
    config.layout.workers = SEQUENCES; /* a slot for each */
    in = interpreter_create(&config);
    interpreter_init(in);
    write_prompts();
    for (int q = 0; q < SEQUENCES; q++)
        while (known[q] < MOST) {
            const int32_t next = find_next(in, q);

            text[q][known[q]++] = next;
        }
    memcpy(want, text, sizeof(text));
    interpreter_destroy(in);
}

/* ---- generation ---- */

/* Every rank has drawn or received the same. */
static int32_t read_token(struct interpreter *in, int ranks, int slot)
{
    int32_t token = -1;

    for (int r = 0; r < ranks; r++) {
        const int32_t *mine = interpreter_data_of(
            in, r, interpreter_program(in, r)->decode.token, slot);

        assert_true(r == 0 || *mine == token);
        token = *mine;
    }
    return token;
}

static void take_prompt(struct interpreter *in, int slot, int q)
{
    int64_t at = 0, rows = 0;

    interpreter_decode(in, INTERPRETER_BEGIN, slot, q, 0, 0);
    for (; at < length[q]; at += rows) {
        rows = length[q] - at < ROWS ? length[q] - at : ROWS;
        interpreter_decode(in, INTERPRETER_PROMPT, slot, q, at, rows);
    }
    interpreter_decode(in, INTERPRETER_PROMPT_END, slot, q, at - rows, rows);
}

/* Two sequences take turns; the third follows in the slot of the first that
 * ends. */
static void generate(const struct mtlm_program_config *config)
{
    const int ranks = mtlm_layout_ranks(&config->layout);
    struct interpreter *in = interpreter_create(config);
    int of[SLOTS] = {0, 1}, next = SLOTS, left = SEQUENCES;

    interpreter_init(in);
    write_prompts();
    for (int slot = 0; slot < SLOTS; slot++)
        take_prompt(in, slot, of[slot]);
    for (int slot = 0; left > 0; slot = (slot + 1) % SLOTS) {
        const int q = of[slot];

        if (q < 0)
            continue;
        text[q][known[q]++] = read_token(in, ranks, slot);
        if (known[q] < MOST) {
            interpreter_decode(in, INTERPRETER_STEP, slot, q, known[q] - 1, 1);
            continue;
        }
        left--;
        of[slot] = next < SEQUENCES ? next++ : -1;
        if (of[slot] >= 0)
            take_prompt(in, slot, of[slot]);
    }
    interpreter_destroy(in);
}

static const struct {
    int tp, pp, virtual_stages;
    enum mtlm_placement placement;
} layouts[] = {
    {1, 1, 1, 0}, {2, 1, 1, 0}, {4, 1, 1, 0}, {1, 2, 1, 0},
    {1, 4, 1, 0}, {2, 2, 1, 0}, {1, 2, 2, 0}, {1, 2, 2, MTLM_PLACEMENT_V}};

static void test_every_layout_continues_as_a_validation_says(void **state)
{
    int others = 0;

    (void) state;
    for (int m = 0; m < small_n_models; m++) {
        int32_t want[SEQUENCES][MOST];

        if (small_models[m].family != MTLM_GPT)
            continue;
        continue_again(&small_models[m], want);
        for (int i = 1; i < MOST; i++)
            others += want[0][i] != want[0][i - 1];
        for (size_t l = 0; l < sizeof(layouts) / sizeof(layouts[0]); l++) {
            struct mtlm_program_config config =
                config_of(&small_models[m], layouts[l].tp, layouts[l].pp);

            config.layout.virtual_stages = layouts[l].virtual_stages;
            config.layout.placement = layouts[l].placement;
            config.model.hidden_dropout = config.model.attention_dropout = 0.5;
            generate(&config);
            assert_memory_equal(text, want, sizeof(text));
        }
    }
    assert_true(others > 10); /* not the same token for ever */
}

/* Two slots of an activation are enough, however many sequences there are. */
static void test_caches_alone_grow_with_the_sequences(void **state)
{
    struct mtlm_program_config config = config_of(&small_models[0], 1, 1);
    struct interpreter *in;

    (void) state;
    config.decoding.sequences = 9;
    in = interpreter_create(&config);
    for (int i = 0; i < interpreter_program(in, 0)->graph->n_tensors; i++) {
        const struct mtlm_tensor *t =
            interpreter_program(in, 0)->graph->tensor[i];

        if (t->storage == MTLM_STORE_ACTIVATION && !t->pool && !t->alias_of
            && strcmp(t->name, "shared ring") != 0)
            assert_true(t->slots <= 2);
    }
    assert_int_equal(interpreter_program(in, 0)->decode.cache[3]->slots, 9);
    interpreter_destroy(in);
}

/* Nodes, and operations without those of attention, that one more token costs
 * where sequences have so many positions. */
static double count_step(int64_t positions, int *nodes)
{
    struct mtlm_program_config config = config_of(&small_models[0], 1, 1);
    struct interpreter *in;
    const struct mtlm_items *step;
    double flops = 0;

    config.decoding.positions = positions;
    in = interpreter_create(&config);
    step = &interpreter_program(in, 0)->decode.step;
    *nodes = step->n;
    for (int i = 0; i < step->n; i++)
        flops += step->item[i].node->flops;
    interpreter_destroy(in);
    return flops;
}

/* So the cost of a text is linear in its length, attention's own sum apart. */
static void test_a_token_costs_the_same_in_any_text(void **state)
{
    int few, many;
    const double flops = count_step(MOST, &few);

    (void) state;
    assert_true(flops > 0);
    assert_true(flops == count_step(100 * MOST, &many));
    assert_int_equal(few, many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_layout_continues_as_a_validation_says),
        cmocka_unit_test(test_caches_alone_grow_with_the_sequences),
        cmocka_unit_test(test_a_token_costs_the_same_in_any_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
