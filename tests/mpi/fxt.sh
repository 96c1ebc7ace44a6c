#!/bin/bash
# StarPU's own traces (FxT) beside ours: every rank has a file, which StarPU's
# tool reads and which says the same.
set -u
tool=$STARPU_PREFIX/bin/starpu_fxt_tool
check=$(realpath "${srcdir:-.}/tests/mpi/trace_fxt.py")
if [ ! -x "$tool" ]; then
    echo "skipped: StarPU was built without FxT (no $tool)"
    exit 77
fi
. "${srcdir:-.}/tests/mpi/common.sh"
mkdir fxt
export STARPU_FXT_TRACE=1 STARPU_FXT_PREFIX=$dir/fxt/

# check_rank RANK
check_rank() {
    mkdir "rank$1"
    (cd "rank$1" && "$tool" -i "../fxt/r$1_0" -use-task-color >log 2>&1) \
        || fail "rank $1: $(cat "rank$1/log")"
    "${PYTHON:-python3}" "$check" "$1" "rank$1" trace || fail "rank $1"
    rm -r "rank$1"
}

layout 1 2
well 2 "${small[@]}" "${parallel[@]}" --train-iters 3 \
    --trace trace --trace-iterations 1:3
[ "$(ls fxt | tr '\n' ' ')" = 'r0_0 r1_0 ' ] || fail "files: $(ls fxt)"
check_rank 0
check_rank 1
rm -r fxt/* trace

# What waits for what, by StarPU's own account: a batch that grows, and
# validations in between.
well 1 "${small[@]}" --rampup-batch-size 4 4 16 --global-batch-size 12 \
    --train-samples 48 --eval-interval 2 --eval-iters 2 \
    --trace trace --trace-iterations 1:5
check_rank 0
rm -r fxt/* trace

# The user's name for it.
STARPU_FXT_SUFFIX=mine well 1 "${small[@]}" --train-iters 1
[ "$(ls fxt)" = mine_0 ] || fail "STARPU_FXT_SUFFIX=mine: $(ls fxt)"

finish
