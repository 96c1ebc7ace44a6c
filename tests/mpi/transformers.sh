#!/bin/bash
# Models that the library transformers makes, saves and runs: their logits are
# ours, in any layout; exported again, transformers have the same logits.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
tree=$(cd "$OLDPWD" && cd "${srcdir:-.}" && pwd)
. "$tree/tests/mpi/peers.sh"
need_peers torch transformers numpy
reference=$tree/tests/reference/transformers_models.py
convert=${program%/*}/mtlm-convert

converts() {
    "$convert" --input "$1" --output "$2" >said 2>err </dev/null \
        || fail "$1 to $2: exit code $?, $(cat err)"
}

# Of samples that are cut in two, several microbatches, and no training.
look=(--eval-only --mock-data --seq-length 60 --micro-batch-size 5
    --global-batch-size 10 --eval-iters 2)
# evaluates NAME DIR RANKS OPTION...: the logits of NAME.ck go to DIR.
evaluates() {
    local name=$1 to=$2 ranks=$3
    shift 3
    well "$ranks" --load "$name.ck" "${look[@]}" "$@" --dump-logits "$to"
}
two=(--tensor-model-parallel-size 2)
stages=(--pipeline-model-parallel-size 2)

"$peers" "$reference" write . >said 2>&1 || fail "nothing is written: $(cat said)"
models=(bloom bloom16 gpt2 bert)
! full_tier || models+=(bloompost gpt2of16 bertof16)
for name in "${models[@]}"; do
    converts "$name" "$name.ck"
    converts "$name.ck" "$name.back"
    evaluates "$name" "$name.1" 1
    compare+=("$name=$name.1" "$name==$name.back")
done
# Several files and one, with and without the head, have the same tensors.
for name in bloom gpt2 bert; do
    converts "${name}shards" "${name}shards.ck"
    cmp {$name,${name}shards}.ck/iter_0000000/*.safetensors \
        || fail "$name in several files: other tensors"
done
converts bloombase bloombase.ck
cmp {bloom,bloombase}.ck/iter_0000000/*.safetensors \
    || fail "bloom without its head: other tensors"
# in_layout NAME KIND RANKS OPTION...: the logits of another layout.
in_layout() {
    evaluates "$1" "$1.$2" "${@:3}"
    compare+=("$1=$1.$2")
}
in_layout bloom t2p2 4 "${two[@]}" "${stages[@]}" --sequence-parallel
in_layout gpt2 t2 2 "${two[@]}"
in_layout bert p2 2 "${stages[@]}"
evaluates bloom bloom.bf16 1 --bf16
compare+=(bloom~bloom.bf16)
if full_tier; then
    in_layout bloom t2 2 "${two[@]}"
    in_layout bloom p2 2 "${stages[@]}"
    in_layout bloom parts 1 --row-parts 3
    in_layout gpt2 p2 2 "${stages[@]}"
    in_layout bert t2 2 "${two[@]}"
fi
"$peers" "$reference" compare "${compare[@]}" >compared 2>&1 \
    || fail "$(cat compared)"

# An export in several files, and in bf16: the weights were.
"$convert" --input bloom.ck --output shards.back --max-shard-size 100KB \
    >said 2>err || fail "several files: $(cat err)"
[ "$(ls shards.back/model-*.safetensors | wc -l)" -gt 2 ] \
    || fail "several files: $(ls shards.back)"
"$convert" --input bloom16.ck --output half.back --torch-dtype bfloat16 \
    >said 2>err || fail "bf16: $(cat err)"
[ $(($(stat -c %s half.back/model.safetensors) * 3 / 2)) -lt \
    "$(stat -c %s bloom16.back/model.safetensors)" ] || fail "bf16: large files"
"$peers" "$reference" compare bloom==shards.back bloom16==half.back \
    >compared 2>&1 || fail "other files: $(cat compared)"
"$convert" --input bloom --output none --torch-dtype bfloat16 >said 2>err
[ $? -eq 2 ] && grep -q 'are for an export; bloom is no checkpoint' err \
    || fail "an import in bf16: $(cat err)"
"$convert" --input bloom.ck --output none --max-shard-size 5XB >said 2>err
[ $? -eq 2 ] && grep -q 'takes a size such as 300MB or 5GB, not "5XB"' err \
    || fail "a wrong size: $(cat err)"

# What was trained here from there is there what it is here.
well 2 --load bloom.ck --finetune --mock-data --seq-length 60 \
    --micro-batch-size 4 --global-batch-size 4 --train-iters 3 --lr 1e-3 \
    --hidden-dropout 0.1 --attention-dropout 0.1 --eval-iters 0 "${two[@]}" \
    --save trained --no-save-optim
converts trained trained.hf
well 1 --load trained "${look[@]}" --finetune --dump-logits trained.1
"$peers" "$reference" compare trained.hf=trained.1 >compared 2>&1 \
    || fail "trained: $(cat compared)"
"$peers" "$reference" compare bloom==trained.hf >/dev/null 2>&1 \
    && fail "the training changed nothing"

# refused CODE INPUT WORDS
refused() {
    "$convert" --input "$2" --output none >said 2>err </dev/null
    [ $? -eq "$1" ] && grep -qF -e "$3" err && [ ! -e none ] \
        || fail "$2: $(cat err)"
}
cp -r bloom other
sed 's/"n_head": 6/"n_head": 5/' bloom/config.json >other/config.json
refused 3 other '48 is not a multiple of --num-attention-heads 5'
sed 's/"bloom"/"gpt2"/' bloom/config.json >other/config.json
refused 3 other 'expected tensor "transformer.h.'
well 1 --num-layers 1 --hidden-size 48 --num-attention-heads 6 \
    --seq-length 16 --micro-batch-size 1 --train-iters 1 --lr 1e-3 \
    --eval-iters 0 --mock-data --position-embedding-type alibi --save plain
refused 2 plain 'alibi without --embed-layernorm'
job 1 --load bloom.ck --position-embedding-type learned_absolute "${look[@]}"
[ "$rc" -eq 2 ] && grep -q 'was saved with --position-embedding-type alibi' err \
    || fail "other positions: exit code $rc: $(cat err)"
finish
