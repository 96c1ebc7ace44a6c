# shellcheck shell=bash disable=SC2034,SC2154 # variables are the scripts'
# A small data set of each task and a pretrained checkpoint, to fine-tune on;
# to be sourced after common.sh.

python=${PYTHON:-python3}

"$python" "$srcdir/perf/tasks" made --train 64 --dev 18 >said 2>&1 || { cat said; exit 1; }
"${program%/*}/mtlm-preprocess" --input made/stories.txt --output-prefix made/text \
    --tokenizer-type BertWordPieceLowerCase --vocab-file made/vocab.txt \
    --split-sentences >said 2>&1 || { cat said; exit 1; }
words=(--vocab-file made/vocab.txt --tokenizer-type BertWordPieceLowerCase)
bert=(--model-type bert --num-layers 2 --hidden-size 64 --num-attention-heads 4
    --seq-length 80 --micro-batch-size 8 --eval-iters 0)
well 1 "${bert[@]}" "${words[@]}" --train-iters 20 --lr 2e-3 \
    --data-path made/text_text_sentence --split 100,0,0 --save pre --no-save-optim

declare -A train=([mnli]=made/MNLI/train.tsv [qqp]=made/QQP/train.tsv
    [race]=made/RACE/train/middle [squad]=made/SQuAD/train-v1.1.json)
declare -A dev=([mnli]=made/MNLI/dev_matched.tsv [qqp]=made/QQP/dev.tsv
    [race]=made/RACE/dev/middle [squad]=made/SQuAD/dev-v1.1.json)
tune=(--pretrained-checkpoint pre "${words[@]}" --micro-batch-size 8
    --global-batch-size 16 --lr 1e-3 --lr-decay-style constant)

# scores: the lines of scores in out, without other lines.
scores() {
    grep -E '^(mnli|qqp|race|squad)(, epoch .*)?: ' out
}
