#!/bin/bash
# --seeds: each run is that of --seed, in a directory of its own; the job goes on
# after a stop and trains no finished seed again; the medians are of the runs.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
. "${srcdir:-.}/tests/mpi/finetune_data.sh"

of=(--task squad "${tune[@]}" --train-data "${train[squad]}" --valid-data "${dev[squad]}"
    --epochs 2 --weight-hash)
well 1 "${of[@]}" --seed 7
grep 'weight hash' out >seed.hash
well 1 "${of[@]}" --seeds 7,8,9 --save seeds --exit-interval 4
[ "$(echo seeds/*)" = seeds/seed-7 ] || fail "a stopped run is not the last: $(ls seeds)"
# medians RANKS OPTION...: all seeds, and the medians of their lines.
medians() {
    well "$@" "${of[@]}" --seeds 7,8,9
    grep '^  ' out >medians
    grep -oE '^  seed .* F1 .*' medians | grep -oE '[0-9.]+$' | sort -g | xargs >sorted
    read -r least middle most <sorted
    grep -q "^  F1: median $middle, least $least, greatest $most$" medians \
        || fail "$*: medians: $(cat medians)"
}
medians 1 --save seeds
cp medians first
grep 'weight hash' out | head -1 | diff seed.hash - || fail 'seed 7 is another run'
medians 1 --save seeds
diff first medians || fail 'other medians of the same runs'
[ "$(grep -c '^nothing is left to train: .*; a larger --epochs' out)" -eq 3 ] \
    || fail "trained again: $(cat out)"
[ -z "$(scores)" ] || fail "evaluated again: $(scores)"
if full_tier; then
    for layout in '--pipeline-model-parallel-size 2 --schedule zb-h1' \
        '--tensor-model-parallel-size 2' --use-distributed-optimizer; do
        # shellcheck disable=SC2086 # several words
        medians 2 $layout
        diff first medians || fail "$layout: other medians"
    done
fi
finish
