#!/bin/bash
# --task: the scores of a model equal those that PyTorch computes on its export
# with the library transformers, also after an import of that export.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
tree=$(cd "$OLDPWD" && cd "${srcdir:-.}" && pwd)
. "$tree/tests/mpi/peers.sh"
need_peers torch transformers
scores() {
    "$peers" "$tree/tests/reference/task_scores.py" "$@"
}

scores words 2 train wiki prompts || exit 1
convert=${program%/*}/mtlm-convert
"${program%/*}/mtlm-preprocess" --input train --output-prefix data \
    --tokenizer-type byte >said 2>&1 || fail "preprocess: $(cat said)"
well 1 --num-layers 4 --hidden-size 48 --num-attention-heads 4 --seq-length 64 \
    --micro-batch-size 8 --train-iters 100 --lr 5e-3 --eval-iters 0 \
    --data-path data_text_document --split 100,0,0 --save ck --no-save-optim
well 1 --load ck --prompt-file prompts --temperature 0 --max-new-tokens 12
scores passages out lambada || exit 1
"$convert" --input ck --output hf >said 2>&1 || fail "export: $(cat said)"
"$convert" --input hf --output imported >said 2>&1 || fail "import: $(cat said)"

# like_torch TASK DATA OPTION...
like_torch() {
    local task=$1 data=$2
    shift 2
    well 2 --load imported --valid-data "$data" --seq-length 40 \
        --micro-batch-size 2 --pipeline-model-parallel-size 2 "$@"
    scores torch "$task" "$data" out hf 40 12 >said 2>&1 \
        || fail "$task: $(tail -1 said); $(cat out)"
}
like_torch wikitext103 wiki --task wikitext103 --overlapping-eval 12
like_torch lambada lambada --task lambada
like_torch strict lambada --task lambada --strict-lambada
finish
