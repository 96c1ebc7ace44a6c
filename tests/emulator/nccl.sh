#!/bin/bash
# Collectives by NCCL, on the doubles of the device and of NCCL: the programs
# that test the engine by MPI find the same sums, with their data on the host
# and on a GPU; ranks that issue in different orders do not get through; whole
# jobs end with the weights that they have by MPI; asynchronous errors end all
# ranks, and what cannot work is refused.
#
# shellcheck source=tests/emulator/common.sh
. "${srcdir:-.}/tests/emulator/common.sh"

programs=${builddir:-.}/tests/mpi

# ranks N [NAME=VALUE...] PROGRAM...: output in out and err, status in $rc.
ranks() {
    local n=$1
    shift
    # shellcheck disable=SC2086 # several words
    timeout -k 5 $((60 * TIME_SCALE)) $MPIRUN -q -n "$n" env "$@" >out 2>err </dev/null
    rc=$?
}

# passes [NAME=VALUE...] TEST: that program with as many ranks as it is for.
passes() {
    ranks "${!#: -1}" "${@:1:$#-1}" "$programs/${!#}"
    [ $rc -eq 0 ] || fail "$*: exit code $rc, $(cat out err)"
}

# failed WORDS: all ranks must end because of NCCL, and say in which node.
failed() {
    [ $rc -eq 7 ] || fail "$1: exit code $rc: $(cat err)"
    grep -q "^mtlm-dag: rank 1: NCCL: remote process exited .*, in $1" err \
        || fail "$1: $(cat err)"
    grep -q '^NCCL double: aborted' err || fail "$1: not aborted: $(cat err)"
}

# Kernels and data are on the host.
on_gpus 1
export MTLM_TEST_TRANSPORT=nccl MTLM_DOUBLE_NCCL_HOST=1
export CUDA_MODULE_LOADING=EAGER
for test in test_messages.mpi2 test_shards.mpi4 test_collectives.mpi4; do
    passes $test
done
# The order matters here, or the above shows nothing.
ranks 4 "$programs/test_collectives.mpi4" 2
[ $rc -ne 0 ] || fail "each rank has a plan of its own, and all is well: $(cat out)"

export MTLM_DOUBLE_NCCL_FAIL_RANK=1
start=$SECONDS
ranks 4 MTLM_DOUBLE_NCCL_FAIL=50 "$programs/test_collectives.mpi4"
failed 'the all-reduce of .* in iteration .*, as rank [01] of [24] of its comm'
ranks 4 MTLM_DOUBLE_NCCL_FAIL=1 "$programs/test_shards.mpi4"
failed 'the reduce-scatter of .* in iteration'
[ $((SECONDS - start)) -lt $((15 * TIME_SCALE)) ] || fail "took $((SECONDS - start)) s to end"

# The data is on the GPU, or on its way.
unset MTLM_DOUBLE_NCCL_HOST
export MTLM_TEST_GPU=0
if full_tier; then
    passes test_messages.mpi2
    passes test_shards.mpi4
fi
passes MTLM_TEST_TRANSPORT=mpi MTLM_TEST_FILL_GPU=1 MTLM_DOUBLE_MIB=128 \
    test_shards.mpi4

# Whole jobs, which say that themselves.
unset CUDA_MODULE_LOADING
mini=(--model gpt-tiny --num-layers 2 --hidden-size 32 --num-attention-heads 4
    --seq-length 16 --micro-batch-size 1 --global-batch-size 4 --lr 1e-3
    --min-lr 0 --lr-decay-style constant --lr-warmup-fraction 0 --train-iters 2
    --eval-iters 0 --log-interval 1 --log-format megatron --weight-hash)

# by TRANSPORT SAYS RANKS OPTION...: the hash of the weights, in $hash.
by() {
    well "$3" "${mini[@]}" --transport "$1" "${@:4}"
    grep -q "^transport: $2" out || fail "$*: $(cat out)"
    hash=$(weight_hash out)
    [ -n "$hash" ] || fail "$*: no hash: $(cat out err)"
}

# same RANKS OPTION...: NCCL is taken by itself, and gives the same bits.
same() {
    local want
    rm -f numbers
    by auto 'collectives by NCCL [0-9.]* between GPUs' "$@" --metrics numbers
    want=$hash
    grep -q '"transport":"NCCL [0-9.]*"' numbers \
        || fail "$*: $(head -1 numbers)"
    by mpi 'MPI, through the host' "$@"
    [ "$hash" = "$want" ] || fail "$*: $want by NCCL, $hash by MPI"
}

on_gpus 2
layout 2 1
same 2 "${parallel[@]}" --sequence-parallel
same 2 --tensor-model-parallel-size 1 --pipeline-model-parallel-size 1 \
    --use-distributed-optimizer

MTLM_DOUBLE_NCCL_FAIL=20 job 2 "${mini[@]}" "${parallel[@]}"
failed 'the all-reduce of tensor-parallel ranks in iteration [12], stage 0'

# refuse WORDS RANKS OPTION...: one sentence, before anything is taken.
refuse() {
    job "$2" "${mini[@]}" "${parallel[@]}" "${@:3}"
    [ $rc -eq 2 ] || fail "$1: exit code $rc: $(cat err)"
    grep -q "^mtlm-dag: $1" err || fail "$1: $(cat err)"
    [ ! -s out ] || fail "$1: starts: $(cat out)"
}

on_gpus 1
refuse '--transport nccl: rank 0 shares its GPU with other ranks' \
    2 --share-gpu --transport nccl
by auto 'MPI, through the host' 2 --share-gpu "${parallel[@]}"
refuse '--comm-node task is for data in the host' 2 --share-gpu --comm-node task
refuse '--transport nccl: rank 0 has no GPU' 2 --no-gpu --transport nccl

# No thread of a rank takes memory that belongs to another rank's GPU.
on_gpus 2
by auto 'collectives by NCCL' 2 --share-gpu "${parallel[@]}" # one each
cat >own <<END
#!/bin/bash
export MTLM_DOUBLE_OWN=\$OMPI_COMM_WORLD_RANK
exec $program "\$@"
END
chmod +x own
pipelines=2
! full_tier || pipelines='1 2'
for pipeline in $pipelines; do
    layout $((3 - pipeline)) $pipeline
    program=./own well 2 "${mini[@]}" "${parallel[@]}" --save own.$pipeline
done

# Another NCCL on one of the ranks.
on_gpus 2
cat >older <<END
#!/bin/bash
[ "\$OMPI_COMM_WORLD_RANK" != 1 ] || export MTLM_DOUBLE_NCCL_VERSION=22706
exec $program "\$@"
END
chmod +x older
program=./older refuse \
    'rank 1 has another NCCL than rank 0: 2.27.6, not 2\.' 2

finish
