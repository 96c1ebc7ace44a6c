#!/bin/bash
# --replan-after: a job that changes its plan trains to the same bits as one that
# does not, and says what it measured.  Layers move to ranks that work less.  Where
# the change cannot be, the first plan goes on.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
refuses_at_once

run=("${small[@]}" --weight-hash)
iters=(--train-iters 8)

# unlike STAGES: times by which a microbatch in flight is enough: stage 0 works
# far longer than the microbatch takes from there to the end and back.
unlike() {
    cat >unlike.ini <<END
[stage 0]
forward_ms = 10
backward_ms = 10
weight_ms = 1000
[stage 1-$(($1 - 1))]
forward_ms = 10
backward_ms = 10
weight_ms = 10
END
}

# line: what the log says of the second plan.
line() {
    grep -h '^plan: after iteration ' out
}

# changed N: the plan has changed after that iteration, and the line is whole.
changed() {
    local ms='[0-9.e+-]+( [0-9.e+-]+)*'
    line | grep -qE "^plan: after iteration $1, F $ms ms, B $ms ms, W $ms ms, a message $ms ms; F, B and W of an iteration take $ms s by the first plan, $ms s by a second one: (layers( [0-9]+)+ become( [0-9]+)+, )?windows [0-9+ ]+ become [0-9+ ]+.*; changed in [0-9.]+ s$"
}

# replans N OPTION...: runs a job whose plan changes after iteration N.  A busy
# machine may measure times by which the first plan is as good: the job runs
# again, five times at most.
saves='' stays=''
replans() {
    local after=$1 try
    shift
    for try in 1 2 3 4 5; do
        rm -rf ${saves:+"$saves.2"} trace
        well "$@"
        changed "$after" && return
        line | grep -q ': the first plan stays$' || break
        [ -z "$stays" ] || return 0
    done
    fail "${name:-resumed}: the plan has not changed: $(cat out err)"
}

# like NAME RANKS OPTION...: the same weights and losses with a second plan as
# without one.  $saves: both save to directories, whose names begin so.  $stays:
# the first plan may be as good as the second.
like() {
    local name=$1 hash first=() second=()
    shift
    set -- "$@" "${iters[@]}"
    if [ -n "$saves" ]; then
        first=(--save "$saves.1") second=(--save "$saves.2")
    fi
    well "$@" "${run[@]}" "${first[@]}" --replan-after 0
    [ -z "$(line)" ] || fail "$name: --replan-after 0: $(line)"
    hash=$(weight_hash out)
    losses out >losses
    [ -n "$hash" ] || fail "$name: no hash: $(cat out err)"
    unlike "$stages"
    replans 3 "$@" "${run[@]}" "${second[@]}" --replan-after 3 \
        --stage-times unlike.ini
    [ "$(weight_hash out)" = "$hash" ] \
        || fail "$name: hash $(weight_hash out), without a second plan $hash"
    losses out | cmp -s - losses || fail "$name: other losses"
    echo "$name: $(line)"
}

layout 1 2
stages=2
more=(--eval-iters 1 --eval-interval 3)
saves=ck like 'two ranks' 2 "${parallel[@]}" "${more[@]}" --save-interval 2

# Resumed from what the second plan saved: N counts the iterations of this run.
whole=$(weight_hash out)
rm -r ck.2/iter_0000008
replans 7 2 "${run[@]}" "${iters[@]}" "${parallel[@]}" "${more[@]}" --load ck.2 \
    --replan-after 1 --stage-times unlike.ini --trace trace
[ "$(weight_hash out)" = "$whole" ] || fail "resumed: hash $(weight_hash out)"
# The trace begins behind the second plan: with the eighth iteration.
awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == "iteration") c = i; next }
    $c != 8 { bad = 1 } END { exit bad || !c || NR < 2 }' trace/schedule.csv \
    || fail "the trace: $(head -3 trace/schedule.csv)"

# --schedule auto plans again by itself in a long run; its first plan may stay.
for iterations in 29 30; do
    well 2 "${run[@]}" "${parallel[@]}" --schedule auto --train-iters $iterations
    [ "$(line | grep -c '^plan: after iteration 3, F .* by a second one: ')" \
        -eq $((iterations >= 30)) ] || fail "$iterations iterations: $(cat out err)"
done
whole=$(weight_hash out)
well 2 "${run[@]}" "${parallel[@]}" --schedule auto --train-iters 30 \
    --replan-after 0
[ -z "$(line)" ] && [ "$(weight_hash out)" = "$whole" ] \
    || fail "--replan-after 0: $(line), hash $(weight_hash out), not $whole"

# The output layer takes longer than all layers: the last rank gives layers away.
light=("${run[@]}")
heavy=("${run[@]}" --num-layers 16 --vocab-size 20000)
run=("${heavy[@]}")
# Other load on the machine may hide the work of a rank: up to five tries.
for _ in 1 2 3 4 5; do
    rm -rf moved.*
    saves=moved stays=yes like 'layers that move' 2 "${parallel[@]}" \
        --save-interval 2
    moves=$(line | grep -cE ': layers 8 8 become (9|1[0-5]) [1-7], windows ')
    [ "$moves" -eq 0 ] || break
done
[ "$moves" -eq 1 ] || fail "layers of the last rank: $(line)"

# Other layers resume from there: the two ranks' first ones, and one rank's.
whole=$(weight_hash out)
rm -r moved.2/iter_0000008
for ranks in 2 1; do
    cp -r moved.2 again
    well $ranks "${run[@]}" "${iters[@]}" --load again \
        --pipeline-model-parallel-size $ranks
    [ "$ranks" -eq 1 ] \
        || limit=$(sed -n 's/^memory of rank 0: .* in all \([0-9]*\)[.].*/\1/p' out)
    [ "$(weight_hash out)" = "$whole" ] \
        || fail "resumed on $ranks: hash $(weight_hash out), not $whole"
    rm -r again
done

# Without memory for the second plan the first one goes on.
cat >limited <<END
#!/bin/sh
[ "\$OMPI_COMM_WORLD_RANK" != 0 ] || export STARPU_LIMIT_CPU_MEM=$((limit + 1))
exec $program "\$@"
END
chmod +x limited
for _ in 1 2 3 4 5; do
    program=./limited well 2 "${run[@]}" "${parallel[@]}" --train-iters 4 \
        --replan-after 3
    stays=$(line | grep -c ": layers 8 8 stay, another rank cannot build the second one's program; without moves, F, B and W of an iteration take ")
    [ "$stays" -eq 0 ] || break
done
[ "$stays" -eq 1 ] || fail "layers without memory: $(cat out err)"
stays=''
run=("${light[@]}")
large=("${run[@]}" "${parallel[@]}" --seq-length 128 --micro-batch-size 4
    --global-batch-size 16 --stage-times unlike.ini --train-iters 3
    --stage-layers 2,2)
well 2 "${large[@]}"
limit=$(sed -n 's/^memory: peak .* planned \([0-9]*\)[.].*/\1/p' out)
for _ in 1 2 3 4 5; do
    STARPU_LIMIT_CPU_MEM=$((limit + 1)) well 2 "${large[@]}" --replan-after 1
    stays=$(line | grep -c ": windows 1 1 stay, the environment variable STARPU_LIMIT_CPU_MEM=$((limit + 1)) (MiB) leaves less than the plan of ")
    [ "$stays" -eq 0 ] || break
done
[ "$stays" -eq 1 ] || fail "without memory: $(cat out err)"
stays=''

# A synthetic run measures what its tasks sleep, whatever the plan counts by.
cat >cluster.ini <<END
[stage]
forward_ms = 20
backward_ms = 20
weight_ms = 20
END
well 2 --model gpt-tiny --num-layers 2 --seq-length 64 --micro-batch-size 1 \
    --global-batch-size 4 "${parallel[@]}" --train-iters 4 --log-interval 1 \
    --synthetic cluster.ini --slow-rank 1:0.5 --stage-times unlike.ini \
    --replan-after 2
changed 2 || fail "synthetic: $(cat out err)"
line | sed 's/, B .*//; s/.* F //' | awk '
    { exit !($1 > 15 && $2 > 35) }' || fail "synthetic: $(line)"

# One of four ranks is slow: an evaluation gains 3 % at least where layers move.
timed() {
    printf 'forward_ms = 20\nbackward_ms = 26\nweight_ms = 16\n'
}
{ echo '[stage]'; timed; } >cluster.ini
{ echo '[stage 0-3]'; timed; } >equal.ini
slow=(--model gpt-tiny --num-layers 32 --seq-length 64 --micro-batch-size 1
    --global-batch-size 16 --pipeline-model-parallel-size 4 --workers 1
    --schedule auto --stage-times equal.ini --train-iters 3 --log-interval 1
    --synthetic cluster.ini --slow-rank 1:0.8 --replan-after 2)
gains() {
    line | sed 's/.* iteration take //; s/ s by the first plan,//; s/ s by a second one: / /' \
        | awk '{ good = $2 <= 0.97 * $1 && $3 == "layers" && $10 < 8 }
            END { exit !good }'
}
# Other load on the machine may hide the slow rank: up to five tries.
for _ in 1 2 3 4 5; do
    well 4 "${slow[@]}"
    ! { changed 2 && gains; } || break
done
changed 2 && gains || fail "four ranks: $(cat out err)"

# What takes no effect is said.
well 1 "${run[@]}" "${iters[@]}" --replan-after 2
grep -q -- '--replan-after: without effect, the pipeline has one rank' err \
    || fail "one rank: $(cat err)"
well 2 "${run[@]}" "${iters[@]}" "${parallel[@]}" --load ck.2 --replan-after 5
grep -q -- '--replan-after 5: without effect, the run has 2 iterations' err \
    || fail "two iterations: $(cat err)"
well 2 "${run[@]}" --train-iters 4 "${parallel[@]}" --load ck.2 --replan-after 3
grep -q -- '--replan-after 3: without effect, the run has 0 iterations' err \
    || fail "nothing is left: $(cat err)"
echo 'replan-after = 8' >long.ini
well 2 "${run[@]}" "${iters[@]}" "${parallel[@]}" --config long.ini
grep -q -- '--replan-after 8: without effect, the run has 8 iterations' err \
    || fail "a configuration file: $(cat err)"

# What cannot be is refused.
job 2 "${run[@]}" "${iters[@]}" "${parallel[@]}" --trace no --trace-iterations 2:4 \
    --replan-after 2
[ "$rc" -eq 2 ] && grep -q -- '--trace-iterations 2:4 begins before the second plan, which --replan-after 2 makes after iteration 2' err \
    || fail "traced before: $rc, $(cat err)"
[ ! -e no ] || fail "a refused job leaves its trace's directory"

if full_tier; then
    layout 2 2
    like 'tensor-parallel' 4 "${parallel[@]}"
    layout 1 2 2
    replicas=("${parallel[@]}" --global-batch-size 16)
    like 'data-parallel' 4 "${replicas[@]}" --use-distributed-optimizer
    like 'fp16' 4 "${replicas[@]}" --fp16 --loss-scale-window 2
    like 'bf16' 4 "${replicas[@]}" --bf16 --use-distributed-optimizer
    like 'planned collectives' 4 "${replicas[@]}" --collective-order plan
    layout 1 2
    like 'recomputation' 2 "${parallel[@]}" --recompute-granularity selective
    STARPU_SCHED=mtlm like 'policy mtlm' 2 "${parallel[@]}"
    layout 1 4
    stages=4
    like 'four ranks' 4 "${parallel[@]}"
    stays=yes like 'auto' 4 "${parallel[@]}" --schedule auto
    stays=yes like 'strict' 4 "${parallel[@]}" --schedule zb-1p \
        --schedule-mode strict
    layout 1 2 2
    run=("${heavy[@]}") stages=2 stays=yes
    replicas=("${parallel[@]}" --global-batch-size 16)
    like 'layers of replicas' 4 "${replicas[@]}" --bf16
    like 'layers of cut moments' 4 "${replicas[@]}" --use-distributed-optimizer
    line | grep -q layers && fail "cut moments: $(line)"
    layout 2 2
    like 'layers of tensor-parallel ranks' 4 "${parallel[@]}"
    layout 1 2
    stages=4
    for placement in loop v; do
        like "layers in $placement" 2 "${parallel[@]}" --placement $placement \
            --num-virtual-stages-per-pipeline-rank 2
    done
    layout 1 4
    like 'layers of four ranks' 4 "${parallel[@]}"
    run=("${light[@]}") stays=''
    layout 1 2
    stages=2 iters=(--train-samples 60)
    like 'ramp-up' 2 "${parallel[@]}" --rampup-batch-size 2 2 20
fi

finish
