#!/bin/bash
# 100 steps with accumulation, clipping, weight decay, warm-up and cosine
# against PyTorch in float64 (tests/reference/curve_torch.py).
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

reference=${srcdir:-.}/tests/reference/curve_torch.py
python=${PYTHON:-python3}
if ! "$python" -c 'import numpy, torch' 2>/dev/null; then
    echo "skipped: $python has no PyTorch"
    exit 77
fi

steps=100
# 8 samples a step in microbatches of 2, 5 steps of warm-up.
recipe=(--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 48
    --micro-batch-size 2 --global-batch-size 8 --hidden-dropout 0
    --attention-dropout 0 --lr 3e-3 --min-lr 3e-4 --lr-decay-style cosine
    --weight-decay 0.1 --clip-grad 1.06 --adam-beta2 0.99 --eval-iters 0
    --log-interval 1 --log-format megatron --log-params-norm --log-num-zeros-in-grad
    --max-position-embeddings 50) # the last two see no gradient
told=(--heads 4 --micro-batch 2 --batch 8 --lr 3e-3 --min-lr 3e-4
    --weight-decay 0.1 --clip 1.06 --beta2 0.99 --warmup 40)

# like_torch NAME RANKS "REFERENCE OPTION..." OPTION...
like_torch() {
    local name=$1 ranks=$2 more=$3
    shift 3
    echo "$name:"
    well "$ranks" "${recipe[@]}" --dump-first-step dump --dump-samples 800 "$@"
    # shellcheck disable=SC2086
    "$python" "$reference" "${told[@]}" $more --steps "$steps" dump out \
        || fail "$name"
    rm -rf dump
}

iterations=(--train-iters $steps --lr-warmup-iters 5)
! full_tier || like_torch GPT 1 '--vocab 257 --decay 800' --model gpt-tiny \
    "${iterations[@]}"
layout 2 2
like_torch 'GPT, T2 x P2' 4 '--vocab 257 --decay 800' --model gpt-tiny \
    "${iterations[@]}" "${parallel[@]}"
layout 1 2 2
like_torch 'GPT, P2 x D2, weights of one step before' 4 \
    '--vocab 257 --decay 800 --staleness' --model gpt-tiny "${iterations[@]}" \
    "${parallel[@]}" --weight-staleness 1
layout 1 1 4
! full_tier || like_torch 'GPT, D4, distributed optimizer' 4 '--vocab 257 --decay 800' \
    --model gpt-tiny "${iterations[@]}" "${parallel[@]}" \
    --use-distributed-optimizer --ddp-bucket-size 100000
# 2, 4 and 6 samples for 80 samples each: 40 + 20 + 14 steps, then 26 of 8.
like_torch 'GPT, batch ramp-up' 1 '--vocab 257 --decay 400 --ramp 2 2 240' \
    --model gpt-tiny --train-samples 452 --rampup-batch-size 2 2 240 \
    --lr-warmup-samples 40 --lr-decay-samples 400
bert=(--model bert-tiny --init-method-std 0.05 --clip-grad 1.5 "${iterations[@]}")
! full_tier || like_torch BERT 1 '--vocab 261 --clip 1.5 --decay 800' "${bert[@]}"
like_torch 'BERT, post-LN' 1 '--vocab 261 --clip 1.5 --decay 800 --post-layernorm' \
    "${bert[@]}" --apply-residual-connection-post-layernorm

finish
