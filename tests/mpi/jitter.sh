#!/bin/bash
# Iterations of the real graph on 8 ranks - tensor, pipeline and
# data parallel by 2, two virtual stages each - with one collective at a time,
# under policies that have little in common, with passes of lognormal times
# (sigma 0.9) and transients, drawn apart on each rank: no two ranks wait for each
# other for ever, whoever decides on the order.  make check-full: a thousand,
# under every policy that StarPU has.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

cat >cluster.ini <<'END'
[stage]
forward_ms = 0.2
backward_ms = 0.2
weight_ms = 0.2
END
run=(--model gpt-tiny --num-layers 4 --hidden-size 64 --seq-length 64
    --micro-batch-size 1 --global-batch-size 8 --eval-iters 0
    --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2
    --num-virtual-stages-per-pipeline-rank 2 --synthetic cluster.ini
    --jitter 0.9,transient=0.05x5 --transport serial --distributed-timeout-minutes "$TIME_SCALE")
ranks=8
seed=1
iterations=0

# stress POLICY ITERATIONS OPTION...
stress() {
    local policy=$1 n=$2
    shift 2
    STARPU_SCHED=$policy well "$ranks" "${run[@]}" --train-iters "$n" \
        --seed $seed "$@"
    grep -q "^iteration *$n/$n " out || fail "$policy $*: $(cat out err)"
    seed=$((seed + 1))
    iterations=$((iterations + n))
}

# What else can change comes in turn.
policies='prio random lws' least=56 each=12 schedules=interleaved
if full_tier; then
    schedules='gpipe 1f1b interleaved zb-h1 zb-h2'
    find_policies
    policies+=' mtlm' least=1000 each=26
fi
for policy in $policies; do
    case $((seed % 3)) in
    0) stress "$policy" $each ;;
    1) stress "$policy" $each --use-distributed-optimizer --sequence-parallel ;;
    2) stress "$policy" $each --collective-order plan ;;
    esac
done
for schedule in $schedules; do
    stages=1
    [ $schedule != interleaved ] || stages=2
    stress random 20 --schedule $schedule \
        --num-virtual-stages-per-pipeline-rank $stages
done
! full_tier || stress random 20 --schedule zb-v --placement v
echo "$iterations iterations"

[ $iterations -ge $least ] || fail "$iterations iterations"

finish
