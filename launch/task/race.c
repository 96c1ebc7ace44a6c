/* --task race. */

#include "config.h"

#include "launch/task/task.h"
#include "models/task/race.h"

const struct mtlm_task_entry mtlm_task_race = {
    .name = "race",
    .family = MTLM_BERT,
    .head = MTLM_HEAD_CHOICE,
    .classes = MTLM_RACE_CHOICES,
    .measures = "Accuracy of a BERT on RACE after fine-tuning, as Megatron-LM "
                "v2.6 does it. A\n"
                "question about an article has four answers, one of them "
                "right. Each answer\n"
                "gets a score from the pooled first token, by dropout and a "
                "linear layer that\n"
                "starts with random weights. The greatest score is the model's "
                "choice.\n"
                "A question is four samples here: --micro-batch-size and "
                "--global-batch-size\n"
                "are multiples of 4. Megatron-LM counts questions instead.\n"
                "After each epoch the job prints the accuracy on each path of "
                "--valid-data.\n"
                "--predictions FILE writes the model's choices, a line for "
                "each article:\n"
                "{\"id\": \"high1.txt\", \"answers\": [\"C\", \"A\"]}. "
                "Articles may have no answers.\n",
    .data = "  https://www.cs.cmu.edu/~glai1/data/race, 25 MB: directories "
            "train, dev and\n"
            "  test with middle and high; 27,933 articles, 97,687 questions. "
            "Licence: for\n"
            "  research only. Paper: arXiv 1704.04683.\n",
    .commands = "  launch/run -n 4 build/mtlm-dag --task race "
                "--pretrained-checkpoint DIR \\\n"
                "      --train-data RACE/train/middle RACE/train/high \\\n"
                "      --valid-data RACE/dev/middle RACE/dev/high \\\n"
                "      --tokenizer-type BertWordPieceLowerCase --vocab-file "
                "vocab.txt \\\n"
                "      --epochs 3 --lr 1e-5 --lr-decay-style linear \\\n"
                "      --lr-warmup-fraction 0.065 --micro-batch-size 4 \\\n"
                "      --global-batch-size 128 --seq-length 512 --save TUNED\n",
    .published =
        "  accuracy on test (middle / high), arXiv 1909.08053, table 5:\n"
        "  336M 83.0 (86.9 / 81.5) %, 1.3B 87.3 (90.4 / 86.1) %,\n"
        "  3.9B 89.5 (91.8 / 88.6) %\n",
    .open = mtlm_race_create,
    .write = mtlm_race_write,
};
