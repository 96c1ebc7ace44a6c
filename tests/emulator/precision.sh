#!/bin/bash
# Jobs in 16 bits on the device double, with kernels that the emulator runs:
# losses differ from the CPU's by roundings, decisions (loss scale, skipped
# steps) by nothing.
#
# shellcheck source=tests/emulator/common.sh
. "${srcdir:-.}/tests/emulator/common.sh"

mini=(--model bert-tiny --num-layers 2 --hidden-size 32
    --num-attention-heads 4 --seq-length 16 --micro-batch-size 1
    --global-batch-size 2 --lr 1e-3 --min-lr 0 --lr-decay-style constant
    --lr-warmup-fraction 0 --eval-iters 0 --log-interval 1
    --log-format megatron)

# on_both OPTION...: a job on the CPU, whose output becomes want, and one on a
# device, whose output becomes out.
on_both() {
    on_cpus
    well 1 "${mini[@]}" "$@"
    mv out want
    on_gpus 1
    well 1 "${mini[@]}" "$@"
    losses want >want.losses
    losses out >got.losses
    worst=$(difference got.losses want.losses)
    awk -v x="$worst" 'BEGIN { exit !(x < 1e-3) }' ||
        fail "$*: losses differ by $worst: $(cat out)"
}

! full_tier || on_both --bf16 --train-iters 3
# Some of these overflow, some do not.
on_both --fp16 --train-iters 6 --initial-loss-scale 262144 \
    --loss-scale-window 2 --hysteresis 1
for name in "loss scale" "number of skipped iterations" \
    "number of nan iterations"; do
    field "$name" want >want.field
    field "$name" out >got.field
    cmp want.field got.field || fail "$name: $(cat out)"
done
field "number of skipped iterations" out | sort -u | tr '\n' ' ' >skipped
[ "$(cat skipped)" = "0 1 " ] || fail "skipped $(cat skipped): $(cat out)"
finish
