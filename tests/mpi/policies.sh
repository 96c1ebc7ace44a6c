#!/bin/bash
# Whatever order a policy chooses, and whatever number of workers: the weights
# are the same bit for bit.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

run=("${small[@]}" --train-iters 8 --weight-hash)
well 1 "${run[@]}"
want=$(weight_hash out)
[ -n "$want" ] || fail "no hash"

for policy in prio eager random ws lws dmda dmdas; do
    for workers in 1 2; do
        for sizes in '1 1' '1 2'; do
            layout $sizes
            # mpirun hands its surroundings on, on this machine.
            STARPU_SCHED=$policy well "$ranks" "${run[@]}" "${parallel[@]}" \
                --workers $workers
            grep -q "^machine: .* $workers worker.*, policy $policy," out \
                || fail "$policy, $workers workers: $(grep ^machine out)"
            [ "$(weight_hash out)" = "$want" ] \
                || fail "$policy, $workers workers, $ranks ranks:" \
                    "hash $(weight_hash out), not $want"
        done
    done
done

finish
