#!/bin/bash
# One rank that cannot write its --dump-first-step does not keep the others
# waiting: all train and validate to the end, then the job ends with 4.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

layout 1 2
mkdir -p dump/rank-1.safetensors/in-the-way
job "$ranks" "${small[@]}" "${parallel[@]}" --train-iters 3 --eval-iters 1 \
    --eval-interval 1 --dump-first-step dump
[ "$rc" -eq 4 ] || fail "exit code $rc, not 4: $(cat err)"
grep -q 'mtlm-dag: .*rank-1\.safetensors' err \
    || fail "the file is not named: $(cat err)"
[ "$(losses out | wc -l)" -eq 3 ] || fail "not trained to the end"
[ "$(grep -c 'validation loss' out)" -eq 5 ] || fail "not validated"
[ -s dump/rank-0.safetensors ] || fail "rank 0 has not written its file"

finish
