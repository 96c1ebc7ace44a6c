/* --task lambada. */

#include "config.h"

#include "launch/task/task.h"
#include "models/task/lambada.h"
#include "runtime/base/memory.h"

static struct mtlm_scored_text *read_passages(
    const struct mtlm_task_input *input, struct mtlm_error *err)
{
    return mtlm_lambada_read(input->tokenizer, input->path, input->seq_length,
                             input->strict, err);
}

static char *accuracy_text(const struct mtlm_task_result *r)
{
    const double all = (double) r->text->samples;

    return mtlm_sprintf("%.0f correct of %.0f | accuracy %.2f %%", r->hits, all,
                        100 * r->hits / all);
}

const struct mtlm_task_entry mtlm_task_lambada = {
    .name = "lambada",
    .family = MTLM_GPT,
    .measure = MTLM_MEASURE_HITS,
    .measures =
        "Accuracy of a GPT on LAMBADA, without any training on it, as\n"
        "Megatron-LM v2.6 defines the number. The model reads a passage but "
        "its\n"
        "last word. A passage is correct if the model gives each token of the\n"
        "word the greatest logit.\n"
        "  default            only the last token of the passage counts\n"
        "  --strict-lambada   the whole last word counts, which papers report\n"
        "A passage of more than --seq-length tokens loses its begin.\n",
    .data = "  https://openaipublic.blob.core.windows.net/gpt-2/data/"
            "lambada_test.jsonl\n"
            "  1.8 MB, 5,153 passages, an object {\"text\": ...} in each line. "
            "The\n"
            "  original of the passages: https://zenodo.org/records/2630551.\n"
            "  Licence: Creative Commons Attribution 4.0. Paper: arXiv "
            "1606.06031.\n",
    .commands =
        "  mtlm-dag --load DIR --task lambada --strict-lambada \\\n"
        "      --valid-data lambada_test.jsonl\n"
        "  mtlm-convert --input gpt2 --output imported    # other weights\n"
        "  mtlm-run -n 2 mtlm-dag --load imported --task lambada "
        "--strict-lambada \\\n"
        "      --valid-data lambada_test.jsonl \\\n"
        "      --vocab-file vocab.json --merge-file merges.txt \\\n"
        "      --micro-batch-size 8 --tensor-model-parallel-size 2\n",
    .published =
        "  accuracy with --strict-lambada, arXiv 1909.08053, table 3:\n"
        "  355M 45.18 %, 2.5B 61.73 %, 8.3B 66.51 %\n",
    .read = read_passages,
    .result = accuracy_text,
};
