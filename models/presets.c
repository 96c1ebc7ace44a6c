/* The table of presets behind --model NAME. */

#include "config.h"

#include <stddef.h>
#include <string.h>

#include "models/presets.h"

/* This preset gets below the bigram entropy of English in minutes on two cores.
 * The steps are many and small.  Initial weights are near 1 / sqrt(hidden);
 * otherwise a model of this width takes much longer to learn more than pairs.
 */
#define TINY                                                                   \
    " train-iters=1000"                                                        \
    " lr=0.001 min-lr=0.0001 lr-decay-style=cosine lr-warmup-fraction=0.03"    \
    " adam-beta2=0.99 init-method-std=0.05"                                    \
    " hidden-dropout=0 attention-dropout=0"                                    \
    " eval-interval=250 eval-iters=16 log-interval=25"

/* Sizes: layers, hidden size, attention heads. */
#define SIZES(l, h, a)                                                         \
    "num-layers=" #l " hidden-size=" #h " num-attention-heads=" #a
#define BATCH(micro, global)                                                   \
    " micro-batch-size=" #micro " global-batch-size=" #global

/* Models whose iterations are long. */
#define EACH_ITERATION " log-interval=1"

/* GPT-2's vocabulary has 50257 tokens, which the papers pad for up to eight-way
 * tensor parallelism.  With 51200 the number of parameters is the papers' under
 * every layout. */
#define PAPER_VOCABULARY " vocab-size=51200"

/* Source: arXiv 1909.08053, section 4.3.  Warm-up over 3000 iterations, cosine
 * over the other 297000. */
#define GPT2_RECIPE                                                            \
    " train-iters=300000 lr=0.00015 min-lr=1e-05 lr-decay-style=cosine"        \
    " lr-warmup-fraction=0.01" EACH_ITERATION
#define GPT2 BATCH(4, 512) " seq-length=1024 vocab-size=50257" GPT2_RECIPE
#define GPT2_PAPER(micro, global)                                              \
    BATCH(micro, global) " seq-length=1024" PAPER_VOCABULARY GPT2_RECIPE

/* Source: arXiv 1909.08053, sections 4.2 and 5.3. */
#define BERT(micro)                                                            \
    BATCH(micro, 1024)                                                         \
    " model-type=bert seq-length=512 vocab-size=30522"                         \
    " train-iters=2000000 lr=0.0001 lr-decay-style=linear"                     \
    " lr-warmup-fraction=0.005" EACH_ITERATION

/* Source: arXiv 2104.04473, table 1; recipe from its run scripts (examples/sc21
 * of Megatron-LM 2.5). */
#define PTDP(micro, global)                                                    \
    BATCH(micro, global)                                                       \
    " seq-length=2048" PAPER_VOCABULARY                                        \
    " train-iters=500 lr=0.0001 min-lr=1e-05 lr-decay-style=cosine"            \
    " lr-decay-iters=320 lr-warmup-fraction=0.01" EACH_ITERATION

/* The common part of the recipes of GPT-3 and its successors. */
#define GPT3                                                                   \
    " lr-decay-style=cosine weight-decay=0.1 adam-beta2=0.95" EACH_ITERATION

/* Source: Megatron-LM's script for GPT-3, without its ramp-up of the batch,
 * --rampup-batch-size 16 16 5859375. */
#define GPT3_SAMPLES                                                           \
    " train-samples=146484375 lr=6e-05 min-lr=6e-06"                           \
    " lr-decay-samples=126953125 lr-warmup-samples=183105"                     \
    " init-method-std=0.006" GPT3
#define GPT3_175B                                                              \
    BATCH(1, 1536) " seq-length=2048" PAPER_VOCABULARY GPT3_SAMPLES

/* Source: arXiv 2201.11990.  270 billion tokens; the learning rate warms up
 * over 1 billion and decays over 340 billion. */
#define MT_NLG                                                                 \
    BATCH(1, 1920)                                                             \
    " seq-length=2048" PAPER_VOCABULARY                                        \
    " train-iters=68665 lr=5e-05 min-lr=5e-06 lr-decay-iters=86466"            \
    " lr-warmup-iters=254 init-method-std=0.004" GPT3

/* Source: arXiv 2401.10241, table 3, with the middle number of microbatches.
 * The recipe of its scripts is GPT-3's with another clipping.  The vocabulary
 * is not published; 32000 gives the sizes in the names. */
#define ZB(micro, global)                                                      \
    BATCH(micro, global)                                                       \
    " seq-length=1024 vocab-size=32000 clip-grad=8" GPT3_SAMPLES

/* Source: arXiv 2211.05100, table 3; the vocabulary is padded for four-way
 * tensor parallelism.  341 billion tokens, the largest model 366 billion; the
 * learning rate warms up over 375 million and decays over 410 billion. */
#define BLOOM(micro, global, samples, rate, least)                             \
    BATCH(micro, global)                                                       \
    " seq-length=2048 vocab-size=250880"                                       \
    " position-embedding-type=alibi embed-layernorm=yes"                       \
    " hidden-dropout=0 attention-dropout=0"                                    \
    " train-samples=" #samples " lr=" #rate " min-lr=" #least                  \
    " lr-decay-samples=200000000 lr-warmup-samples=183105" GPT3
#define BLOOM_SMALL(global, rate) BLOOM(1, global, 166503906, rate, 1e-05)

const struct mtlm_preset mtlm_presets[] = {
    {"gpt-tiny", "for demonstrations and tests",
     SIZES(4, 256, 4) " seq-length=256" TINY BATCH(1, 4)},
    {"bert-tiny", "for demonstrations and tests",
     "model-type=bert " SIZES(4, 256, 4) " seq-length=128" TINY BATCH(4, 16)},

    {"gpt2-124m", "GPT-2 small", SIZES(12, 768, 12) GPT2},
    {"gpt2-345m", "GPT-2 medium, 355M in Megatron-LM's paper",
     SIZES(24, 1024, 16) GPT2},
    {"gpt2-775m", "GPT-2 large, of Megatron-LM's announcement",
     SIZES(36, 1280, 16) GPT2_PAPER(8, 512)},

    /* Source: arXiv 1909.08053, table 1; for 345m, 2.5b and 8.3b-trained,
     * table 2. */
    {"gpt2-1.2b", "Megatron-LM 2019, on 1 GPU",
     SIZES(40, 1536, 16) GPT2_PAPER(8, 512)},
    {"gpt2-2.5b", "Megatron-LM 2019, on 2 GPUs",
     SIZES(54, 1920, 20) GPT2_PAPER(8, 512)},
    {"gpt2-4.2b", "Megatron-LM 2019, on 4 GPUs",
     SIZES(64, 2304, 24) GPT2_PAPER(8, 512)},
    {"gpt2-8.3b", "Megatron-LM 2019, on 8 GPUs",
     SIZES(72, 3072, 32) GPT2_PAPER(8, 512)},
    {"gpt2-8.3b-trained", "the one that was trained, with 24 heads",
     SIZES(72, 3072, 24) GPT2_PAPER(8, 512)},

    /* The weak scaling of Megatron-LM 1.0. */
    {"gpt2-v1-1.2b", "Megatron-LM 1.0, on 1 GPU",
     SIZES(24, 1920, 15) GPT2_PAPER(8, 8)},
    {"gpt2-v1-2.0b", "Megatron-LM 1.0, on 2 GPUs",
     SIZES(30, 2304, 18) GPT2_PAPER(8, 8)},
    {"gpt2-v1-4.2b", "Megatron-LM 1.0, on 4 GPUs",
     SIZES(36, 3072, 24) GPT2_PAPER(8, 8)},
    {"gpt2-v1-8.7b", "Megatron-LM 1.0, on 8 GPUs",
     SIZES(42, 4096, 32) GPT2_PAPER(8, 8)},

    {"bert-336m", "Megatron-LM 2019, BERT-large", SIZES(24, 1024, 16) BERT(8)},
    {"bert-1.3b", "Megatron-LM 2019", SIZES(24, 2048, 32) BERT(4)},
    {"bert-3.9b", "Megatron-LM 2019", SIZES(48, 2560, 40) BERT(4)},

    {"gpt-1.7b", "PTD-P 2021, on 32 GPUs", SIZES(24, 2304, 24) PTDP(16, 512)},
    {"gpt-3.6b", "PTD-P 2021, on 64 GPUs", SIZES(30, 3072, 32) PTDP(16, 512)},
    {"gpt-18b", "PTD-P 2021, on 256 GPUs", SIZES(40, 6144, 48) PTDP(8, 1024)},
    {"gpt-76b", "PTD-P 2021, on 1024 GPUs", SIZES(60, 10240, 80) PTDP(2, 1792)},
    {"gpt-145b", "PTD-P 2021, on 1536 GPUs",
     SIZES(80, 12288, 96) PTDP(2, 2304)},
    {"gpt-530b", "PTD-P 2021, on 2520 GPUs",
     SIZES(105, 20480, 128) PTDP(1, 2520)},
    {"gpt-1t", "PTD-P 2021, on 3072 GPUs",
     SIZES(128, 25600, 160) PTDP(1, 3072)},
    {"gpt3-175b", "GPT-3", SIZES(96, 12288, 96) GPT3_175B},
    {"mt-nlg-530b", "Megatron-Turing NLG", SIZES(105, 20480, 128) MT_NLG},

    {"zb-1.5b", "zero bubble, on 8 GPUs", SIZES(22, 2304, 24) ZB(6, 192)},
    {"zb-6.2b", "zero bubble, on 8 GPUs", SIZES(30, 4096, 32) ZB(3, 96)},
    {"zb-14.6b", "zero bubble, on 16 GPUs", SIZES(46, 5120, 40) ZB(1, 64)},
    {"zb-28.3b", "zero bubble, on 32 GPUs", SIZES(62, 6144, 48) ZB(1, 128)},

    {"bloom-560m", "BLOOM", SIZES(24, 1024, 16) BLOOM_SMALL(256, 0.0003)},
    {"bloom-1b1", "BLOOM", SIZES(24, 1536, 16) BLOOM_SMALL(256, 0.00025)},
    {"bloom-1b7", "BLOOM", SIZES(24, 2048, 16) BLOOM_SMALL(512, 0.0002)},
    {"bloom-3b", "BLOOM", SIZES(30, 2560, 32) BLOOM_SMALL(512, 0.00016)},
    {"bloom-7b1", "BLOOM", SIZES(30, 4096, 32) BLOOM_SMALL(512, 0.00012)},
    {"bloom-176b", "BLOOM, on 384 GPUs",
     SIZES(70, 14336, 112)
         BLOOM(2, 2048, 178710937, 6e-05, 6e-06) " init-method-std=0.0048"},
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
