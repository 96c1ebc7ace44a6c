#!/bin/bash
# Ranks of a tensor-parallel group with different numbers of workers: the
# lengths of rings must agree all the same, or a follower cannot reach the
# collective that its leader issued, and the job hangs.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

run=("$program" "${small[@]}" --train-iters 4 --eval-iters 1 --weight-hash
    --tensor-model-parallel-size 2)
want=
for workers in '2 1' '1 2' \
    '1 3 --pipeline-model-parallel-size 4 --placement policy'; do
    read -r leader follower more <<<"$workers"
    # shellcheck disable=SC2086 # several words
    timeout -k 5 $((60 * TIME_SCALE)) $MPIRUN -q -n 1 -x STARPU_NCPU="$leader" "${run[@]}" $more \
        : -n 1 -x STARPU_NCPU="$follower" "${run[@]}" $more >out 2>err \
        || fail "$leader and $follower workers: exit code $?, $(cat err)"
    : "${want:=$(weight_hash out)}"
    [ -n "$want" ] && [ "$(weight_hash out)" = "$want" ] \
        || fail "$leader and $follower workers: $(weight_hash out), not $want"
done

finish
