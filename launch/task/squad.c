/* --task squad. */

#include "config.h"

#include "launch/task/task.h"
#include "models/task/squad_data.h"

static struct mtlm_task_data *open_windows(
    const char *const *path, int paths, const struct mtlm_task_recipe *recipe,
    struct mtlm_error *err)
{
    struct mtlm_squad *squad = mtlm_squad_data_create(path, paths, recipe, err);

    return squad ? &squad->data : NULL;
}

const struct mtlm_task_entry mtlm_task_squad = {
    .name = "squad",
    .family = MTLM_BERT,
    .head = MTLM_HEAD_SPAN,
    .together = true,
    .measures = "Exact match and F1 of a BERT on SQuAD 1.1 or 2.0 after "
                "fine-tuning, as\n"
                "google-research/bert does it; the scores are those of the "
                "official scripts.\n"
                "The answer to a question is a span of its context. A linear "
                "layer that starts\n"
                "with random weights gives each token two logits: the answer "
                "begins here, or\n"
                "ends here. Contexts that are too long become windows with a "
                "stride of 128\n"
                "tokens. In SQuAD 2.0 some questions have no answer.\n"
                "The softmax of a window leaves its padding out.\n"
                "After each epoch the job prints the scores. --predictions "
                "FILE also writes\n"
                "the answers, as the official scripts read them, and with "
                "--eval-only of a\n"
                "file without answers, too.\n",
    .data =
        "  https://rajpurkar.github.io/SQuAD-explorer/dataset/train-v1.1.json, "
        "30 MB,\n"
        "  dev-v1.1.json, 5 MB, train-v2.0.json, 42 MB, dev-v2.0.json, 4 MB.\n"
        "  Licence: Creative Commons Attribution-ShareAlike 4.0.\n"
        "  Papers: arXiv 1606.05250, 1806.03822.\n",
    .commands =
        "  launch/run -n 4 build/mtlm-dag --task squad --pretrained-checkpoint "
        "DIR \\\n"
        "      --train-data SQuAD/train-v1.1.json \\\n"
        "      --valid-data SQuAD/dev-v1.1.json \\\n"
        "      --tokenizer-type BertWordPieceLowerCase --vocab-file vocab.txt "
        "\\\n"
        "      --epochs 2 --lr 3e-5 --lr-decay-style linear \\\n"
        "      --lr-warmup-fraction 0.065 --micro-batch-size 8 \\\n"
        "      --global-batch-size 32 --seq-length 512 --save TUNED \\\n"
        "      --predictions answers.json\n",
    .published =
        "  F1 / exact match, arXiv 1909.08053, table 5:\n"
        "  SQuAD 1.1: 336M 94.2 / 88.0, 1.3B 94.9 / 89.1, 3.9B 95.5 / 90.0\n"
        "  SQuAD 2.0: 336M 88.1 / 84.8, 1.3B 90.2 / 87.1, 3.9B 91.2 / 88.5\n",
    .open = open_windows,
};
