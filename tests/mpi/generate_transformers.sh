#!/bin/bash
# Greedy text equals that of the library transformers on the exported model,
# token for token.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
tree=$(cd "$OLDPWD" && cd "${srcdir:-.}" && pwd)
. "$tree/tests/mpi/peers.sh"
need_peers torch transformers

# same NAME OPTION...: models of bytes, with random weights far from zero, or
# that have learned a little, layernorm epsilon and all.
same() {
    local name=$1
    shift
    well 1 --num-layers 4 --hidden-size 48 --num-attention-heads 4 \
        --seq-length 64 --max-position-embeddings 170 --micro-batch-size 4 \
        --eval-iters 0 --save "$name" --no-save-optim "$@"
    "${program%/*}/mtlm-convert" --input "$name" --output "$name.hf/" >said 2>&1 \
        || fail "$name: $(cat said)"
    "$peers" "$tree/tests/reference/generate_transformers.py" "$name.hf" \
        prompts 100 >want 2>said || fail "$name: $(cat said)"
    [ "$(tr -d '\n' <want | wc -c)" -gt 300 ] || fail "$name: little text"
    well 1 --load "$name" --prompt-file prompts --max-new-tokens 100 \
        --temperature 0
    cmp out want || fail "$name: other text than that of transformers"
    well 2 --load "$name" --prompt-file prompts --max-new-tokens 100 \
        --temperature 0 --pipeline-model-parallel-size 2
    cmp out want || fail "$name: two stages, other text"
}
cat >prompts <<'END'
Hello
The second prompt has over 32 bytes: it takes two submissions.

x
END
same random --init-method-std 0.6 --train-iters 1 --lr 1e-4
same learned --train-iters 60 --lr 3e-3
bloom=(--position-embedding-type alibi --embed-layernorm)
same bloom --init-method-std 0.6 --train-iters 1 --lr 1e-4 "${bloom[@]}" \
    --num-attention-heads 6
well 2 --load bloom --prompt-file prompts --max-new-tokens 100 \
    --temperature 0 --tensor-model-parallel-size 2
cmp out want || fail "BLOOM in two shards: other text"
finish
