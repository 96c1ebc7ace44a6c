#!/bin/bash
# Batch ramp-up: the log line says which batch each iteration had, iterations
# of one batch are those of a run with that batch, and layouts do not matter.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

# Of 1, 2, 3 and 4 microbatches, 10 samples' worth of each but the last.
ramp=("${small[@]}" --train-samples 60 --rampup-batch-size 2 2 30 --weight-hash
    --eval-iters 2 --eval-interval 4)
batches='2 2 2 2 2 4 4 4 6 6 8 8 8'

well 1 "${ramp[@]}"
cp out one
field 'global batch size' one | tr '\n' ' ' >have
[ "$(cat have)" = "$batches " ] || fail "batches: $(cat have), not $batches"
field 'consumed samples' one >have
consumed=0
for batch in $batches; do
    echo $((consumed += batch))
done >want
diff have want || fail "consumed samples: $(tr '\n' ' ' <have)"
losses one >losses1
hash1=$(weight_hash one)
[ -n "$hash1" ] || fail "one rank: no hash"
validations=$(grep -c 'validation loss' one)
[ "$validations" -ge 3 ] || fail "$validations validations"

# The first five iterations are those of a constant batch of 2; the sixth
# begins like them and counts twice as many samples.
well 1 "${small[@]}" --train-iters 6 --global-batch-size 2
losses out >losses2
cmp -s <(head -5 losses1) <(head -5 losses2) || fail "the first five losses"
! cmp -s losses1 <(cat losses2; tail -n +7 losses1) || fail "the sixth loss"

# A constant batch of 2 needs 30 iterations for as many samples: then the
# schedule's clock, which counts samples, stands at the same place.
lr=(--lr-decay-style linear --min-lr 1e-5 --lr-warmup-samples 7
    --lr-decay-samples 55)
well 1 "${ramp[@]}" "${lr[@]}"
paste <(field 'consumed samples' out) <(field 'learning rate' out) >have
well 1 "${small[@]}" --train-samples 60 --global-batch-size 2 "${lr[@]}"
paste <(field 'consumed samples' out) <(field 'learning rate' out) >all
[ "$(comm -12 <(sort have) <(sort all) | wc -l)" -eq 13 ] \
    || fail "learning rates: $(cat have) where $(cat all)"

layouts=('1 4') replicas=('2 2 2')
ways=('--use-distributed-optimizer --ddp-bucket-size 1')
if full_tier; then
    layouts+=('2 1') replicas+=('1 1 2') ways+=('')
fi
for sizes in "${layouts[@]}"; do
    layout $sizes
    name="T${sizes/ / x P}"
    well "$ranks" "${ramp[@]}" "${parallel[@]}"
    losses out >losses
    worst=$(difference losses losses1)
    awk "BEGIN { exit !($worst <= 1e-5) }" \
        || fail "$name: losses differ by $worst"
    echo "$name: losses differ by at most $worst"
    [ "${sizes% *}" -gt 1 ] || [ "$(weight_hash out)" = "$hash1" ] \
        || fail "$name: hash $(weight_hash out), of one rank $hash1"
done

# Multiples of a micro batch of every replica: of 1, 2, 3 and 4 of them.
ramp+=(--rampup-batch-size 4 4 60 --global-batch-size 16 --train-samples 120)
well 1 "${ramp[@]}"
cp out one
losses one >losses1
for sizes in "${replicas[@]}"; do
    # shellcheck disable=SC2086 # several words
    layout $sizes
    for way in "${ways[@]}"; do
        name="T x P x D = ${sizes// / x }, $way"
        # shellcheck disable=SC2086 # several words
        well "$ranks" "${ramp[@]}" "${parallel[@]}" $way
        losses out >losses
        worst=$(difference losses losses1)
        awk "BEGIN { exit !($worst <= 1e-5) }" \
            || fail "$name: losses differ by $worst"
        echo "$name: losses differ by at most $worst"
        for what in 'consumed samples' 'global batch size' 'learning rate'; do
            cmp -s <(field "$what" out) <(field "$what" one) \
                || fail "$name: $what: $(field "$what" out)"
        done
    done
done
[ "$(field 'global batch size' one | sort -nu | tr '\n' ' ')" = '4 8 12 16 ' ] \
    || fail "batches: $(field 'global batch size' one)"

finish
