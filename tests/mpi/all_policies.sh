#!/bin/bash
# Every policy that StarPU comes with trains T2 x P2 to the same bits, with two
# workers. None has to be left out; where one must be, the manual page says why.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

run=("${small[@]}" --train-iters 3 --weight-hash
    --distributed-timeout-minutes 0.5 --workers 2)
find_policies

layout 2 2
well "$ranks" "${run[@]}" "${parallel[@]}"
want=$(weight_hash out)
[ -n "$want" ] || fail "no hash"
for policy in $policies; do
    # mpirun hands its surroundings on, on this machine.
    STARPU_SCHED=$policy well "$ranks" "${run[@]}" "${parallel[@]}"
    grep -q "^machine: .*, policy $policy," out \
        || fail "$policy: $(grep ^machine out)"
    [ "$(weight_hash out)" = "$want" ] \
        || fail "$policy: hash $(weight_hash out), not $want"
done
echo "the same weights under $(wc -w <<<"$policies") policies"

finish
