#!/bin/bash
# Virtual stages: however many a rank holds, wherever they lie and however the
# layers are dealt out to them, weights and validation are those of one rank
# bit for bit, under every schedule, policy, window and number of workers. A bound
# on memory that does not do is refused by all ranks.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

# outcome: the hash and the validation losses in out.
outcome() {
    weight_hash out
    sed -n 's/.*validation loss at iteration .* | lm loss value: \([^ ]*\) .*/\1/p' out
}

# like WANT RANKS OPTION...: the outcome is that in the file WANT.
like() {
    local want=$1
    shift
    well "$@"
    outcome >got
    cmp -s got "$want" || fail "$*: $(cat got), not $(cat "$want")"
}

# stages OPTION... STAGES: the run says that it has these.
stages() {
    grep -qx "stages: $1" out || fail "not $1: $(grep ^stages out)"
}

# Times of two stages, with slow messages: wide windows.
cat >times.ini <<'END'
[stage 0-1]
forward_ms = 1
backward_ms = 2
weight_ms = 1
[hop]
latency_us = 3000
END
# tests/mpi/table.sh has every schedule, too.
models=('4 --vocab-size 300' '7') schedules='zb-v auto' policies=lws
transports=serial
ways=('--placement v --collective-order plan')
if full_tier; then
    models+=('12 --model-type bert')
    schedules='gpipe 1f1b zb-h1 zb-h2 zb-v interleaved auto'
    policies='prio lws random' transports='mpi serial'
    ways+=('--placement v' '--placement v --transport serial'
        '--num-virtual-stages-per-pipeline-rank 2 --use-distributed-optimizer')
fi
# shellcheck disable=SC2086,SC2206 # several words
for model in "${models[@]}"; do
    # The later --num-layers counts.
    run=("${small[@]}" --train-iters 4 --eval-iters 1 --eval-interval 2
        --num-layers $model --weight-hash)
    well 1 "${run[@]}"
    outcome >one
    [ "$(wc -l <one)" -ge 4 ] || fail "--num-layers $model: $(cat one)"
    virtual=--num-virtual-stages-per-pipeline-rank
    case $model in
    4*)
        like one 1 "${run[@]}" $virtual 4
        stages '4, 4 on each rank (placement loop), layers 1 1 1 1'
        layout 1 2
        like one 2 "${run[@]}" "${parallel[@]}" $virtual 2
        like one 2 "${run[@]}" "${parallel[@]}" --placement v
        stages '4, 2 on each rank (placement v), layers 1 1 1 1'
        like one 2 "${run[@]}" "${parallel[@]}" --placement v --window 2.6
        # Embedding and output layer alone.
        like one 2 "${run[@]}" "${parallel[@]}" --stage-layers 0,3,1,0 \
            --act-mem 1e7 --recompute-granularity full
        stages '4, 2 on each rank (placement loop), layers 0 3 1 0'
        # In an order, a stage that counts no time keeps slots, too.
        like one 2 "${run[@]}" "${parallel[@]}" --stage-layers 4,0 \
            --schedule zb-h1 --schedule-mode strict --workers 1
        like one 2 "${run[@]}" "${parallel[@]}" --stage-layers 2,1,1,0 \
            --schedule breadth-first --workers 1
        STARPU_SCHED=random like one 2 "${run[@]}" "${parallel[@]}" \
            --placement v --workers 2
        for schedule in $schedules; do
            way=()
            [ $schedule != interleaved ] || way=($virtual 2)
            like one 2 "${run[@]}" "${parallel[@]}" --schedule $schedule \
                "${way[@]}"
        done
        grep -q '^schedule auto: .* --act-mem ' out err \
            || fail "auto does not say what"
        for windows in '--act-mem 1e7' '--stage-windows 4,1+2' \
            '--stage-times times.ini --act-mem 3e7 --trace trace --trace-iterations 2:3' \
            '--durations trace/schedule.csv'; do
            like one 2 "${run[@]}" "${parallel[@]}" $windows
        done
        job 2 "${run[@]}" "${parallel[@]}" --act-mem 1000
        [ "$rc" -eq 6 ] || fail "--act-mem 1000: exit code $rc"
        grep -q 'act-mem is .* MiB, but the activations of one microbatch' \
            err || fail "--act-mem 1000: $(cat err)"
        like one 2 "${run[@]}" "${parallel[@]}" --schedule interleaved \
            $virtual 2 --row-parts 1 --workers 2
        layout 1 3
        like one 3 "${run[@]}" "${parallel[@]}" --stage-layers 1,2,1
        # All stages on one rank: any worker runs any of them.
        together=(--pipeline-model-parallel-size 4 --placement policy
            --workers 4)
        for policy in $policies; do
            STARPU_SCHED=$policy like one 1 "${run[@]}" "${together[@]}"
        done
        stages '4, 4 on each rank (placement policy), layers 1 1 1 1'
        like one 1 "${run[@]}" "${together[@]}" --schedule zb-h1
        ;;
    7*)
        layout 1 4
        like one 4 "${run[@]}" "${parallel[@]}"
        stages '4, layers 2 2 2 1'
        layout 1 2
        like one 2 "${run[@]}" "${parallel[@]}" $virtual 3 --placement v
        stages '6, 3 on each rank (placement v), layers 2 1 1 1 1 1'
        like one 2 "${run[@]}" "${parallel[@]}" \
            --num-layers-per-virtual-pipeline-stage 2
        like one 2 "${run[@]}" "${parallel[@]}" --placement v \
            --stage-layers 1,3,2,1 --transport serial
        like one 2 "${run[@]}" "${parallel[@]}" --schedule interleaved \
            $virtual 3
        # Tensor parallelism rounds otherwise, pipelines of it do not.
        layout 2 1
        well 2 "${run[@]}" "${parallel[@]}"
        outcome >two
        cmp -s one two && fail "T2 has the hash of one rank"
        layout 2 2
        for transport in $transports; do
            like two 4 "${run[@]}" "${parallel[@]}" $virtual 3 \
                --transport $transport
            like two 4 "${run[@]}" "${parallel[@]}" --placement v \
                --transport $transport
            like two 2 "${run[@]}" "${parallel[@]}" --placement policy \
                --workers 2 --transport $transport
        done
        ;;
    12*)
        layout 1 2
        like one 2 "${run[@]}" "${parallel[@]}" $virtual 3
        stages '6, 3 on each rank (placement loop), layers 2 2 2 2 2 2'
        layout 1 4
        like one 4 "${run[@]}" "${parallel[@]}" --placement v
        stages '8, 2 on each rank (placement v), layers 2 2 2 2 1 1 1 1'
        ;;
    esac
done

# Nor do pipelines of several replicas, whoever orders their collectives.
run=("${small[@]}" --train-iters 4 --eval-iters 1 --eval-interval 2
    --weight-hash)
well 1 "${run[@]}"
outcome >one
well 2 "${run[@]}" --tensor-model-parallel-size 1
outcome >two
cmp -s one two && fail "D2 has the hash of one rank"
layout 1 2
for way in "${ways[@]}"; do
    # shellcheck disable=SC2086 # several words
    like two 4 "${run[@]}" "${parallel[@]}" $way
done
like two 2 "${run[@]}" "${parallel[@]}" --placement policy --workers 2

# The first step, too: weights, gradients before clipping, loss and norm.
dump() {
    local to=$1
    shift
    well "$@" "${small[@]}" --train-iters 1 --dump-first-step "$to"
}
dump one.dump 1
layout 1 2
dump v.dump 2 "${parallel[@]}" --placement v
dump loop.dump 2 "${parallel[@]}" --stage-layers 1,1,1,1
if "${PYTHON:-python3}" -c 'import numpy' 2>/dev/null; then
    PYTHONPATH=${srcdir:-.}/tests/reference "${PYTHON:-python3}" - <<'END' \
        || fail "dumps differ"
from dump_files import assemble

one = assemble("one.dump")
for name in "v.dump", "loop.dump":
    other = assemble(name)
    assert other.keys() == one.keys(), (name, other.keys() ^ one.keys())
    for key in one:
        assert other[key].tobytes() == one[key].tobytes(), (name, key)
assert len(one) > 2 * 12 * 4
END
else
    echo "no numpy: dumps are not compared"
fi

# A bad value is found where it was made; with two versions of the weights, the
# search has the later one.
for way in '--placement v' '--num-virtual-stages-per-pipeline-rank 2' \
    '--weight-staleness 1'; do
    at=
    [ "$way" != '--weight-staleness 1' ] || at=' at the weights of the step after'
    # shellcheck disable=SC2086 # several words
    job 2 "${small[@]}" "${parallel[@]}" $way --train-iters 5 --inject-nan 3
    [ "$rc" -eq 5 ] && grep -q \
        "iteration 3:.*attention_fwd.*layer 0,.* is not finite$at\$" err \
        || fail "NaN with $way: exit code $rc: $(cat err)"
done

# A plan says the same as the run.
layout 1 2
well 1 "${small[@]}" "${parallel[@]}" --placement v --dry-run
grep -qx 'stages           4, 2 on each rank (placement v), layers 1 1 1 1' \
    out || fail "no stages in the plan: $(cat out)"

# One of a stage each for four workers knows no bubble of stages, and memory for
# a microbatch of each worker.
plan=(1 "${small[@]}" --pipeline-model-parallel-size 4 --placement policy
    --workers 4 --dry-run)
well "${plan[@]}"
grep -q '^bubble  *none that stages make' out || fail "bubble: $(cat out)"
grep -qx 'windows          4 4 4 4 microbatches of stages 0, 1, .*' out \
    || fail "windows: $(cat out)"
job "${plan[@]}" --act-mem 1e5
[ $rc -eq 6 ] && grep -q 'of a microbatch for each worker on each stage' err \
    || fail "too little for four workers: exit code $rc: $(cat err)"

# What cannot be: one sentence.
job 2 "${small[@]}" "${parallel[@]}" --num-virtual-stages-per-pipeline-rank 3
[ $rc -eq 2 ] && one_sentence && grep -q '= 6 stages' err \
    || fail "6 stages for 4 layers: exit code $rc: $(cat err)"

finish
