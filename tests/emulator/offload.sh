#!/bin/bash
# State of a GPU in host memory (--offload) on the device double, whose memory
# is too small for the jobs: the bits of jobs in GPU memory, the peak within the
# plan, checkpoints of either, traces, refusals; the plan of a described card.
#
# shellcheck source=tests/emulator/common.sh
. "${srcdir:-.}/tests/emulator/common.sh"
refuses_at_once

mini=(--model gpt-tiny --num-layers 4 --hidden-size 32 --num-attention-heads 4
    --seq-length 16 --micro-batch-size 1 --global-batch-size 2
    --attention-dropout 0.1 --hidden-dropout 0.1 --lr 1e-3 --min-lr 0
    --lr-decay-style constant --lr-warmup-fraction 0 --train-iters 3
    --eval-iters 0 --log-interval 1 --log-format megatron --weight-hash)

# offloads NAME HASH WHAT OPTION...: ranks with a GPU each, whose state WHAT
# is offloaded; the weights have that hash, and no GPU holds more than planned.
offloads() {
    local name=$1 hash=$2 what=$3
    shift 3
    well "$ranks" "$@"
    grep -q "^offload: $what.* of rank 0 in .* of host memory" out ||
        fail "$name: no state in host memory: $(cat out)"
    [ -n "$hash" ] && [ "$(weight_hash out)" = "$hash" ] ||
        fail "$name: hash $(weight_hash out), in GPU memory $hash"
    awk '/^GPU memory: peak/ { held = $4 < $7 } END { exit !held }' out ||
        fail "$name: $(grep '^GPU memory' out)"
}

# same NAME OPTION...: in GPU memory, with moments in host memory, and with all
# state there.
same() {
    local name=$1 hash
    shift
    on_gpus "$ranks"
    well "$ranks" "$@" --offload none
    ! grep -q '^offload:' out || fail "$name: offloaded: $(cat out)"
    hash=$(weight_hash out)
    offloads "$name" "$hash" moments "$@" --offload optimizer --offload-host
    [[ $* = *staleness* ]] && return # --offload all refuses two versions
    offloads "$name, all" "$hash" 'moments.*, gradients of .* weights' "$@" \
        --offload all
}

ranks=1
same 'P1' "${mini[@]}"
# What is enqueued takes its time.
MTLM_DOUBLE_DELAY_US=200 same 'bf16, slow copies' "${mini[@]}" --bf16
layout 1 2
# With so many microbatches inputs of layers are offloaded, too.
inputs=("${mini[@]}" "${parallel[@]}" --hidden-size 64 --global-batch-size 12
    --train-iters 2)
on_gpus 2
well 2 "${inputs[@]}" --offload none
hash=$(weight_hash out)
offloads 'P2, inputs' "$hash" 'moments.*, gradients of .* weights .* inputs of 2 layers' \
    "${inputs[@]}" --offload all
! full_tier || offloads 'P2' "$hash" moments "${inputs[@]}" --offload optimizer
# Gradients pass through the host, so their valid copies are not on the GPU.
layout 1 1
ranks=2
same 'D2' "${mini[@]}" "${parallel[@]}" --use-distributed-optimizer --bf16 \
    --transport mpi
if full_tier; then
    same 'D2, all-reduce' "${mini[@]}" "${parallel[@]}" --transport mpi
    same 'D2, NCCL' "${mini[@]}" "${parallel[@]}" --use-distributed-optimizer
    layout 2 1
    same 'T2' "${mini[@]}" "${parallel[@]}"
    layout 1 2
    same 'two versions' "${mini[@]}" "${parallel[@]}" --weight-staleness 1
fi

# auto: less memory on the GPU, more goes to the host.  The plan has the bytes of
# the run.
ranks=1
wide=("${mini[@]}" --hidden-size 128 --num-layers 8 --global-batch-size 1
    --train-iters 2)
on_gpus 1
well 1 "${wide[@]}"
! grep -q '^offload:' out || fail "auto: offloaded without need: $(cat out)"
whole=$(weight_hash out)
planned=$(sed -n 's/^GPU memory: .* planned \([0-9]*\).*/\1/p' out)
gone=
for less in 3 14 18; do
    export MTLM_DOUBLE_MIB=$((planned - less))
    job 1 "${wide[@]}" --offload none
    [ "$rc" -eq 6 ] && grep -q "on each rank's GPU, and the one with least" err ||
        fail "auto, $less MiB less: fits without: $rc, $(cat out err)"
    grep -q "With Adam's moments in host memory it fits here" err ||
        [ $less -gt 3 ] || fail "auto: no advice: $(cat err)"
    offloads "auto, $less MiB less" "$whole" moments "${wide[@]}"
    gone+="$(sed -n 's/^offload: \(moments.*\) of rank 0 in.*/\1/p' out);"
    moves=$(sed -n 's/.*iteration \([0-9.]*\) MiB to the GPU, \([0-9.]*\) MiB.*/\1 \2/p' out)
    well 1 "${wide[@]}" --dry-run
    plans=$(awk '/^Host memory of a rank/ { n = NR } n && NR == n + 2 { print $3, $4 }' out)
    [ -n "$moves" ] && [ "$moves" = "$plans" ] ||
        fail "auto, $less MiB less: moves '$moves', plans '$plans'"
done
[[ $gone = 'moments;'*'gradients'* ]] || fail "auto: $gone"

# Too little host memory, and options of the other place.
export MTLM_DOUBLE_MIB=$((planned - 3))
job 1 "${wide[@]}" --offload-memory 1e6
[ "$rc" -eq 6 ] && grep -q 'With its state in host memory it fits here, but' err ||
    fail "a small host: exit code $rc: $(cat err)"
(
    on_gpus 1
    export MTLM_DOUBLE_MIB=16384
    ulimit -v 2500000
    job 1 --model gpt2-345m --micro-batch-size 1 --global-batch-size 1 \
        --mock-data --train-iters 1 --offload optimizer
    [ "$rc" -eq 6 ] && grep -q 'beside the GPUs: .* 2.* GiB of them for their state' err
) || fail "a host of 2.5 GB: $(cat err)"
job 1 "${mini[@]}" --offload optimizer --offload-dir .
[ "$rc" -eq 2 ] && grep -q "state of this job's GPUs is offloaded to host memory" err ||
    fail "a disk for a GPU: exit code $rc: $(cat err)"
job 1 "${mini[@]}" --offload-host --no-gpu
[ "$rc" -eq 2 ] && grep -q 'keeps state of GPUs in host memory' err ||
    fail "the host for a CPU: exit code $rc: $(cat err)"
job 1 "${mini[@]}" --offload-host --offload none
[ "$rc" -eq 2 ] && grep -q 'without effect with --offload none' err ||
    fail "nothing for the host: exit code $rc: $(cat err)"

# Checkpoints of both kinds are the same files, and both kinds resume them.
on_gpus 1
well 1 "${mini[@]}"
whole=$(weight_hash out)
well 1 "${mini[@]}" --exit-interval 2 --save gpu.dir
well 1 "${mini[@]}" --exit-interval 2 --save host.dir --save-interval 1 \
    --offload all
cmp {gpu,host}.dir/iter_0000002/rank-00000.safetensors ||
    fail "checkpoints differ"
well 1 --load host.dir --train-iters 3 --weight-hash
[ "$(weight_hash out)" = "$whole" ] || fail "from host memory: $(cat out)"
well 1 --load gpu.dir --train-iters 3 --weight-hash --offload all
[ "$(weight_hash out)" = "$whole" ] || fail "to host memory: $(cat out)"

# Evaluation and text: weights are offloaded, which no node writes.
seq 2000 >text
"${builddir:-.}/mtlm-preprocess" --input text --output-prefix data \
    --tokenizer-type byte >said 2>&1 || fail "no data: $(cat said)"
results() {
    grep -av '^offload\|^stages\|memory\|communication' "$@"
}
for run in '--eval-only --eval-iters 2 --data-path data --split 0,100,0' \
    '--generate 12 --max-new-tokens 6'; do
    # shellcheck disable=SC2086 # several words
    well 1 --load gpu.dir $run --offload none
    results out >want
    # shellcheck disable=SC2086 # several words
    well 1 --load gpu.dir $run --offload all
    results out | cmp -s - want && [ -s want ] ||
        fail "$run: $(cat out), in GPU memory $(cat want)"
done

# The nodes are in the trace.
well 1 "${mini[@]}" --offload optimizer --trace trace --trace-iterations 2:3
for op in LOAD STORE; do
    grep -q ",$op,.*,disk," trace/schedule.csv || fail "schedule.csv: no $op"
done

# bert-3.9b in bf16 on a described card of 24 GiB.
on_cpus
card() {
    cat <<END_CARD
[device]
peak_tflop_per_s = 100
efficiency = 0.5
memory_gb = 25.769
memory_gb_per_s = 900
launch_us = 5
[host]
latency_us = 5
memory_gb = $1
END_CARD
}
bert=(--model bert-3.9b --bf16 --micro-batch-size 1 --global-batch-size 32
    --world-size 1 --dry-run)
card 128 >card.ini
job 1 "${bert[@]}" --synthetic card.ini --offload none
[ "$rc" -eq 6 ] && grep -q 'layouts of bert-3.9b .* fits into the 24.00 GiB' err ||
    fail "3.9b without: exit code $rc: $(cat out err)"
well 1 "${bert[@]}" --synthetic card.ini --offload-host
grep -q '^It fits: .* gives a device 24.00 GiB' out &&
    grep -q '^[0-9.]* GiB are needed on a host, and card.ini gives' out ||
    fail "3.9b on 24 GiB: $(cat out err)"
card 32 >card.ini
well 1 "${bert[@]}" --synthetic card.ini --offload all
grep -q 'GiB are needed on a host, .* 29.80 GiB: too little' out ||
    fail "3.9b beside 32 GB: $(cat out)"
finish
