#ifndef MTLM_TESTS_PAPERS_H
#define MTLM_TESTS_PAPERS_H

/* Models as the papers of Megatron-LM have them: l layers, hidden size h, a
 * heads, s tokens, v words. */

#include "models/model.h"

static inline struct mtlm_model gpt(int64_t l, int64_t h, int64_t a, int64_t s,
                                    int64_t v)
{
    return (struct mtlm_model){.num_layers = l,
                               .hidden_size = h,
                               .num_heads = a,
                               .ffn_hidden_size = 4 * h,
                               .seq_length = s,
                               .max_positions = s,
                               .vocab_size = v,
                               .vocab_multiple = 128,
                               .layernorm_epsilon = 1e-5,
                               .init_std = 0.02};
}

static inline struct mtlm_model bert(int64_t l, int64_t h, int64_t a)
{
    struct mtlm_model model = gpt(l, h, a, 512, 30522);

    model.family = MTLM_BERT;
    model.num_token_types = 2;
    model.binary_head = true;
    return model;
}

#endif /* MTLM_TESTS_PAPERS_H */
