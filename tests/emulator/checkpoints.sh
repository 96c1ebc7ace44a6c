#!/bin/bash
# Checkpoints of jobs on the device double: copied while training goes on, from
# what is enqueued and takes its time; to save changes nothing; a job goes on
# from one to the bit; CPUs find the weights that the GPUs had.
#
# shellcheck source=tests/emulator/common.sh
. "${srcdir:-.}/tests/emulator/common.sh"

run=(--model gpt-tiny --num-layers 2 --hidden-size 32 --num-attention-heads 4
    --seq-length 16 --micro-batch-size 1 --global-batch-size 2
    --attention-dropout 0.1 --hidden-dropout 0.1 --lr 1e-3 --min-lr 0
    --lr-decay-style constant --lr-warmup-fraction 0 --train-iters 3
    --data-path data_text_document --split "8,2,0" --eval-iters 1
    --log-interval 1 --log-format megatron --weight-hash)

for i in $(seq 40); do
    printf 'Document %s has %s as its square.\n\f\n' "$i" "$((i * i))"
done >text
"${builddir:-.}/mtlm-preprocess" --input text --output-prefix data >said ||
    fail "no data: $(cat said)"

# hash_is HASH WHAT: of the job that was run last.
hash_is() {
    [ "$(weight_hash out)" = "${1:?}" ] ||
        fail "$2: weights $(weight_hash out), not $1: $(cat out err)"
}

# told: losses of the last two iterations, and of the validation.
told() {
    losses out | tail -2
    validation
}

validation() {
    sed -n 's/.*validation loss at .* lm loss value: \([^ ]*\) .*/\1/p' out
}

# saves OPTION...: two ranks with a GPU each do.
saves() {
    local n worst
    on_gpus 2
    # What is copied has been enqueued only.
    MTLM_DOUBLE_DELAY_US=200 well 2 "${run[@]}" "$@" --save ck \
        --save-interval 1 --keep-last 3
    weights=$(weight_hash out)
    told >want
    validation >want.validation
    n=$(grep -c 'checkpoint: iteration [1-3] saved' out)
    [ "$n" -eq 3 ] || fail "$* --save: $n checkpoints: $(cat out)"

    # CPUs find the weights that the GPUs had, and the same losses but for
    # rounding; GPUs the very same.
    well 2 "${run[@]}" "$@" --load ck --eval-only
    hash_is "$weights" "$* --eval-only"
    validation | cmp - want.validation || fail "$* --eval-only: $(cat out)"
    on_cpus
    well 2 "${run[@]}" "$@" --load ck --eval-only
    hash_is "$weights" "$* --eval-only on CPUs"
    validation >got
    worst=$(difference got want.validation)
    awk -v x="$worst" 'BEGIN { exit !(x < 1e-3) }' ||
        fail "$* --eval-only on CPUs: losses differ by $worst: $(cat out)"

    on_gpus 2
    rm -r ck/iter_000000[23]
    well 2 "${run[@]}" "$@" --load ck --save ck
    hash_is "$weights" "$* --load"
    told | cmp - want || fail "$* --load: $(cat out)"
    rm -r ck
}

saves
on_gpus 2
well 2 "${run[@]}"
hash_is "$weights" "without --save"
! full_tier || saves --bf16 --use-distributed-optimizer
finish
