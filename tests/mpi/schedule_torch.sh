#!/bin/bash
# PyTorch's own reader and validator take the orders that --schedule-out writes,
# and add messages that do not wait for each other.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
tree=$(cd "$OLDPWD" && cd "${srcdir:-.}" && pwd)
. "$tree/tests/mpi/peers.sh"
need_peers torch.distributed.pipelining.schedules

# order NAME RANKS CHUNKS MICROBATCHES OPTION...: one more file of ${orders[@]}.
order() {
    local name=$1 p=$2 v=$3 m=$4 file=$1.$2.$3.$4.csv
    shift 4
    well 1 --model gpt-tiny --num-layers $((2 * p * v)) --workers 1 \
        --micro-batch-size 1 --global-batch-size "$m" --dry-run \
        --pipeline-model-parallel-size "$p" --schedule "$name" "$@" \
        --num-virtual-stages-per-pipeline-rank "$v" --schedule-out "$file"
    orders+=("$file")
}
orders=()
for p in 2 4; do
    for m in 4 8; do
        for name in gpipe 1f1b zb-h1 zb-h2; do
            order $name $p 1 $m
        done
        order interleaved $p 2 $m
        order zb-v $p 2 $m --placement v
    done
done
"$peers" "$tree/tests/reference/schedule_torch.py" "${orders[@]}" >said 2>&1 \
    || fail "$(cat said)"
[ "$(grep -c ' is sound$' said)" -eq ${#orders[@]} ] || fail "$(cat said)"
finish
