#include "config.h"

#include <stddef.h>
#include <string.h>

#include "models/presets.h"

/* What gets below the bigram entropy of English in minutes on two cores: many
 * small steps, and initial weights near 1 / sqrt(hidden), without which a
 * model of this width stays at the pairs of bytes much longer. */
#define TINY                                                                   \
    " micro-batch-size=1 global-batch-size=4 train-iters=1000"                 \
    " lr=0.001 min-lr=0.0001 lr-decay-style=cosine lr-warmup-fraction=0.03"    \
    " adam-beta2=0.99 init-method-std=0.05"                                    \
    " hidden-dropout=0 attention-dropout=0"                                    \
    " eval-interval=250 eval-iters=16 log-interval=25"

/* The GPT-2 recipe of arXiv 1909.08053, section 4.3. */
#define GPT2                                                                   \
    " seq-length=1024 vocab-size=50257"                                        \
    " micro-batch-size=4 global-batch-size=512 train-iters=300000"             \
    " lr=0.00015 min-lr=1e-05 lr-decay-style=cosine lr-warmup-fraction=0.01"

const struct mtlm_preset mtlm_presets[] = {
    {"gpt-tiny", "4 layers, for demonstrations and tests",
     "num-layers=4 hidden-size=256 num-attention-heads=4 seq-length=256" TINY},
    {"gpt2-124m", "GPT-2 small",
     "num-layers=12 hidden-size=768 num-attention-heads=12" GPT2},
    {"gpt2-345m", "GPT-2 medium, the 355M of Megatron-LM's paper",
     "num-layers=24 hidden-size=1024 num-attention-heads=16" GPT2},
    {NULL, NULL, NULL},
};

const struct mtlm_preset *mtlm_preset_find(const char *name)
{
    for (const struct mtlm_preset *preset = mtlm_presets; preset->name;
         preset++)
        if (strcmp(preset->name, name) == 0)
            return preset;
    return NULL;
}
