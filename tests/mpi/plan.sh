#!/bin/bash
# The plan against the run: --dry-run says what a run then prints, memory is
# within 5 % of what was planned, a layout is chosen, and where a model does
# not fit the advised command trains.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

# near RANKS OPTION...: the run's peak is within 5 % of its plan.
near() {
    well "$@"
    awk '/^memory: peak/ { ratio = $3 / $6; print ratio; seen = 1 }
         END { exit !(seen && ratio > 0.95 && ratio < 1.05) }' out >ratio \
        || fail "$*: $(grep ^memory: out)"
}

# Both must hold the same weights, gradients, moments and activations.
same_memory() {
    local run plan
    well "$@"
    run=$(sed -n 's/^memory of rank 0: weights \([0-9.]*\), gradients \([0-9.]*\), moments \([0-9.]*\), activations \([0-9.]*\),.*/\1 \2 \3 \4/p' out)
    millions=$(sed -n 's/.*, \([0-9.]*\) million parameters$/\1/p' out)
    job "$@" --dry-run
    plan=$(awk '$1 ~ /^0(-|$)/ && !done { print $5, $6, $7, $8; done = 1 }' out)
    [ -n "$run" ] && [ "$run" = "$plan" ] || fail "$*: run $run, plan $plan"
    awk -v run="$millions" '/^parameters/ {
            n = $2; for (i = 3; i < NF; i++) if ($(i + 1) == "without") n = $i
            same = run != "" && n / 1e6 - run < 0.01 && run - n / 1e6 < 0.01
        }
        END { exit !same }' out || fail "$*: $millions million parameters; $(cat out)"
}

iters=3
! full_tier || iters=6
# A sanitizer's own memory is not planned.
if ! sanitized; then
    near 1 --model gpt-tiny --train-iters $iters --eval-iters 1
    ! full_tier || near 1 --model bert-tiny --train-iters $iters --eval-iters 1
    # Operands of 16 bit are floats while a kernel runs.
    near 1 --model gpt-tiny --bf16 --train-iters $iters --eval-iters 1
    # What a worker holds of a product by AMX does not grow with the vocabulary.
    ! grep -q 'multiply by AMX' out || near 1 --model gpt-tiny --num-layers 2 --bf16 \
        --vocab-size 50000 --seq-length 128 --global-batch-size 32 --micro-batch-size 1 \
        --workers 8 --train-iters 2 --eval-iters 0
    job 1 --model gpt-tiny --blas amx --train-iters 1 --eval-iters 0 --mock-data
    [ "$rc" -ne 0 ] || near 1 --model gpt-tiny --num-layers 2 --blas amx \
        --vocab-size 50000 --seq-length 128 --global-batch-size 32 --micro-batch-size 1 \
        --workers 8 --train-iters 2 --eval-iters 0
    # Packed copies of weights, where the processor multiplies bf16.
    near 1 --model gpt-tiny --bf16 --global-batch-size 64 \
        --train-iters $iters --eval-iters 0
    ! grep -q '; CPUs multiply by ' out \
        || grep -q '^precision: .*packed once per iteration$' out \
        || fail "not packed: $(grep ^precision: out)"
    # Two versions of weights and gradients.
    near 1 --model gpt-tiny --train-iters $iters --eval-iters 1 \
        --weight-staleness 1
    # Two iterations of tasks, and no more.
    near 1 --model gpt-tiny --seq-length 32 --global-batch-size 64 \
        --train-iters $iters --eval-iters 0
    layout 1 2
    ! full_tier || near 2 --model gpt-tiny --train-iters $iters --eval-iters 0 \
        "${parallel[@]}"
    near 2 --model gpt-tiny --train-iters $iters --eval-iters 0 "${parallel[@]}" \
        --placement v
    layout 2 1
    ! full_tier || near 2 --model bert-tiny --train-iters $iters --eval-iters 0 \
        "${parallel[@]}"
    # Replicas; shared moments: as large as planned, and smaller than whole.
    layout 1 1 2
    wide=(--num-layers 2 --hidden-size 768 --num-attention-heads 4
        --seq-length 32 --vocab-size 2000 --micro-batch-size 1
        --global-batch-size 2 --train-iters 4 --lr 1e-4 --eval-iters 0)
    near 2 "${wide[@]}" "${parallel[@]}"
    whole=$(awk '/^memory: peak/ { print $3 }' out)
    near 2 "${wide[@]}" "${parallel[@]}" --use-distributed-optimizer
    awk -v whole="$whole" '/^memory of rank 0:/ { w = $6; m = $10 }
        /^memory: peak/ { peak = $3 }
        END { exit !(m > 0.98 * w && m < 1.02 * w && peak < whole) }' out \
        || fail "distributed optimizer: peak $whole without, $(grep ^memory out)"
    # Who only evaluates has weights, not the 12 bytes that training adds to
    # each parameter, nor activations for later; checkpoints that are written
    # and read are planned.
    several='1 2'
    full_tier || several=2
    for ranks in $several; do
        parallel=()
        [ $ranks -eq 1 ] || layout 2 1
        near $ranks "${wide[@]}" --train-iters 2 "${parallel[@]}" --save ck
        trained=$(awk '/^memory: peak/ { print $3 }' out)
        copies=$(sed -n 's/.* copies for checkpoints \([0-9.]*\),.*/\1/p' out)
        near $ranks "${wide[@]}" "${parallel[@]}" --load ck
        # How much of the file's pages the system has in at a time is its own.
        well $ranks "${wide[@]}" "${parallel[@]}" --load ck --eval-only \
            --mock-data --eval-iters 2
        awk -v trained="$trained" -v copies="$copies" -v ranks=$ranks '
            /million parameters$/ { n = $(NF - 2) * 1e6 / ranks }
            /^memory of rank 0:/ { none = $8 == "0.0," && $10 == "0.0," }
            /^memory: peak/ { ratio = $3 / $6
                less = (trained - copies - $3) * 1048576 }
            END { exit !(none && less > 0.9 * 12 * n && ratio > 0.85 && ratio < 1.05) }' out \
            || fail "evaluates on $ranks: trains in $trained, $(grep ^memory out)"
        rm -rf ck
    done
    # With weights of 16 bit, whose first values were floats in between, of
    # each worker; again the file's pages are the system's.
    well 1 "${wide[@]}" --bf16 --train-iters 2 --save ck
    STARPU_NCPU=2 well 1 "${wide[@]}" --bf16 --load ck --eval-only --mock-data \
        --eval-iters 2
    awk '/^memory: peak/ { ratio = $3 / $6; print ratio; seen = 1 }
         END { exit !(seen && ratio > 0.85 && ratio < 1.15) }' out >ratio \
        || fail "evaluates bf16: $(grep ^memory: out)"
    rm -rf ck
    # Large ones, cut to what a test may take.
    ! full_tier || near 1 --model gpt2-124m --micro-batch-size 1 --global-batch-size 2 \
        --seq-length 128 --train-iters 2 --eval-iters 0
fi

same_memory 1 --model gpt-tiny --train-iters 1 --eval-iters 1
same_memory 2 --model bert-tiny --train-iters 1 --eval-iters 1
grep -q '= 2 ranks (chosen)' out || fail "no layout chosen: $(cat out)"
layout 2 2
same_memory 4 --model gpt-tiny --train-iters 1 --eval-iters 0 "${parallel[@]}"

# Nobody says how: two replicas; where the batch cannot be shared by four, two
# stages of each; where it cannot be shared at all, tensor 2.
well 2 "${small[@]}" --train-iters 1
grep -q '^layout: tensor 1 x pipeline 1 x data 2 = 2 ranks (chosen), ' out \
    || fail "two ranks: $(cat out)"
well 4 "${small[@]}" --global-batch-size 4 --train-iters 1
grep -q '^layout: tensor 1 x pipeline 2 x data 2 = 4 ranks (chosen), ' out \
    || fail "four ranks: $(cat out)"
well 4 "${small[@]}" --global-batch-size 2 --num-layers 2 --train-iters 1
grep -q '^layout: tensor 2 x pipeline 2 x data 1 = 4 ranks (chosen), ' out \
    || fail "four ranks: $(cat out)"
# A batch that nobody gives is a micro batch of each replica.
# It makes no difference to give it.
tiny=(--num-layers 1 --hidden-size 32 --num-attention-heads 2 --seq-length 16
    --micro-batch-size 3 --train-iters 2 --lr 1e-3 --eval-iters 0 --log-interval 1
    --log-format megatron)
well 2 "${tiny[@]}"
[ "$(field 'consumed samples' out | tr '\n' ' ')" = '6 12 ' ] \
    || fail "no batch given: $(cat out)"
rates=$(field 'learning rate' out)
well 2 "${tiny[@]}" --global-batch-size 6
[ "$(field 'learning rate' out)" = "$rates" ] \
    || fail "learning rates $rates, with the batch given $(field 'learning rate' out)"
well 1 --model gpt-tiny --num-layers 1 --train-iters 1 --eval-iters 0 \
    --global-batch-size 3
grep -q '= 1 rank, 3 microbatches of 1 ' out || fail "one rank: $(cat out)"

# A model that does not fit, with few addresses to find that out.  The second
# command must train.  On two cores of a Xeon four ranks searched for 22 to 25 s,
# and for 36 to 48 s beside other tests.  The limit stops what does not end.
slow=$((120 * TIME_SCALE))
cut=(--model gpt2-345m --hidden-size 256 --num-attention-heads 4
    --num-layers 80 --seq-length 512 --vocab-size 999 --train-iters 1
    --eval-iters 0)
(
    sanitized || ulimit -v 3000000
    start=$SECONDS
    failures=0
    job 2 "${cut[@]}"
    [ $rc -eq 6 ] || fail "${cut[*]}: exit code $rc: $(cat err)"
    [ $((SECONDS - start)) -le $slow ] || fail "${cut[*]}: took too long"
    mv err cut.err
    # A large batch makes the search for what would fit long.
    several='1 2 4' batch=()
    full_tier || several=2 batch=(--global-batch-size 64)
    for n in $several; do
        start=$SECONDS
        job $n --model bert-3.9b "${batch[@]}"
        [ $rc -eq 6 ] || fail "bert-3.9b on $n: exit code $rc: $(cat err)"
        grep -q 'GiB on this machine.* GiB available' err \
            || fail "bert-3.9b on $n: no need and have: $(cat err)"
        [ $((SECONDS - start)) -le $slow ] || fail "bert-3.9b on $n: too long"
    done
    mv cut.err err
    exit $failures
) || fail "${cut[*]}"
[ "$(grep -c '^  mtlm-run -n ' err)" -eq 2 ] || fail "no two commands: $(cat err)"
# What each of its ranks would take adds up to what is said to be needed.
awk '/ needs [0-9.]* GiB/ { for (i = 1; i < NF; i++) if ($i == "needs") need = $(i + 1) }
    /^[0-9]/ && NF == 12 { sum += $10; n++ }
    END { exit !(n == 2 && sum / 1024 > 0.97 * need && sum / 1024 < 1.03 * need) }' err \
    || fail "no plan of two ranks: $(cat err)"
command=$(sed -n '/^With fewer layers/ { n; s/^  mtlm-run -n 2 mtlm-dag //p }' err)
grep -q -- '--num-layers 4 ' <<<"$command" || fail "not 4 layers: $(cat err)"
# shellcheck disable=SC2086 # several words
well 2 $command
grep -q '^iteration 1/1 ' out || fail "$command: $(cat out)"

# A plan alone needs neither memory nor ranks.
job 1 --model gpt-1t --dry-run --tensor-model-parallel-size 8 \
    --pipeline-model-parallel-size 64
[ $rc -eq 0 ] || fail "gpt-1t: exit code $rc: $(cat err)"
grep -q ' = 512 ranks' out || fail "gpt-1t: $(cat out)"
# The order of the plan: the published one of 1F1B (arXiv 2104.04473, figure 4).
job 1 --model gpt-tiny --dry-run --pipeline-model-parallel-size 2 --workers 1 \
    --schedule 1f1b --micro-batch-size 1 --global-batch-size 4 \
    --schedule-out order.csv
printf '%s\n' 0F0,0F1,0B0,0F2,0B1,0F3,0B2,0B3 1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3 \
    | diff - order.csv || fail "--schedule-out: $(cat order.csv err)"
# A terminal sees what the plan works on; a file does not.
script -qec "$program --model gpt-tiny --dry-run" /dev/null >out </dev/null \
    || fail "on a terminal: $(cat out)"
for step in 'weighing layouts' 'planning memory' 'evaluating the schedule'; do
    grep -q "$step \.\.\." out || fail "no '$step': $(cat out)"
done
# Waits for messages do not lose, where a rank is slow either.
printf '[stage]\nforward_ms = 60\nbackward_ms = 60\nweight_ms = 6\n[host]\nlatency_us = 7000\n' >late.ini
for policy in prio mtlm; do
    STARPU_SCHED=$policy well 1 --dry-run --model gpt-tiny --num-layers 8 \
        --micro-batch-size 1 --global-batch-size 8 --world-size 4 --workers 1 \
        --pipeline-model-parallel-size 4 --schedule zb-v --schedule-mode windows \
        --synthetic late.ini --slow-rank 2:0.7
    sed -n 's/^node by node *\([0-9.]*\) s .*/\1/p' out >$policy.seconds
done
paste prio.seconds mtlm.seconds \
    | awk '{ n++; late = NF != 2 || $2 > 1.0001 * $1 } END { exit n != 1 || late }' \
    || fail "a slow rank: $(paste prio.seconds mtlm.seconds), $(cat err)"
# Workers share passes, and take less than schedules of whole passes can.
job 1 --dry-run --model gpt-tiny --num-layers 8 --micro-batch-size 1 --workers 2 \
    --global-batch-size 2 --pipeline-model-parallel-size 4 --world-size 4 \
    --synthetic late.ini --schedule 1f1b
grep -q 'no schedule of whole passes with B and W as one takes less than' out || fail "two workers: $(cat out err)"
job 1 --model gpt-tiny --dry-run
! grep -q 'weighing' out err || fail "steps in a file: $(cat err)"
# The plan grows with the layers, not with their square: 5 s, not 90 s.
if full_tier; then
    timeout $((20 * TIME_SCALE)) "$program" --model gpt-tiny --dry-run \
        --num-layers 4096 >out || fail "4096 layers take too long"
fi
job 3 --model gpt-tiny --dry-run --tensor-model-parallel-size 2
[ $rc -eq 2 ] || fail "2 of 3 ranks: exit code $rc: $(cat err)"

finish
