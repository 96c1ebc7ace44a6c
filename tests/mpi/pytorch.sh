#!/bin/bash
# First-step losses and gradients of small models in several layouts against
# PyTorch (tests/reference/first_step_torch.py says how close they must be).
# That all layouts have those of one rank is for tests/mpi/table.sh to show, so
# make check takes one layout of each model.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

reference=${srcdir:-.}/tests/reference/first_step_torch.py
python=${PYTHON:-python3}
read -ra mpirun <<<"${MPIRUN:-mpirun --oversubscribe}"
failed=0

if ! "$python" -c 'import numpy, torch' 2>/dev/null; then
    echo "skipped: $python has no PyTorch"
    exit 77
fi

# first_step NAME TxP[xD[z]] OPTION...: dumps the first step of a layout to
# $dir/NAME; z: with the distributed optimizer.
first_step()
{
    local name=$1 tensor pipeline data start=() more=()
    IFS=x read -r tensor pipeline data <<<"${2%z}"
    local ranks=$((tensor * pipeline * ${data:-1}))
    # A bucket of each layer: pieces that begin inside parameters.
    [ "$2" = "${2%z}" ] || more=(--use-distributed-optimizer --ddp-bucket-size 1)
    shift 2
    mkdir -p "$dir/$name"
    [ "$ranks" -eq 1 ] || start=("${mpirun[@]}" -n "$ranks")
    ${start[@]+"${start[@]}"} "$program" \
        --tensor-model-parallel-size "$tensor" \
        --pipeline-model-parallel-size "$pipeline" \
        --global-batch-size 8 --micro-batch-size 2 --train-iters 1 \
        --eval-iters 0 --hidden-dropout 0 --attention-dropout 0 \
        ${more[@]+"${more[@]}"} --dump-first-step "$dir/$name" "$@" >"$dir/log" 2>&1 && return
    cat "$dir/log"
    exit 1
}

coproc torch { exec "$python" "$reference" -; }

# compare ARGUMENT...: whether the reference finds no failure; says what it finds.
compare()
{
    local line
    printf '%q ' "$@" >&"${torch[1]}"
    echo >&"${torch[1]}"
    while IFS= read -r line <&"${torch[0]}"; do
        [ "$line" != 'failures 0' ] || return 0
        printf '%s\n' "$line"
        [ "${line#failures }" = "$line" ] || return 1
    done
    return 1
}

# like_torch NAME "LAYOUT..." "REFERENCE OPTION..." OPTION...: whether the
# model of these options has PyTorch's losses and gradients in each layout.
like_torch()
{
    local name=$1 layouts=$2 told=$3 layout dumps=()
    full_tier || layouts=${layouts##* }
    shift 3
    for layout in $layouts; do
        first_step "$name-$layout" "$layout" "$@"
        dumps+=("$name, $layout=$dir/$name-$layout")
    done
    # shellcheck disable=SC2086
    compare --heads 4 --micro-batch 2 $told "${dumps[@]}" || failed=1
    rm -rf "$dir/$name"-*
}

gpt=(--model gpt-tiny)
bert=(--model bert-tiny --init-method-std 0.05)

like_torch gpt '1x1 1x4 1x1x4z 2x2x2z' '--vocab 257' "${gpt[@]}"
# Large weights: attention that prefers some positions, a loss of its own for
# each token.
like_torch large '2x1' '--vocab 257' "${gpt[@]}" --init-method-std 0.1
like_torch parts '2x2' '--vocab 257' "${gpt[@]}" --row-parts 3
like_torch scaled '2x1' '--vocab 257 --query-key-scaling --exact-gelu' \
    "${gpt[@]}" --apply-query-key-layer-scaling --no-bias-gelu-fusion

like_torch rows '2x2 4x1' '--vocab 257' "${gpt[@]}" --sequence-parallel
like_torch again '2x2' '--vocab 257' "${gpt[@]}" --sequence-parallel \
    --recompute-granularity full --row-parts 2

# Weights and activations in 16 bit: pieces of masters, sums and messages too.
like_torch bf16 '1x1 2x1x2z' '--vocab 257 --value bf16' "${gpt[@]}" --bf16
like_torch fp16 '1x2x2z' '--vocab 257 --value fp16' "${gpt[@]}" --fp16 \
    --loss-scale 65536

# Labels after the end of a document do not count.
for i in 1 2 3 4 5 6 7 8; do
    printf 'Document %s is as short as %s words.\n\f\n' $i "$((i * i))"
done >"$dir/text"
"${builddir:-.}/mtlm-preprocess" --input "$dir/text" --output-prefix \
    "$dir/data" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
like_torch masked '2x2' '--vocab 257 --some-masked' "${gpt[@]}" \
    --seq-length 64 --data-path "$dir/data_text_document" --split 100,0,0 --eod-mask-loss

bytes='--vocab 261 --some-masked'
like_torch bert '1x1 2x2 1x1x2z' "$bytes" "${bert[@]}"
! full_tier || like_torch bert-parts '2x2' "$bytes" "${bert[@]}" --row-parts 3
like_torch bert-post '1x1 2x2' "$bytes --post-layernorm" "${bert[@]}" \
    --apply-residual-connection-post-layernorm
if full_tier; then
    like_torch bert-rows '2x2' "$bytes" "${bert[@]}" --sequence-parallel \
        --recompute-granularity selective
    like_torch bert-bf16 '2x2' "$bytes --value bf16" "${bert[@]}" --bf16 \
        --sequence-parallel
    like_torch bert-fp16 '1x1 2x2' "$bytes --value fp16" "${bert[@]}" --fp16 \
        --loss-scale 65536
fi
like_torch bert-lm '2x1' "$bytes" "${bert[@]}" --bert-no-binary-head
failures=$((failures + failed))
finish
