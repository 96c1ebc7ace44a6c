#!/bin/bash
# Synthetic runs: published schedules through the real runtime, against the
# evaluator with the same durations and the hop latency that the run had. On two
# ranks only by make check-full; tests/mpi/synthetic_eight.sh has others.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
. "${srcdir:-.}/tests/mpi/synthetic_common.sh" || exit

cluster uniform.ini 50
# Windows alone decide.
export STARPU_SCHED=prio
# Interleaved: what Megatron-LM's order has in flight, and behind the first rank
# one more.
#        limit p v m name        until B           until W
schedule 5     4 2 8 interleaved '8 8 8 6 4 5 4 2' '8 8 8 6 4 5 4 2'
if full_tier; then
    schedule 5 4 1 8 1f1b        '4 3 2 1'         '4 3 2 1'
    schedule 8 4 1 8 zb-h1       '4 3 2 1'         '4 4 4 4'
    schedule 5 2 1 4 1f1b        '2 1'             '2 1'
    schedule 5 2 2 4 interleaved '4 4 2 2'         '4 4 2 2'
    schedule 8 2 1 4 zb-h1       '2 1'             '2 2'
    schedule 8 2 2 4 zb-v        '3 2 2 1'         '3 2 2 1'
    # Workers wait for messages; the evaluator knows.
    export STARPU_SCHED=mtlm
    schedule 5 4 1 8 zb-h1       '4 3 2 1'         '4 4 4 4'
    export STARPU_SCHED=prio
fi
schedule 8     4 2 8 zb-v        '7 6 5 4 4 3 2 1' '7 6 5 4 4 3 2 1'
unset STARPU_SCHED

# Where nobody names a policy, the better plan does: a run of ZB-H1 behind short
# messages takes what the fixed order does, 27 F.
cluster hop.ini 20 20
layout 1 4
compare 5 4 "${pretend[@]}" --synthetic hop.ini --num-layers 4 \
    --global-batch-size 8 "${parallel[@]}" --schedule zb-h1 \
    && echo "no named policy: $more %"
grep -q 'StarPU .*, policy mtlm,' out || fail "no named policy: $(cat out)"
grep -q '^Drawn 8 times from the times of messages: .* to .* ms' out \
    || fail "no range of evaluations: $(cat out)"
grep -q '^policy mtlm: workers wait for messages, ' err \
    || fail "no note on the policy: $(cat err)"

# The evaluator draws the same jitter, and knows the slow rank.
layout 1 2
compare 8 2 "${pretend[@]}" --synthetic uniform.ini --num-layers 2 \
    --global-batch-size 4 "${parallel[@]}" --jitter 0.3 --slow-rank 1:0.8 \
    && echo "jitter and a slow rank: $more %"

# The jitter is that of the traced iterations, however late these are.  Held
# against the noise of the first iterations, this run is 28 % faster than
# predicted.  A busy machine can only slow the run down.
cluster late.ini 5
well 2 "${pretend[@]}" --synthetic late.ini --num-layers 2 \
    --global-batch-size 4 "${parallel[@]}" --jitter 0.5 --seed 12 \
    --train-iters 14 --trace-iterations 12:14
more=$(slower)
awk -v x="$more" 'BEGIN { exit !(x != "" && x > -10) }' \
    || fail "noise of late iterations: $more %, $(cat out err)"

# More iterations than are evaluated.
well 2 "${pretend[@]}" --synthetic late.ini --num-layers 2 \
    --global-batch-size 4 "${parallel[@]}" --jitter 0.5 --train-iters 10 \
    --trace-iterations 1:10
grep -q '^The prediction has the noise of the first 8 of 10 traced iterations' out \
    || fail "some iterations: $(cat out err)"

# One rank whose four workers may each run any of four stages.
cluster half.ini 25
compare 8 1 "${pretend[@]}" --synthetic half.ini --num-layers 4 \
    --global-batch-size 8 --pipeline-model-parallel-size 4 \
    --placement policy --workers 4 && echo "placement policy: $more %"

# Every kind of message, on ranks that each have a part of everything.
cluster short.ini 5 100
well 8 "${pretend[@]}" --synthetic short.ini --num-layers 4 \
    --global-batch-size 8 --tensor-model-parallel-size 2 \
    --pipeline-model-parallel-size 2 --sequence-parallel \
    --num-virtual-stages-per-pipeline-rank 2 --use-distributed-optimizer
grep -q '^Predicted: .* hop .* tensor-parallel collective' out \
    || fail "eight ranks: $(cat out)"

# The last stage has small collectives more than the first one: their time stays
# above 0 where the mean of all is far below that of the first stage.
cat >slow.ini <<END
[stage]
forward_ms = 5
backward_ms = 5
weight_ms = 5
[host]
latency_us = 0
gb_per_s = 0.002
END
layout 2 2
well 4 "${pretend[@]}" --synthetic slow.ini --num-layers 4 \
    --global-batch-size 4 "${parallel[@]}"
grep -q '^Predicted: .* tensor-parallel collective' out \
    || fail "small collectives: $(cat out err)"
layout 1 2

# What is wrong is said once, with the usual status.
job 2 "${pretend[@]}" "${parallel[@]}" --synthetic none.ini
grep -qx 'mtlm-dag: --synthetic none.ini: No such file or directory' err \
    || fail "no file: $(cat err)"
[ "$rc" -eq 2 ] || fail "no file: exit code $rc"
job 2 "${pretend[@]}" "${parallel[@]}" --synthetic uniform.ini --slow-rank 2:1
grep -q 'slow-rank 2:1: this job has the ranks 0 to 1' err \
    || fail "no such rank: $(cat err)"
[ "$rc" -eq 2 ] || fail "no such rank: exit code $rc"

finish_compared
