/* --task qqp. */

#include "config.h"

#include "launch/task/task.h"
#include "models/task/glue.h"

static struct mtlm_task_data *open_pairs(const char *const *path, int paths,
                                         const struct mtlm_task_recipe *recipe,
                                         struct mtlm_error *err)
{
    return mtlm_glue_create(MTLM_GLUE_QQP, path, paths, recipe, err);
}

static const char *name_class(int64_t class)
{
    return mtlm_glue_class(MTLM_GLUE_QQP, class);
}

const struct mtlm_task_entry mtlm_task_qqp = {
    .name = "qqp",
    .family = MTLM_BERT,
    .head = MTLM_HEAD_CLASSIFICATION,
    .classes = 2,
    .measures = "Accuracy of a BERT on QQP after fine-tuning, as Megatron-LM "
                "v2.6 does it. Two\n"
                "questions mean the same, or not. The pooled first token goes "
                "through dropout\n"
                "and a linear layer that starts with random weights. After "
                "each epoch the job\n"
                "prints the accuracy on each file of --valid-data.\n"
                "--predictions FILE writes the model's classes as GLUE takes "
                "them, also of\n"
                "test.tsv, which has no classes.\n",
    .data = "  https://dl.fbaipublicfiles.com/glue/data/QQP-clean.zip, 60 MB: "
            "train.tsv\n"
            "  (363,846 pairs), dev.tsv (40,430); without classes: test.tsv "
            "(390,965).\n"
            "  Licence: Quora's terms of service, for other than commercial "
            "use.\n",
    .commands = "  launch/run -n 4 build/mtlm-dag --task qqp "
                "--pretrained-checkpoint DIR \\\n"
                "      --train-data QQP/train.tsv \\\n"
                "      --valid-data QQP/dev.tsv \\\n"
                "      --tokenizer-type BertWordPieceLowerCase --vocab-file "
                "vocab.txt \\\n"
                "      --epochs 12 --lr 5e-5 --lr-decay-style linear \\\n"
                "      --lr-warmup-fraction 0.065 --micro-batch-size 16 \\\n"
                "      --global-batch-size 64 --seq-length 512 --save TUNED\n"
                "  launch/run -n 4 build/mtlm-dag --load TUNED --load-best "
                "--eval-only \\\n"
                "      --valid-data QQP/test.tsv --predictions QQP.tsv\n",
    .published = "  accuracy, arXiv 1909.08053, table 5:\n"
                 "  336M 92.3 %, 1.3B 92.6 %, 3.9B 92.7 %\n",
    .apart = true,
    .open = open_pairs,
    .class_name = name_class,
    .write = mtlm_glue_write,
};
