/* --task wikitext103. */

#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "launch/task/task.h"
#include "models/task/wikitext.h"
#include "runtime/base/memory.h"

static struct mtlm_scored_text *read_windows(
    const struct mtlm_task_input *input, struct mtlm_error *err)
{
    return mtlm_wikitext_read(input->tokenizer, input->path, input->seq_length,
                              input->overlap, err);
}

/* As in Megatron-LM; a NaN stays a NaN. */
static double perplexity(double loss)
{
    return exp(loss > 20 ? 20 : loss);
}

static char *perplexity_text(const struct mtlm_task_result *r)
{
    const struct mtlm_scored_text *text = r->text;
    const double loss = r->loss / (double) text->scored;
    const double ratio = (double) text->scored / (double) (text->words - 1);

    return mtlm_sprintf("loss %.8g | ppl %.6g | adjusted ppl %.6g | token "
                        "ratio %.8g | %" PRId64 " tokens, %" PRId64 " words",
                        loss, perplexity(loss), perplexity(loss * ratio), ratio,
                        text->tokens, text->words);
}

const struct mtlm_task_entry mtlm_task_wikitext103 = {
    .name = "wikitext103",
    .family = MTLM_GPT,
    .measure = MTLM_MEASURE_SUMS,
    .measures =
        "Perplexity of a GPT on WikiText-103, without any training on it, as\n"
        "Megatron-LM v2.6 defines the number. The whole file is one text. Its\n"
        "blanks around words and marks are taken out first. The model then\n"
        "reads windows of --seq-length tokens. Each window begins\n"
        "--overlapping-eval tokens (32) after the one before, and only its "
        "last\n"
        "32 predictions count. So every token has much context.\n"
        "  loss           negative log likelihoods / (tokens - 1)\n"
        "  ppl            exp(loss)\n"
        "  adjusted ppl   exp(loss x token ratio): per word of the raw text,\n"
        "                 the number that papers report\n"
        "  token ratio    (tokens - 1) / (words of the raw text - 1)\n",
    .data =
        "  https://wikitext.smerity.com/wikitext-103-v1.zip, 181 MB: the word\n"
        "  level version, not the raw one. Its wiki.test.tokens has 1.3 MB "
        "and\n"
        "  about 245,000 words. Licence: Creative Commons "
        "Attribution-ShareAlike,\n"
        "  as Wikipedia. Paper: arXiv 1609.07843.\n",
    .commands =
        "  unzip wikitext-103-v1.zip\n"
        "  mtlm-dag --load DIR --task wikitext103 \\\n"
        "      --valid-data wikitext-103/wiki.test.tokens\n"
        "  mtlm-convert --input gpt2 --output imported    # other weights\n"
        "  mtlm-run -n 2 mtlm-dag --load imported --task wikitext103 \\\n"
        "      --valid-data wikitext-103/wiki.test.tokens \\\n"
        "      --vocab-file vocab.json --merge-file merges.txt \\\n"
        "      --micro-batch-size 8 --pipeline-model-parallel-size 2\n",
    .published = "  adjusted ppl, arXiv 1909.08053, table 3:\n"
                 "  355M 19.31, 2.5B 12.76, 8.3B 10.81\n",
    .read = read_windows,
    .result = perplexity_text,
};
