#!/bin/bash
# A user's policy that makes a mistake ends the job with a sentence: a task
# that starts twice, before it is ready, or on a worker that cannot run it; a
# ready task that no worker gets.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
. "${srcdir:-.}/tests/mpi/processes.sh"
refuses_at_once

of() {
    sed -n "s/^$1 = //p" "$builddir/Makefile"
}
cp "$srcdir/tests/mpi/policy_mistakes.c" .
# shellcheck disable=SC2046 # several words
$(of CC) -shared -fPIC -I"$srcdir/runtime/include" $(of STARPU_CFLAGS) \
    -Wall -Wextra -Werror -o mistakes.so policy_mistakes.c \
    || fail "policy_mistakes.c does not compile"
export STARPU_SCHED_LIB=./mistakes.so
node='[a-z_]*, [^,]*, stage [0-9], iteration [0-9]*'

deadline 18
# mistake NAME SENTENCE OPTION...: one rank ends with that sentence.
mistake() {
    STARPU_SCHED=$1 job 1 "${small[@]}" --train-iters 3 \
        "${deadline[@]}" "${@:3}"
    check_refusal "$1" 2
    grep -q "^mtlm-dag: .*the scheduling policy $1 has $2$" err \
        || fail "$1: $(cat err)"
}
mistake twice "started $node twice"
mistake double "started $node twice"
mistake early 'started a task that is not ready or is over'
for name in astray lost; do
    mistake $name "given $node to worker 1, which cannot run the task" \
        --comm-node task
done

# W of microbatch 0 gets no worker.  Other tasks and messages of both ranks go
# on for a second.  The job ends within the deadline and 5 s.
deadline 3
layout 1 2
export STARPU_SCHED=withhold
start $MPIRUN -q -n 2 "$program" "${small[@]}" "${parallel[@]}" \
    --synthetic "$srcdir/launch/clusters/uniform.ini" --schedule zb-h1 \
    --train-iters 100 "${deadline[@]}"
within 60 [ -e withheld ] || fail "nothing withheld: $(cat out err)"
ended_within $((1 + 3 + 5)) "a withheld task"
check_refusal withhold 7
sentence='rank 0: the scheduling policy withhold has withheld linear_wgrad, W'
least=$(scaled 3)
awk -v least="$least" "/$sentence of microbatch 0, stage 0, iteration 1 for / {
    sub(/.* for /, \"\"); found = 1; early = \$1 < least }
    END { exit !found || early }" err || fail "withhold: $(cat err)"
finish
