#include "config.h"

#include <stdlib.h>

#include "graph/build/program_build.h"
#include "runtime/base/philox.h"
#include "tests/graph/small.h"

enum { VOCAB = 57, S = 12, CLASSES = 3 };
enum { SOURCE_SEED = 77, ANY_LENGTH = 1 << 20 };

static uint32_t random_number(int64_t sample, int64_t at)
{
    uint32_t word[4];

    mtlm_philox(SOURCE_SEED, sample, at, word);
    return word[0];
}

/* Random tokens, lengths, types and orders; one label of four does not
 * count. */
static void read_sample(struct mtlm_samples *source, int64_t sample,
                        enum mtlm_field field, int64_t first, int64_t n,
                        int32_t *values)
{
    const int64_t length = S / 2 + random_number(sample, 1000) % (S / 2 + 1);

    (void) source;
    for (int64_t i = first; i < first + n; i++) {
        const uint32_t r = random_number(sample, 100 * field + i);
        const int32_t value[MTLM_FIELD_COUNT] = {
            [MTLM_FIELD_TOKENS] = r % VOCAB,
            [MTLM_FIELD_LABELS] = r % VOCAB,
            [MTLM_FIELD_LOSS_MASK] = i < length && r % 4 > 0,
            [MTLM_FIELD_TYPES] = r % 2,
            [MTLM_FIELD_LENGTH] = length,
            [MTLM_FIELD_ORDER] = r % 2,
            [MTLM_FIELD_CLASS] = r % CLASSES,
            [MTLM_FIELD_START] = r % length,
            [MTLM_FIELD_END] = r % length};

        values[i - first] = value[field];
    }
}

static struct mtlm_samples source = {.read = read_sample};

static const struct mtlm_lr_schedule lr_schedule = {.style = MTLM_LR_CONSTANT,
                                                    .lr = 1e-3,
                                                    .weight_decay = 0.01,
                                                    .end_weight_decay = 0.01};
static void read_full_sample(struct mtlm_samples *unused, int64_t sample,
                             enum mtlm_field field, int64_t first, int64_t n,
                             int32_t *values)
{
    read_sample(unused, sample, field, first, n, values);
    for (int64_t i = 0; i < n; i++)
        values[i] = field == MTLM_FIELD_LOSS_MASK ? 1
                    : field == MTLM_FIELD_LENGTH  ? ANY_LENGTH
                                                  : values[i];
}

struct mtlm_samples small_full_source = {.read = read_full_sample};

const struct mtlm_schedule *small_schedule(const char *name)
{
    return name ? mtlm_schedule_find(name) : mtlm_schedules;
}

struct mtlm_program_config small_config(int tp, int pp, int64_t microbatches)
{
    return (struct mtlm_program_config){
        .model = {.num_layers = 4,
                  .hidden_size = 32,
                  .num_heads = 4,
                  .ffn_hidden_size = 128,
                  .seq_length = S,
                  .max_positions = 14,
                  .vocab_size = VOCAB,
                  .vocab_multiple = 4,
                  .layernorm_epsilon = 1e-5,
                  .hidden_dropout = 0.1,
                  .attention_dropout = 0.1,
                  .init_std = 0.02},
        .layout =
            {.tp = tp, .pp = pp, .dp = 1, .virtual_stages = 1, .workers = 1},
        .micro_batch = 2,
        .microbatches = microbatches,
        .eval_microbatches = 3,
        .seed = 1234,
        .schedule = small_schedule(NULL),
        .window = 1.5,
        .clip = 1,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .epsilon = 1e-8,
        .lr_schedule = lr_schedule,
        .train = &source,
        .valid = &source,
    };
}

const struct small_model small_models[] = {
    {"GPT", .family = MTLM_GPT},
    {"GPT in parts", .family = MTLM_GPT, .row_parts = 3},
    {"GPT with query-key scaling", .family = MTLM_GPT,
     .query_key_scaling = true, .post_layernorm = true},
    {"BERT", .family = MTLM_BERT, .binary_head = true},
    {"BERT in parts", .family = MTLM_BERT, .binary_head = true, .row_parts = 5},
    {"BERT, post-LN", .family = MTLM_BERT, .binary_head = true,
     .post_layernorm = true},
    {"BERT, post-LN, in parts", .family = MTLM_BERT, .binary_head = true,
     .post_layernorm = true, .row_parts = 2},
    {"BERT without binary head", .family = MTLM_BERT, .exact_gelu = true,
     .query_key_scaling = true},
    {"BLOOM", .family = MTLM_GPT, .positions = MTLM_POSITIONS_ALIBI,
     .embedding_layernorm = true},
    {"BLOOM in parts", .family = MTLM_GPT, .positions = MTLM_POSITIONS_ALIBI,
     .embedding_layernorm = true, .row_parts = 3},
    {"GPT with ALiBi", .family = MTLM_GPT, .positions = MTLM_POSITIONS_ALIBI,
     .query_key_scaling = true},
    {"BERT of classes", .family = MTLM_BERT, .head = MTLM_HEAD_CLASSIFICATION},
    {"BERT of classes, in parts", .family = MTLM_BERT, .row_parts = 5,
     .head = MTLM_HEAD_CLASSIFICATION},
    {"BERT of choices", .family = MTLM_BERT, .head = MTLM_HEAD_CHOICE},
    {"BERT of spans", .family = MTLM_BERT, .post_layernorm = true,
     .head = MTLM_HEAD_SPAN},
    {"BERT of spans, in parts", .family = MTLM_BERT, .row_parts = 5,
     .head = MTLM_HEAD_SPAN},
};
const int small_n_models = sizeof(small_models) / sizeof(small_models[0]);

struct mtlm_program_config small_model_config(const struct small_model *model,
                                              int tp, int pp,
                                              int64_t microbatches)
{
    struct mtlm_program_config config = small_config(tp, pp, microbatches);

    config.model.family = model->family;
    config.model.num_token_types = model->family == MTLM_BERT ? 2 : 0;
    config.model.binary_head = model->binary_head;
    config.model.post_layernorm = model->post_layernorm;
    config.model.query_key_scaling = model->query_key_scaling;
    config.model.exact_gelu = model->exact_gelu;
    config.model.positions = model->positions;
    config.model.embedding_layernorm = model->embedding_layernorm;
    config.row_parts = model->row_parts;
    config.model.head = model->head;
    config.model.classes = model->head != MTLM_HEAD_PRETRAINING ? CLASSES : 0;
    config.micro_batch *= mtlm_model_choices(&config.model);
    return config;
}

struct small_ranks small_ranks_create(const struct mtlm_program_config *config)
{
    struct small_ranks ranks = {.n = mtlm_layout_ranks(&config->layout)};

    ranks.program = mtlm_calloc(ranks.n, sizeof(*ranks.program));
    for (int r = 0; r < ranks.n; r++) {
        struct mtlm_program_config mine = *config;

        mtlm_layout_place(&mine.layout, r);
        ranks.program[r] = mtlm_program_build(&mine);
    }
    return ranks;
}

void small_ranks_destroy(struct small_ranks *ranks)
{
    for (int r = 0; r < ranks->n; r++)
        mtlm_program_destroy(ranks->program[r]);
    free(ranks->program);
}

struct mtlm_plan small_plan(const struct mtlm_program_config *config)
{
    struct small_ranks ranks = small_ranks_create(config);
    const struct mtlm_plan plan = mtlm_plan(ranks.program[0], 0);

    small_ranks_destroy(&ranks);
    return plan;
}

double small_kept_bytes(struct mtlm_program_config config, int64_t num_layers)
{
    struct small_ranks ranks;
    double bytes = 0;

    config.model.num_layers = num_layers;
    ranks = small_ranks_create(&config);
    for (int i = 0; i < ranks.program[0]->graph->n_tensors; i++) {
        const struct mtlm_tensor *t = ranks.program[0]->graph->tensor[i];

        if (t->storage == MTLM_STORE_ACTIVATION && mtlm_tensor_is_owner(t)
            && t->first_use == MTLM_PHASE_FORWARD
            && t->last_use > MTLM_PHASE_FORWARD)
            bytes += mtlm_tensor_bytes(t);
    }
    small_ranks_destroy(&ranks);
    return bytes;
}

const struct small_case small_cases[] = {
    {1, 1, 1, .microbatches = 1},
    {1, 1, 1, .microbatches = 3},
    {1, 2, 1, .microbatches = 1},
    {1, 2, 1, .microbatches = 8},
    {1, 4, 1, .microbatches = 2},
    {1, 4, 1, .microbatches = 5},
    {1, 4, 1, .microbatches = 8},
    {2, 1, 1, .microbatches = 1},
    {2, 1, 1, .microbatches = 3},
    {2, 2, 1, .microbatches = 1},
    {2, 2, 1, .microbatches = 5},
    {2, 4, 1, .microbatches = 3},
    {2, 4, 1, .microbatches = 9},
    {1, 2, 2, .microbatches = 4},
    {2, 2, 2, .microbatches = 5},
    {1, 1, 1, .microbatches = 2, .row_parts = 4},
    {1, 4, 1, .microbatches = 5, .row_parts = 3},
    {2, 2, 2, .microbatches = 3, .row_parts = 2},
    /* Several virtual stages on one rank alone; more than two; uneven ones. */
    {1, 1, 3, .microbatches = 3},
    {2, 1, 2, .microbatches = 2, .row_parts = 3},
    {1, 2, 3, .microbatches = 5, .layers = 7},
    {1, 4, 1, .microbatches = 6, .layers = 7},
    {1, 2, 2, .microbatches = 5, .layers = 12, .stage_layers = {2, 5, 4, 1}},
    /* The first and the last stage on one rank, or not. */
    {1, 2, 2, .microbatches = 4, .placement = MTLM_PLACEMENT_V},
    {2, 2, 2, .microbatches = 5, .row_parts = 2, .placement = MTLM_PLACEMENT_V},
    {1, 4, 2, .microbatches = 9, .layers = 12, .placement = MTLM_PLACEMENT_V},
    {1, 2, 3, .microbatches = 5, .layers = 7, .placement = MTLM_PLACEMENT_V},
    {1, 3, 2, .microbatches = 5, .layers = 7, .placement = MTLM_PLACEMENT_V,
     .stage_layers = {1, 1, 1, 1, 2, 1}},
    /* Fused: W before what B sends. */
    {1, 2, 1, .microbatches = 5, .schedule = "1f1b"},
    {2, 4, 1, .microbatches = 6, .schedule = "gpipe"},
    {1, 2, 2, .microbatches = 4, .row_parts = 2, .schedule = "interleaved"},
    /* No number of microbatches is a multiple of anything. */
    {1, 4, 2, .microbatches = 3, .layers = 9, .schedule = "interleaved"},
    {2, 2, 3, .microbatches = 5, .layers = 7, .schedule = "interleaved"},
    {1, 4, 1, .microbatches = 7, .layers = 7, .schedule = "zb-h1"},
    {1, 4, 1, .microbatches = 7, .schedule = "zb-h2"},
    {1, 3, 2, .microbatches = 7, .layers = 7, .placement = MTLM_PLACEMENT_V,
     .schedule = "zb-v"}};
const int small_n_cases = sizeof(small_cases) / sizeof(small_cases[0]);

bool small_neighbours(const struct mtlm_layout *layout, int k)
{
    return mtlm_layout_rank_of_stage(layout, k)
           == mtlm_layout_rank_of_stage(layout, k + 1);
}

int small_parts(const struct small_case *c)
{
    return c->row_parts > 0 ? c->row_parts : 1;
}

int small_weight_parts(const struct small_case *c)
{
    return c->tp == 1 && c->pp == 1 ? 1 : small_parts(c);
}

struct mtlm_program_config small_case_config(const struct small_case *c)
{
    struct mtlm_program_config config =
        small_config(c->tp, c->pp, c->microbatches);

    config.layout.virtual_stages = c->virtual_stages;
    config.layout.placement = c->placement;
    config.schedule = small_schedule(c->schedule);
    if (c->layers)
        config.model.num_layers = c->layers;
    if (c->stage_layers[0])
        config.layout.stage_layers = c->stage_layers;
    config.row_parts = c->row_parts;
    return config;
}

void small_for_each_case(void (*body)(const struct small_case *,
                                      struct small_ranks *))
{
    for (int i = 0; i < small_n_cases; i++) {
        const struct mtlm_program_config config =
            small_case_config(&small_cases[i]);
        struct small_ranks ranks = small_ranks_create(&config);

        body(&small_cases[i], &ranks);
        small_ranks_destroy(&ranks);
    }
}

int small_count(const struct mtlm_items *items, enum mtlm_op_kind kind)
{
    int n = 0;

    for (int i = 0; i < items->n; i++)
        n += items->item[i].node->call.kind == kind;
    return n;
}
