#!/bin/bash
# Whoever decides on the order of collectives: the same weights bit for bit,
# with several microbatches, virtual stages and buckets in flight, validations
# between the iterations and a batch that grows; with one collective at a time,
# and with messages that are tasks, too.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

run=("${small[@]}" --weight-hash --train-samples 40 --eval-iters 1
    --eval-interval 3 --micro-batch-size 1 --rampup-batch-size 4 2 12
    --lr-decay-samples 40)
run=("${run[@]/--lr-warmup-fraction/--lr-warmup-samples}")

# orders T P D [OPTION...]: all of them in that layout.
orders() {
    local name="T$1 x P$2 x D$3" d=$3 stages=${*:4} want='' order who transport node
    layout "$1" "$2" "$d"
    [ "$d" -eq 1 ] || parallel+=(--use-distributed-optimizer)
    for order in "${ways[@]}"; do
        read -r who transport node <<<"$order"
        [ -z "$node" ] || [ "$d" -gt 1 ] || continue
        # shellcheck disable=SC2086 # several words
        well "$ranks" "${run[@]}" "${parallel[@]}" $stages \
            --collective-order "$who" --transport "$transport" \
            --comm-node "${node:-acquire}"
        : "${want:=$(weight_hash out)}"
        [ -n "$want" ] && [ "$(weight_hash out)" = "$want" ] \
            || fail "$name $stages, $order: hash $(weight_hash out), not $want"
    done
    echo "$name $stages: $want"
}
ways=('leader mpi' 'plan serial' 'leader mpi task')
! full_tier || ways+=('leader serial' 'plan mpi' 'plan serial task')
beside orders 2 2 2 --num-virtual-stages-per-pipeline-rank 2
# W reads what sequence parallelism gathers again, in an order of its own.
beside orders 2 2 1 --sequence-parallel --schedule 1f1b
if full_tier; then
    beside orders 2 2 1 --num-virtual-stages-per-pipeline-rank 2
    beside orders 2 1 1
    beside orders 2 2 1 --sequence-parallel --schedule gpipe
    beside orders 2 2 1 --sequence-parallel --schedule interleaved \
        --num-virtual-stages-per-pipeline-rank 2
    beside orders 2 2 1 --sequence-parallel --schedule zb-h1
fi
together

job 2 "${small[@]}" --train-iters 1 --tensor-model-parallel-size 2 \
    --collective-order ready
[ $rc -eq 2 ] && grep -q 'one of leader/plan' err \
    || fail "ready: exit code $rc, $(cat err)"

finish
