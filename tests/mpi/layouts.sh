#!/bin/bash
# Layouts train the same model, whatever the transport and the size of the pieces
# that go over it: the losses of 20 steps are those of one rank, and pipelines
# give every weight bit for bit.  Data-parallel ranks end with the same weights as
# each other (else there is no hash), whether each steps all of them or its
# share.  tests/mpi/table.sh has more layouts.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

run=("${small[@]}" --train-iters 20 --weight-hash)

well 1 "${run[@]}" --log-params-norm
cp out one
losses out >losses1
hash1=$(weight_hash out)
[ "$(wc -l <losses1)" -eq 20 ] || fail "one rank: not 20 losses"
[ -n "$hash1" ] || fail "one rank: no hash"
# The test can fail: dropout and the seed matter.
well 1 "${run[@]}" --seed 1
! like_one_rank 1e-5 || fail "another seed gives the same losses"
[ "$(weight_hash out)" != "$hash1" ] || fail "another seed gives the same hash"
well 1 "${run[@]}" --hidden-dropout 0
[ "$(weight_hash out)" != "$hash1" ] || fail "no dropout gives the same hash"

# stages T P: the losses of one rank, and its weights if T is 1.
stages() {
    local name="T$1 x P$2" hashes=() transport
    layout "$@"
    for transport in mpi serial; do
        well "$ranks" "${run[@]}" "${parallel[@]}" --transport $transport
        like_one_rank 1e-5 || fail "$name, $transport: losses differ by $worst"
        echo "$name, $transport: losses differ by at most $worst"
        hashes+=("$(weight_hash out)")
    done
    # Also two runs of the same.
    [ -n "${hashes[0]}" ] && [ "${hashes[0]}" = "${hashes[1]}" ] \
        || fail "$name: hashes of the two transports: ${hashes[*]}"
    [ "$1" -gt 1 ] || [ "${hashes[0]}" = "$hash1" ] \
        || fail "$name: hash ${hashes[0]}, of one rank $hash1"
}

# shares T P D: the same of replicas, each with its share of the batch.
shares() {
    local name="T x P x D = $1 x $2 x $3" hashes=() way what hash
    layout "$@"
    for way in "${ways[@]}"; do
        # shellcheck disable=SC2086 # several words
        well "$ranks" "${run[@]}" "${parallel[@]}" --log-params-norm $way
        like_one_rank 1e-5 || fail "$name, $way: losses differ by $worst"
        echo "$name, $way: losses differ by at most $worst"
        for what in 'grad norm' 'params norm'; do
            worst=$(difference <(field "$what" out) <(field "$what" "$dir/one"))
            awk "BEGIN { exit !($worst <= 1e-3) }" \
                || fail "$name, $way: $what differs by $worst"
        done
        for what in 'consumed samples' 'global batch size'; do
            cmp -s <(field "$what" out) <(field "$what" "$dir/one") \
                || fail "$name, $way: $what: $(field "$what" out)"
        done
        hashes+=("$(weight_hash out)")
    done
    for hash in "${hashes[@]}"; do
        [ -n "$hash" ] || fail "$name: replicas differ: ${hashes[*]}: $(cat out)"
    done
    echo "${hashes[0]}" >"$dir/hash.$1.$2.$3"
    echo "$name: ${hashes[*]}"
}

# Buckets of a layer too: several messages under way at a time.
ways=('' '--use-distributed-optimizer --ddp-bucket-size 1')
replicas=('1 2 2' '1 1 2') pipelines=('2 2')
if full_tier; then
    ways+=('--ddp-bucket-size 1 --transport serial' --use-distributed-optimizer)
    replicas+=('2 1 2') pipelines+=('1 4' '2 1')
fi
for sizes in "${replicas[@]}"; do
    # shellcheck disable=SC2086 # several words
    beside shares $sizes
done
for sizes in "${pipelines[@]}"; do
    # shellcheck disable=SC2086 # several words
    beside stages $sizes
done
together
# Stages do not change a bit of replicas either.
cmp -s hash.1.1.2 hash.1.2.2 \
    || fail "two stages of two: $(cat hash.1.2.2), without $(cat hash.1.1.2)"

finish
