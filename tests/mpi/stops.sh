#!/bin/bash
# What ends a run early and what does not: --exit-interval,
# --exit-duration-in-mins, a NaN that is skipped; and what is validated at the
# end.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

# The places of validations in out.
places() {
    sed -n 's/^ validation loss at \(iteration [^|]*[^ |]\) .*/\1/p' out
}

well 1 "${small[@]}" --train-iters 6 --weight-hash
hash=$(weight_hash out)
falling=(--train-iters 6 --weight-hash --lr-decay-style linear
    --lr-decay-iters 6)
well 1 "${small[@]}" "${falling[@]}"
fallen=$(weight_hash out)

# One NaN: its step is left out, the learning rate waits, the rest goes on.
for sizes in '1 1' '1 2' '2 1' '1 1 2'; do
    layout $sizes
    well "$ranks" "${small[@]}" "${parallel[@]}" "${falling[@]}" \
        --inject-nan 3 --no-check-for-nan-in-loss-and-grad
    name="NaN on $ranks ranks"
    [ "$(losses out | wc -l)" -eq 5 ] || fail "$name: losses $(losses out)"
    [ "$(field 'number of skipped iterations' out | tr '\n' ' ')" \
        = '0 0 1 0 0 0 ' ] || fail "$name: skipped iterations"
    [ "$(field 'number of nan iterations' out | tr '\n' ' ')" \
        = '0 0 1 0 0 0 ' ] || fail "$name: nan iterations"
    [ "$(field 'learning rate' out | tr '\n' ' ')" \
        = '8.333333E-04 6.666667E-04 6.666667E-04 5.000000E-04 3.333333E-04 1.666667E-04 ' ] \
        || fail "$name: learning rates $(field 'learning rate' out)"
    [ "$(field 'consumed samples' out | tail -1)" -eq 48 ] \
        || fail "$name: consumed samples"
    [ -s err ] && fail "$name: $(cat err)"
    weight_hash out
done | tee hashes | grep FAILED && failures=1
[ "$(sed -n 1p hashes)" = "$(sed -n 2p hashes)" ] || fail "$(cat hashes)"
[ "$(sed -n 1p hashes)" != "$fallen" ] || fail "the NaN changes nothing"

# Megatron validates at every interval and once more when it is done.
well 1 "${small[@]}" --train-iters 7 --eval-iters 2 --eval-interval 3
want='iteration 3
iteration 6
iteration 7 on validation set
iteration 7 on test set'
[ "$(places)" = "$want" ] || fail "validations at: $(places)"
well 1 "${small[@]}" --train-iters 6 --eval-iters 2 --eval-interval 3
want='iteration 3
iteration 6
iteration 6 on validation set
iteration 6 on test set'
[ "$(places)" = "$want" ] || fail "validations at: $(places)"
grep 'validation loss' out | tail -3 | sed 's/.*| lm loss value/value/' >values
[ "$(head -2 values | uniq | wc -l)" -eq 1 ] \
    || fail "two validations: $(cat values)"
[ "$(uniq values | wc -l)" -eq 2 ] || fail "the test is no other: $(cat values)"
# Short lines say each validation once, and fit a terminal.
well 1 "${small[@]}" --train-iters 6 --eval-iters 2 --eval-interval 3 \
    --log-format short
want='validation at iteration 3
validation at iteration 6
test at iteration 6'
[ "$(sed -n 's/^\([a-z]* at iteration [0-9]*\) | loss .*/\1/p' out)" = "$want" ] \
    || fail "short validations: $(cat out)"
[ "$(grep -c '^iteration [1-6]/6 | loss [0-9.]* | lr ' out)" -eq 6 ] \
    || fail "short lines: $(cat out)"
grep -E '^(iteration|validation|test)' out | grep -q '.\{121\}' \
    && fail "long short lines: $(cat out)"
# They are the default: in a file, under mpirun, and on a terminal.
for ranks in 1 2; do
    well $ranks --model gpt-tiny --num-layers 2 --train-iters 2 \
        --global-batch-size 4 --log-interval 1 --eval-iters 1
    [ "$(grep -Ec '^iteration [12]/2 \| loss ' out)" -eq 2 ] \
        || fail "$ranks ranks, to a file: $(cat out)"
    grep -q '.\{121\}' out && fail "$ranks ranks, long lines: $(cat out)"
done
TERM=xterm NO_COLOR='' script -qec "$program --model gpt-tiny --num-layers 1 --train-iters 1 --eval-iters 0" \
    /dev/null >out </dev/null
grep -q 'iteration 1/1 | .\[1mloss ' out || fail "on a terminal: $(cat out)"
# A bar of the run stands below them, from the first second on.  Log lines take
# its place, and nothing of it is left.
TERM=xterm NO_COLOR=1 script -qec "$program --model gpt-tiny --num-layers 1 \
    --train-iters 100000 --eval-iters 2 --eval-interval 30 --log-interval 1 \
    --exit-duration-in-mins $(scaled 0.05)" /dev/null >raw </dev/null
grep -qE 'iteration [0-9]+/100000 \[> +\] 0 % \| .* left' raw \
    || fail "no bar: $(cat -v raw)"
sed -e 's/\r$//' -e 's/.*\x1b\[K//' <raw >out
grep -q $'\r' out && fail "a line over the bar: $(cat -v raw)"
grep -q '^iteration *[0-9]*/100000 | loss .* left$' out \
    || fail "log lines beside a bar: $(cat -v out)"
grep -E '\[>|\] [0-9]+ %' out && fail "the bar stays: $(cat -v raw)"
# The test leaves the validation's samples where they were.
well 2 "${small[@]}" --pipeline-model-parallel-size 2 --train-iters 6 \
    --eval-iters 2 --eval-interval 3
grep 'validation loss' out | tail -3 | sed 's/.*| lm loss value/value/' >two
cmp -s values two || fail "two ranks: $(cat values) and $(cat two)"

# --exit-interval stops there; the learning rate knows nothing of it.
well 1 "${small[@]}" --train-iters 600 --exit-interval 6 --weight-hash \
    --eval-iters 1
[ "$(weight_hash out)" = "$hash" ] || fail "--exit-interval changes weights"
grep -q 'stopped by --exit-interval after iteration 6 of 600' err \
    || fail "--exit-interval: $(cat err)"
[ "$(places)" = 'iteration 6 on validation set' ] \
    || fail "--exit-interval: validations at: $(places)"
well 2 "${small[@]}" --pipeline-model-parallel-size 2 --train-iters 5 \
    --exit-interval 6
[ -s err ] && fail "--exit-interval beyond the end: $(cat err)"

# over RANKS ITERATION OPTION...: the time is over in the first iteration; the run
# ends after ITERATION, saves it and prints its line though none is due.
over() {
    rm -rf kept
    well "$1" "${small[@]}" --train-iters 600 --exit-duration-in-mins 1e-9 \
        --log-interval 50 --save kept "${@:3}"
    grep -q "stopped by --exit-duration-in-mins after iteration $2 of 600" err \
        || fail "${*:3}: the time is over: $(cat err)"
    [ "$(losses out | wc -l)" -eq 1 ] || fail "${*:3}: lines: $(cat out)"
    [ -d "kept/iter_000000$2" ] || fail "${*:3}: kept: $(ls kept)"
}
# The second iteration is under way then, but not before a validation.
over 1 2
over 2 2 --pipeline-model-parallel-size 2
over 1 1 --eval-iters 1 --eval-interval 1

finish
