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

for sizes in '1 4' '2 1' '2 2'; do
    layout $sizes
    name="T${sizes/ / x P}"
    hashes=()
    for transport in mpi serial; do
        well "$ranks" "${run[@]}" "${parallel[@]}" --transport $transport
        like_one_rank 1e-5 || fail "$name, $transport: losses differ by $worst"
        echo "$name, $transport: losses differ by at most $worst"
        hashes+=("$(weight_hash out)")
    done
    # Also two runs of the same.
    [ "${hashes[0]}" = "${hashes[1]}" ] \
        || fail "$name: hashes of the two transports: ${hashes[*]}"
    [ "${sizes% *}" -gt 1 ] || [ "${hashes[0]}" = "$hash1" ] \
        || fail "$name: hash ${hashes[0]}, of one rank $hash1"
done

# Shares of the batch.
for sizes in '1 1 2' '1 2 2' '2 1 2'; do
    # shellcheck disable=SC2086 # several words
    layout $sizes
    name="T x P x D = ${sizes// / x }"
    hashes=()
    # Buckets of a layer too: several messages under way at a time.
    for way in '' '--ddp-bucket-size 1 --transport serial' \
        --use-distributed-optimizer \
        '--use-distributed-optimizer --ddp-bucket-size 1'; do
        # shellcheck disable=SC2086 # several words
        well "$ranks" "${run[@]}" "${parallel[@]}" --log-params-norm $way
        like_one_rank 1e-5 || fail "$name, $way: losses differ by $worst"
        echo "$name, $way: losses differ by at most $worst"
        for what in 'grad norm' 'params norm'; do
            worst=$(difference <(field "$what" out) <(field "$what" one))
            awk "BEGIN { exit !($worst <= 1e-3) }" \
                || fail "$name, $way: $what differs by $worst"
        done
        for what in 'consumed samples' 'global batch size'; do
            cmp -s <(field "$what" out) <(field "$what" one) \
                || fail "$name, $way: $what: $(field "$what" out)"
        done
        hashes+=("$(weight_hash out)")
    done
    [ -n "${hashes[0]}" ] || fail "$name: replicas differ: $(cat out)"
    # Stages do not change a bit here either.
    [ "$sizes" != '1 1 2' ] || hash2=${hashes[0]}
    [ "$sizes" != '1 2 2' ] || [ "${hashes[0]}" = "$hash2" ] \
        || fail "$name: hash ${hashes[0]}, without stages $hash2"
    echo "$name: ${hashes[*]}"
done

finish
