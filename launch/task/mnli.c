/* --task mnli. */

#include "config.h"

#include "launch/task/task.h"
#include "models/task/glue.h"

static struct mtlm_task_data *open_pairs(const char *const *path, int paths,
                                         const struct mtlm_task_recipe *recipe,
                                         struct mtlm_error *err)
{
    return mtlm_glue_create(MTLM_GLUE_MNLI, path, paths, recipe, err);
}

static const char *name_class(int64_t class)
{
    return mtlm_glue_class(MTLM_GLUE_MNLI, class);
}

const struct mtlm_task_entry mtlm_task_mnli = {
    .name = "mnli",
    .family = MTLM_BERT,
    .head = MTLM_HEAD_CLASSIFICATION,
    .classes = 3,
    .measures = "Accuracy of a BERT on MNLI after fine-tuning, as Megatron-LM "
                "v2.6 does it.\n"
                "A pair of sentences belongs to one of three classes: the "
                "second follows from\n"
                "the first, contradicts it, or neither. The pooled first token "
                "goes through\n"
                "dropout and a linear layer that starts with random weights. "
                "After each epoch\n"
                "the job prints the accuracy on each file of --valid-data.\n"
                "--predictions FILE writes the model's classes as GLUE takes "
                "them, also of\n"
                "test_matched.tsv, which has no classes; GLUE calls the file "
                "MNLI-m.tsv.\n",
    .data = "  https://dl.fbaipublicfiles.com/glue/data/MNLI.zip, 313 MB: "
            "train.tsv\n"
            "  (392,702 pairs), dev_matched.tsv (9,815), dev_mismatched.tsv "
            "(9,832);\n"
            "  without classes: test_matched.tsv (9,796), "
            "test_mismatched.tsv (9,847).\n"
            "  Licence: mostly OANC's, which allows all use; the paper names "
            "the rest.\n"
            "  Paper: arXiv 1704.05426.\n",
    .commands =
        "  launch/run -n 4 build/mtlm-dag --task mnli --pretrained-checkpoint "
        "DIR \\\n"
        "      --train-data MNLI/train.tsv \\\n"
        "      --valid-data MNLI/dev_matched.tsv MNLI/dev_mismatched.tsv \\\n"
        "      --tokenizer-type BertWordPieceLowerCase --vocab-file vocab.txt "
        "\\\n"
        "      --epochs 10 --lr 1e-5 --lr-decay-style linear \\\n"
        "      --lr-warmup-fraction 0.065 --micro-batch-size 8 \\\n"
        "      --global-batch-size 32 --seq-length 512 --save TUNED\n"
        "  launch/run -n 4 build/mtlm-dag --load TUNED --load-best --eval-only "
        "\\\n"
        "      --valid-data MNLI/test_matched.tsv --predictions MNLI-m.tsv\n",
    .published =
        "  accuracy, matched / mismatched, arXiv 1909.08053, table 5:\n"
        "  336M 89.7 / 90.0 %, 1.3B 90.9 / 91.0 %, 3.9B 91.4 / 91.4 %\n",
    .apart = true,
    .open = open_pairs,
    .class_name = name_class,
    .write = mtlm_glue_write,
};
