#!/bin/bash
# Whole jobs on the device double, with kernels that the emulator runs: the
# losses of the CPU's kernels, alone and as ranks that share a device.
#
# shellcheck source=tests/emulator/common.sh
. "${srcdir:-.}/tests/emulator/common.sh"

mini=(--num-layers 2 --hidden-size 32 --num-attention-heads 4 --seq-length 16
    --micro-batch-size 1 --global-batch-size 2 --attention-dropout 0.1
    --hidden-dropout 0.1 --lr 1e-3 --min-lr 0 --lr-decay-style constant
    --lr-warmup-fraction 0 --train-iters 2 --eval-iters 0 --log-interval 1
    --log-format megatron)

# same BOUND WHAT: the losses of the last job are those of the file want.
same() {
    losses out >got.losses
    losses want >want.losses
    local worst
    worst=$(difference got.losses want.losses)
    awk -v x="$worst" -v bound="$1" 'BEGIN { exit !(x < bound) }' ||
        fail "$2: losses differ by $worst: $(cat err)"
}

# both BOUND OPTION...: one rank on the CPU, whose output stays in the file want,
# then on a device.
both() {
    local bound=$1
    shift
    on_cpus
    well 1 "$@" "${mini[@]}"
    mv out want
    on_gpus 1
    well 1 "$@" "${mini[@]}"
    grep -q '^GPU: rank 0 on 0 of 1: Device double 0' out ||
        fail "no GPU: $(cat out)"
    awk '/^GPU memory: peak/ { planned = $4 > 32 && $4 < $7 }
        END { exit !planned }' out ||
        fail "memory of the GPU: $(cat out)"
    same "$bound" "$* on a GPU"
    [ "$(grep -c '^attention: own kernels (.' out)" -eq 1 ] ||
        fail "which attention: $(cat out)"
}

# gelu WHAT GRADIENT: what the last job said of GELU, but for versions.
gelu() {
    sed -n 's/^GELU: //p' out | sed 's/\(cuBLASLt\) [0-9][0-9]*/\1/g' >got.gelu
    [ "$(cat got.gelu)" = "$1; its gradient: $2" ] ||
        fail "GELU by $(cat got.gelu), not $1, $2"
}

# bias WHAT: the same of the biases' gradients.
bias() {
    sed -n 's/^bias gradients: //p' out |
        sed 's/\(cuBLASLt\) [0-9][0-9]*/\1/g' >got.bias
    [ "$(cat got.bias)" = "$1" ] ||
        fail "gradients of biases by $(cat got.bias), not $1"
}

# Sums in another order may be rounded to another number of 8 bits.
both 1e-3 --model gpt-tiny --bf16
gelu "epilogue of cuBLASLt" "epilogue of cuBLASLt"
bias "own kernels (compute capability 9.0)"
# No way is proposed for epilogues, or what was proposed is refused.
refusals=("ask:0 proposes nothing: no algorithm found"
    "run:7 refuses: CUBLAS_STATUS_INVALID_VALUE")
! full_tier || refusals+=(
    "ask proposes nothing: CUBLAS_STATUS_NOT_SUPPORTED"
    "ask:8 proposes nothing: CUBLAS_STATUS_ARCH_MISMATCH"
    "run:8 refuses: CUBLAS_STATUS_ARCH_MISMATCH")
for refusal in "${refusals[@]}"; do
    MTLM_DOUBLE_REFUSE_EPILOGUES=${refusal%% *} well 1 --model gpt-tiny \
        "${mini[@]}" --bf16
    own="own kernels (cuBLASLt ${refusal#* })"
    same 1e-3 "$own"
    gelu "$own" "$own"
done

MTLM_DOUBLE_CAPABILITY=80 well 1 --model gpt-tiny "${mini[@]}" --bf16
gelu "own kernels (compute capability 8.0)" \
    "own kernels (compute capability 8.0)"
bias "epilogue of cuBLASLt"
MTLM_DOUBLE_CAPABILITY=80 well 1 --model gpt-tiny "${mini[@]}" --bf16 \
    --epilogues gelu:on,bias-gradient:off
gelu "epilogue of cuBLASLt" "own kernels (compute capability 8.0)"
bias "own kernels (--epilogues bias-gradient:off)"
well 1 --model gpt-tiny "${mini[@]}" --bf16 \
    --epilogues gelu-gradient:off,bias-gradient:on
same 1e-3 "--epilogues gelu-gradient:off"
gelu "epilogue of cuBLASLt" "own kernels (--epilogues gelu-gradient:off)"
bias "epilogue of cuBLASLt"

# Where the library fails otherwise, that is said and ends the job.
for when in ask:14=AlgoGetHeuristic run:13=; do
    MTLM_DOUBLE_REFUSE_EPILOGUES=${when%=*} job 1 --model gpt-tiny \
        "${mini[@]}" --bf16
    [ "$rc" -eq 7 ] || fail "$when: exit code $rc: $(cat err)"
    grep -q "cublasLtMatmul${when#*=}: an error of cuBLASLt" err ||
        fail "$when: $(cat err)"
done
! full_tier || both 1e-5 --model bert-tiny
# A BLOOM: ALiBi, and a layernorm after the embedding.
both 1e-5 --model gpt-tiny --position-embedding-type alibi --embed-layernorm
both 1e-5 --model gpt-tiny
gelu "own kernels (single precision)" "own kernels (single precision)"

MTLM_DOUBLE_DELAY_US=200 well 1 --model gpt-tiny "${mini[@]}"
same 1e-5 "what is enqueued takes its time"
MTLM_DOUBLE_REFUSE_EPILOGUES=run well 1 --model gpt-tiny "${mini[@]}"
same 1e-5 "products whose epilogues are refused"
layouts=("2 2")
! full_tier || layouts+=("2 1")
for layout in "${layouts[@]}"; do
    # shellcheck disable=SC2086 # two words
    layout $layout
    well "$ranks" --model gpt-tiny "${mini[@]}" "${parallel[@]}" --share-gpu
    same 1e-5 "$ranks ranks of a GPU, $layout"
done

# Ranks for which there is no GPU leave, the others train.
on_gpus 2
well 3 --model gpt-tiny "${mini[@]}"
[ "$(grep -c 'mtlm-dag: 2 of 3 ranks have a GPU and train' err)" -eq 1 ] || fail "$(cat err)"
grep -q '= 2 ranks (chosen)' out || fail "three ranks, two GPUs: $(cat out)"
same 1e-5 "two of three ranks"

# Two versions of the weights: the third iteration reads the other slot.
more=("${mini[@]}" --model gpt-tiny --train-iters 4 --global-batch-size 4
    --pipeline-model-parallel-size 1 --weight-staleness 1)
on_cpus
well 2 "${more[@]}"
mv out want
on_gpus 2
well 2 "${more[@]}"
same 1e-5 "two versions of the weights, two replicas"
well 2 "${more[@]}" --use-distributed-optimizer
same 1e-5 "two versions of the weights, two shards"

# The node that makes the first NaN is found, on either.
job 1 --model gpt-tiny "${mini[@]}" --inject-nan 2
[ "$rc" -eq 5 ] || fail "NaN on a GPU: exit code $rc"
grep -o 'rank 0: .* made the first value' err >got.node
on_cpus
job 1 --model gpt-tiny "${mini[@]}" --inject-nan 2
grep -qFf got.node err || fail "NaN of $(cat got.node), on the CPU: $(cat err)"

# A job on GPUs needs no library for products on CPUs; nor does its plan.
on_gpus 2
well 1 --model gpt-tiny "${mini[@]}" --blas ./nothing.so
well 1 --model gpt-tiny --dry-run --blas ./nothing.so
job 1 --model gpt-tiny --dry-run --blas ./nothing.so --no-gpu
[ "$rc" -eq 2 ] && grep -q 'cannot load' err ||
    fail "no such library, on CPUs: exit code $rc: $(cat err)"

# Devices that cannot be used.
MTLM_DOUBLE_DRIVER=12040 job 1 --model gpt-tiny "${mini[@]}"
[ "$rc" -eq 2 ] || fail "old driver: exit code $rc"
grep -q 'driver knows CUDA up to 12.4' err || fail "old driver: $(cat err)"

# Heads that no kernel has, also of a plan.
wide=(--model gpt-tiny --hidden-size 640 --num-attention-heads 2)
for run in "--train-iters 1" --dry-run; do
    # shellcheck disable=SC2086 # two words
    job 1 "${wide[@]}" $run
    [ "$rc" -eq 2 ] || fail "wide heads, $run: exit code $rc"
    grep -q 'attention on a GPU: .* = 320 elements in a head, at most 256' err ||
        fail "wide heads, $run: $(cat err)"
done
well 1 "${wide[@]}" --no-gpu --dry-run
job 1 --model gpt-tiny --attention-backend fused --train-iters 1
[ "$rc" -eq 2 ] && grep -q 'fused takes 16 bits .* of 8 .* have 64' err ||
    fail "fused in fp32: exit code $rc: $(cat err)"
well 1 --model gpt-tiny --attention-backend fused --bf16 --dry-run

# A GPU that is too small, or that somebody else fills.
MTLM_DOUBLE_MIB=1024 job 1 --model gpt2-345m
[ "$rc" -eq 6 ] || fail "a small GPU: exit code $rc"
grep -q "GiB on each rank's GPU, and the one with least has 0.75 GiB" err ||
    fail "a small GPU: $(cat err)"
MTLM_DOUBLE_TAKEN_MIB=2040 job 1 --model gpt-tiny "${mini[@]}"
[ "$rc" -eq 6 ] || fail "a full GPU: exit code $rc"
grep -q 'enough if no other process' err || fail "a full GPU: $(cat err)"
well 1 --model bert-3.9b --dry-run
grep -q '^GPUs  *2 of this machine, a rank can have 1.75 GiB of each' out ||
    fail "the plan: $(cat out)"
# A rank without a GPU leaves: advice for this machine does not count it.
MTLM_DOUBLE_GPUS=1 well 2 --model gpt2-345m --vocab-size 999 --seq-length 128 \
    --offload none --dry-run
sed -n '/^With fewer layers it fits here:/ { n; p }' out | grep -q '^  mtlm-dag ' ||
    fail "advice for two ranks and a GPU: $(cat out)"
# Machines of four and three ranks, two GPUs each: the other ranks leave.
OMPI_COMM_WORLD_SIZE=7 OMPI_COMM_WORLD_LOCAL_SIZE=4 well 1 --model gpt-tiny \
    --micro-batch-size 1 --global-batch-size 12 --dry-run
grep -q ' = 4 ranks' out || fail "a plan of unequal machines: $(cat out)"
# A GPU gets whole samples, unless rows are to be cut.
nodes() {
    well 1 --model gpt2-124m --micro-batch-size 1 --global-batch-size 1 \
        --num-layers 2 --dry-run "$@"
    sed -n 's/^nodes  *\([0-9]*\) .*/\1/p' out
}
[ "$(nodes)" = "$(nodes --row-parts 1)" ] || fail "a sample was cut for a GPU"
[ "$(nodes)" != "$(nodes --row-parts 2)" ] || fail "--row-parts did nothing"
[ "$(nodes --no-gpu)" = "$(nodes --no-gpu --row-parts 2)" ] ||
    fail "a single sample was not cut for CPUs"
MTLM_DOUBLE_DRIVER=0 well 1 --model gpt-tiny "${mini[@]}"
grep -q 'GPU: none, there is no driver; trains on CPUs' out ||
    fail "no driver: $(cat out)"
finish
