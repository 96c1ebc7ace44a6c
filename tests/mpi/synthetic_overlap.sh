#!/bin/bash
# Synthetic runs of two tensor-parallel ranks: how much of their all-reduces,
# which take 0.1 and 0.2 of the forward task before each, is hidden under the
# computation of other microbatches.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
. "${srcdir:-.}/tests/mpi/synthetic_common.sh" || exit

# hidden LINE: that share of the communication, in %; LINE is how the line
# begins, Schedule or Predicted.
hidden() {
    sed -n "s/^$1.*, \([0-9]*\) % of the communication under.*/\1/p" out
}

# run LIMIT US M ALPHA: two layers, so that a task between two all-reduces takes
# 25 ms forward.  $evaluated is the share that the evaluator says; the run's
# own is within 8 points, in one of three runs.
run() {
    cluster delayed.ini 100 "$2"
    layout 2 1
    for _ in 1 2 3; do
        compare "$1" 2 "${pretend[@]}" --synthetic delayed.ini --num-layers 2 \
            --global-batch-size "$3" "${parallel[@]}" --window "$4" || return
        measured=$(hidden Schedule) evaluated=$(hidden Predicted)
        [ -n "$measured" ] && [ -n "$evaluated" ] \
            || fail "does not say how much is hidden: $(cat out)"
        echo "all-reduce of $((2 * $2)) us, window $4: $measured % hidden," \
            "evaluated $evaluated %, the run took $more %"
        within_limit $((measured - evaluated)) 8 && return
    done
    is_quiet && fail "$measured % hidden, evaluated $evaluated %: $(cat out)"
    return 1
}

# so CONDITION: fails unless it holds.  The evaluated share counts collectives
# as long as they were, which other programs change.
so() {
    is_quiet || return 0
    awk "BEGIN { exit !($1) }" || fail "not so, in percent hidden: $1"
}

# One microbatch at a time has little to hide it under.
run 8 2500 4 1 && so "$evaluated < 50"
# Two in flight.
if full_tier; then
    run 8 1250 4 3 && so "$evaluated > 70"
fi
run 8 2500 4 3 && so "$evaluated > 70"
# A wide window.
run 8 2500 8 6 && so "$evaluated > 90"

# All-reduces that take twice the task before each take turns: the iteration is
# as long as the 4 x 8 of its layers, 50 ms each.
run 8 25000 4 3 \
    && so "$(sed -n 's/^Predicted: \([0-9.]*\) ms.*/\1/p' out) >= 1600"

finish_compared
