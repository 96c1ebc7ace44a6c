#!/bin/bash
# PyTorch's own reader and validator take the orders that --schedule-out writes:
# of emergent plans, of every published name and of a traced run.  The messages
# that PyTorch adds do not wait for each other.  --schedule-file takes the orders
# of PyTorch's classes, with and without messages.
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
ranks=2
! full_tier || ranks='2 4'
for p in $ranks; do
    for name in gpipe 1f1b zb-h1 zb-h2; do
        order $name $p 1 4
    done
    order interleaved $p 2 4
    order zb-v $p 2 4 --placement v
done

# The published order of every name.
for name in gpipe 1f1b zb-h1 zb-h2 zb-1p zb-2p; do
    order $name 4 1 8 --schedule-mode strict
done
order interleaved 2 3 8 --schedule-mode strict
order breadth-first 4 2 8 --schedule-mode strict
for name in zb-v v-half v-min dualpipe-v; do
    order $name 4 2 8 --schedule-mode strict
done

# The order of a run, as mtlm-report writes it.
well 2 "${small[@]}" --train-iters 2 --workers 1 --trace traced \
    --pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 \
    --placement v
"${program%mtlm-dag}mtlm-report" traced --schedule-out traced.2.2.4.csv >said 2>&1 \
    || fail "mtlm-report: $(cat said)"
orders+=(traced.2.2.4.csv)

# Orders of PyTorch's classes, windows, and the share of idle time where F, I and
# W take as long as each other.  B is I and W here: the result leaves before W.
torch=$tree/tests/reference/schedule_torch.py
classes='ScheduleDualPipeV.4.2.10|8 7 6 5 4 3 2 1|4.76
ScheduleInterleavedZeroBubble.2.2.8|4 3+1 2 1+1|2.04
ScheduleInterleaved1F1B.2.3.4|4 4 3 2 2 1|5.26
ScheduleZBVZeroBubble.2.2.6|4 3 2 1|2.70'
# shellcheck disable=SC2046 # several words
"$peers" "$torch" --write $(cut -d'|' -f1 <<<"$classes") >said 2>&1 \
    || fail "$(cat said)"
pairs=()
while IFS='|' read -r class windows idle; do
    IFS=. read -r _ p v m <<<"$class"
    printf '%s\n' "[stage 0-$((p * v - 1))]" 'forward_ms = 1' 'backward_ms = 1' \
        'weight_ms = 1' >equal.ini
    for level in "$class" "$class.comms"; do
        well 1 --model gpt-tiny --num-layers $((p * v)) --workers 1 --dry-run \
            --micro-batch-size 1 --global-batch-size "$m" --stage-times equal.ini \
            --schedule-file "$level.csv" --schedule-out "ours.$level.csv"
        grep -q "^windows  *$windows microbatches" out \
            || fail "$level: $(grep ^windows out), not $windows"
        grep -q "bubble $idle % of all ranks" out \
            || fail "$level: $(grep ^schedule out), not $idle % idle"
        pairs+=("$class.csv" "ours.$level.csv")
    done
    orders+=("ours.$class.csv")
done <<<"$classes"
"$peers" "$torch" --same "${pairs[@]}" >said 2>&1 || fail "$(cat said)"
[ "$(grep -c '^the same order$' said)" -eq 8 ] || fail "$(cat said)"

"$peers" "$torch" "${orders[@]}" >said 2>&1 \
    || fail "$(cat said)"
[ "$(grep -c ' is sound$' said)" -eq ${#orders[@]} ] || fail "$(cat said)"
finish
