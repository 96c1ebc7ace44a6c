#!/bin/bash
# --metrics and --tensorboard-dir hold what the log says, and training goes on
# without them.
set -u
check=$(realpath "${srcdir:-.}/tests/mpi/metrics_check.py")
losses=$(realpath "${srcdir:-.}/tests/mpi/loss_check.py")
python=${PYTHON:-python3}
. "${srcdir:-.}/tests/mpi/common.sh"
refuses_at_once

layout 1 2
run=("${small[@]}" "${parallel[@]}" --log-throughput --log-params-norm)
well 2 "${run[@]}" --train-iters 4 --eval-iters 1 --eval-interval 2 \
    --metrics lines --tensorboard-dir board
"$python" "$check" lines board out 2 || fail "the three differ"

# Their table, and their picture.
"${builddir:-.}/mtlm-report" --loss lines --svg loss.svg >table \
    || fail "mtlm-report --loss: $?"
"$python" "$losses" lines table loss.svg || fail "the picture differs"

# A second run adds to the first one's file, whose last line a crash has cut.
printf '{"iteration":5,"lm_lo' >>lines
lines=$(wc -l <lines)
well 1 "${small[@]}" --train-iters 1 --metrics lines
[ "$(wc -l <lines)" -eq $((lines + 3)) ] || fail "lines: $(wc -l <lines)"
[ "$(grep -c '^{.*"options"' lines)" -eq 2 ] || fail "no second header"
"${builddir:-.}/mtlm-report" --loss lines >table || fail "a cut line: $?"

# A run that goes on says so to TensorBoard with its first step.
well 1 "${small[@]}" --train-iters 2 --save saved
well 1 "${small[@]}" --train-iters 4 --load saved --tensorboard-dir resumed
"$python" "$check" resumed 3 || fail "resumed: not whole"

# What cannot be written is said before anything runs.
touch file
for bad in '--metrics no/lines' '--metrics file/lines' '--metrics board' \
    '--tensorboard-dir no/board' '--tensorboard-dir file'; do
    # shellcheck disable=SC2086 # two words
    job 2 "${run[@]}" --train-iters 1 $bad
    [ "$rc" -eq 4 ] || fail "$bad: exit code $rc"
    [ "$(grep -c "^mtlm-dag: ${bad#* }.*: cannot be" err)" -eq 1 ] \
        || fail "$bad: $(cat err)"
    [ ! -s out ] || fail "$bad: $(cat out)"
done
[ ! -e no ] || fail "a missing parent was made"
# Nothing is left of a job that does not start.
job 2 "${run[@]}" --train-iters 1 --tensorboard-dir new --metrics no/lines
[ "$rc" -eq 4 ] && [ ! -e new ] || fail "left behind: $(ls)"

# A full disk: one warning for each file, training goes on, the end names it.
ln -s /dev/full full
job 2 "${run[@]}" --train-iters 3 --metrics full
[ "$rc" -eq 4 ] || fail "full: exit code $rc: $(cat err)"
[ "$(losses out | wc -l)" -eq 3 ] || fail "full: not trained to the end"
[ "$(cat err)" = 'mtlm-dag: cannot write full: No space left on device; '`
    `'training continues without it
mtlm-dag: full is incomplete: No space left on device' ] \
    || fail "full: $(cat err)"
# In the middle of a run: a file that may grow to 2 KiB. What it holds is whole.
(
    ulimit -f 2
    # shellcheck disable=SC2086 # several words
    timeout -k 5 $((60 * TIME_SCALE)) "$program" "${small[@]}" --train-iters 20 \
        --tensorboard-dir half 2> >(cat >err) </dev/null
    echo "exit code $?"
) | cat >out
grep -q '^exit code 4$' out || fail "half: $(cat out err)"
[ "$(losses out | wc -l)" -eq 20 ] || fail "half: not trained to the end"
file=$(ls half/*)
[ "$(cat err)" = "mtlm-dag: cannot write $file: File too large; "`
    `"training continues without it
mtlm-dag: $file is incomplete: File too large" ] || fail "half: $(cat err)"
"$python" "$check" half 1 || fail "half: not whole"

finish
