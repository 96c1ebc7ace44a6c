#!/bin/bash
# Every schedule leads to the same weights bit for bit; a bound on memory that
# does not do is refused by all ranks.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

run=("${small[@]}" --train-iters 4 --weight-hash)

well 1 "${run[@]}"
hash=$(weight_hash out)
[ -n "$hash" ] || fail "one rank: no hash"
layout 1 2
for schedule in gpipe 1f1b interleaved zb-h1 zb-h2 zb-v auto; do
    well 2 "${run[@]}" "${parallel[@]}" --schedule "$schedule"
    [ "$(weight_hash out)" = "$hash" ] \
        || fail "$schedule: hash $(weight_hash out), not $hash"
done
grep -q '^schedule auto: .* --window ' out err || fail "auto does not say what"

for windows in '--act-mem 1e7' '--stage-windows 4,1+2'; do
    # shellcheck disable=SC2086 # two words
    well 2 "${run[@]}" "${parallel[@]}" $windows
    [ "$(weight_hash out)" = "$hash" ] \
        || fail "$windows: hash $(weight_hash out)"
done
job 2 "${run[@]}" "${parallel[@]}" --act-mem 1000
[ "$rc" -eq 6 ] || fail "--act-mem 1000: exit code $rc"
grep -q 'act-mem is .* MiB, and the activations of one microbatch' err \
    || fail "--act-mem 1000: $(cat err)"

finish
