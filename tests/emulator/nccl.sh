#!/bin/bash
# The engine's collectives by NCCL, on the doubles of the device and of NCCL:
# the programs that test them by MPI find the same sums; ranks that issue in
# different orders do not get through; an asynchronous error ends all ranks.
#
# shellcheck source=tests/emulator/common.sh
. "${srcdir:-.}/tests/emulator/common.sh"

programs=${builddir:-.}/tests/mpi
# The data is where StarPU has it without a GPU, on the host.
export MTLM_TEST_TRANSPORT=nccl MTLM_DOUBLE_NCCL_HOST=1

# ranks N [NAME=VALUE...] PROGRAM...: output in out and err, status in $rc.
ranks() {
    local n=$1
    shift
    # shellcheck disable=SC2086 # several words
    gpus 1 timeout -k 5 60 $MPIRUN -q -n "$n" env "$@" >out 2>err </dev/null
    rc=$?
}

for test in test_messages.mpi2 test_shards.mpi4 test_collectives.mpi4; do
    ranks "${test#*mpi}" "$programs/$test"
    [ $rc -eq 0 ] || fail "$test: exit code $rc, $(cat out err)"
done

# The order matters here, or the above shows nothing.
ranks 4 "$programs/test_collectives.mpi4" 5
[ $rc -ne 0 ] || fail "each issues what is ready, and all is well: $(cat out)"

# failed WORDS: all ranks must end because of NCCL, and say in which node.
failed() {
    [ $rc -eq 7 ] || fail "$1: exit code $rc: $(cat err)"
    grep -q "^mtlm-dag: rank 1: NCCL: remote process exited .*, in $1" err \
        || fail "$1: $(cat err)"
    grep -q '^NCCL double: aborted' err || fail "$1: not aborted: $(cat err)"
}
start=$SECONDS
ranks 4 MTLM_DOUBLE_NCCL_FAIL=50 MTLM_DOUBLE_NCCL_FAIL_RANK=1 \
    "$programs/test_collectives.mpi4"
failed 'the all-reduce of .* in iteration .*, as rank [01] of [24] of its comm'
ranks 4 MTLM_DOUBLE_NCCL_FAIL=1 MTLM_DOUBLE_NCCL_FAIL_RANK=1 \
    "$programs/test_shards.mpi4"
failed 'the reduce-scatter of .* in iteration'
[ $((SECONDS - start)) -lt 15 ] || fail "took $((SECONDS - start)) s to end"

finish
