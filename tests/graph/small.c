#include "config.h"

#include <stdlib.h>

#include "runtime/philox.h"
#include "tests/graph/small.h"

enum { VOCAB = 57, S = 12, SOURCE_SEED = 77 };

/* Random tokens, of which all count. */
static void read_sample(const struct mtlm_sample_source *source, int64_t sample,
                        enum mtlm_field field, int64_t first, int64_t n,
                        int32_t *values)
{
    const int64_t at = first + (field == MTLM_FIELD_LABELS);

    (void) source;
    for (int64_t i = 0; i < n; i++) {
        uint32_t word[4];

        mtlm_philox(SOURCE_SEED, sample, at + i, word);
        values[i] = field <= MTLM_FIELD_LABELS ? (int32_t) (word[0] % VOCAB)
                    : field == MTLM_FIELD_LOSS_MASK ? 1
                    : field == MTLM_FIELD_LENGTH    ? S
                                                    : 0;
    }
}

static const struct mtlm_sample_source source = {.read = read_sample};

static const struct mtlm_schedule schedule = {.style = MTLM_LR_CONSTANT,
                                              .lr = 1e-3,
                                              .weight_decay = 0.01,
                                              .end_weight_decay = 0.01};

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
        .window = 1.5,
        .clip = 1,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .epsilon = 1e-8,
        .schedule = schedule,
        .train = &source,
        .valid = &source,
    };
}

struct small_ranks small_ranks_create(const struct mtlm_program_config *config)
{
    struct small_ranks ranks = {.n = mtlm_layout_ranks(&config->layout)};

    ranks.program = mtlm_calloc(ranks.n, sizeof(*ranks.program));
    for (int r = 0; r < ranks.n; r++) {
        struct mtlm_program_config mine = *config;

        mtlm_layout_place(&mine.layout, r);
        ranks.program[r] = mtlm_program_create(&mine);
    }
    return ranks;
}

void small_ranks_destroy(struct small_ranks *ranks)
{
    for (int r = 0; r < ranks->n; r++)
        mtlm_program_destroy(ranks->program[r]);
    free(ranks->program);
}

const struct small_case small_cases[] = {
    {1, 1, 1, 1}, {1, 1, 1, 3}, {1, 2, 1, 1}, {1, 2, 1, 8}, {1, 4, 1, 2},
    {1, 4, 1, 5}, {1, 4, 1, 8}, {2, 1, 1, 1}, {2, 1, 1, 3}, {2, 2, 1, 1},
    {2, 2, 1, 5}, {2, 4, 1, 3}, {2, 4, 1, 9}, {1, 2, 2, 4}, {2, 2, 2, 5}};
const int small_n_cases = sizeof(small_cases) / sizeof(small_cases[0]);

struct mtlm_program_config small_case_config(const struct small_case *c)
{
    struct mtlm_program_config config =
        small_config(c->tp, c->pp, c->microbatches);

    config.layout.virtual_stages = c->virtual_stages;
    return config;
}

bool small_same_group(const struct mtlm_program *a,
                      const struct mtlm_program *b, enum mtlm_group group)
{
    const struct mtlm_layout *x = &a->config.layout, *y = &b->config.layout;
    const bool end = y->pp_rank == 0 || y->pp_rank == y->pp - 1;

    switch (group) {
    case MTLM_GROUP_TP:
        return x->pp_rank == y->pp_rank && x->dp_rank == y->dp_rank;
    case MTLM_GROUP_EMBEDDING:
        return x->tp_rank == y->tp_rank && x->dp_rank == y->dp_rank && end;
    default:
        return true;
    }
}
