#!/bin/bash
# Whatever order a policy chooses, and whatever number of workers: the weights
# are the same bit for bit. In make check-full every policy that StarPU comes with
# trains T2 x P2; none has to be left out; where one must be, the manual page
# says why.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

run=("${small[@]}" --weight-hash --distributed-timeout-minutes "$TIME_SCALE")
find_policies
full_tier || policies='prio eager ws dmda'

# same WANT POLICY WORKERS OPTION...: the policy trains the layout to that hash.
same() {
    local want=$1 policy=$2 workers=$3
    shift 3
    # mpirun hands its surroundings on, on this machine.
    STARPU_SCHED=$policy well "$ranks" "${run[@]}" "${parallel[@]}" \
        --workers "$workers" "$@"
    grep -q "^machine: .* $workers worker.*, policy $policy," out \
        || fail "$policy, $workers workers: $(grep ^machine out)"
    [ -n "$want" ] && [ "$(weight_hash out)" = "$want" ] \
        || fail "$policy, $workers workers, $ranks ranks: hash" \
            "$(weight_hash out), not $want"
}

# More iterations, one worker and two.
well 1 "${run[@]}" --train-iters 8
want=$(weight_hash out)
while read -r t p policy workers; do
    layout "$t" "$p"
    beside same "$want" "$policy" "$workers" --train-iters 8
done <<'END'
1 1 random 1
1 1 eager 2
1 1 dmdas 2
1 2 random 2
1 2 lws 2
END
together

layout 2 2
well "$ranks" "${run[@]}" "${parallel[@]}" --train-iters 2
want=$(weight_hash out)
for policy in $policies; do
    beside same "$want" "$policy" 2 --train-iters 2
done
together
echo "the same weights under $(wc -w <<<"$policies") policies"

finish
