#!/bin/bash
# A bundle runs from wherever it is moved to, by its own libraries and its own
# mpirun; and it takes the place of nothing but a bundle.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bundle="${srcdir:-.}/launch/bundle"
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

mkdir "$work/mine"
echo precious >"$work/mine/file"
if "$bundle" --build=. --output="$work/mine" >"$work/out" 2>&1; then
    fail "a directory that is no bundle was replaced"
fi
grep -q "mine: is there already, and is no bundle" "$work/out" \
    || fail "no word about what was in the way: $(cat "$work/out")"
[ "$(cat "$work/mine/file")" = precious ] || fail "what was there is gone"

for where in / ''; do
    if "$bundle" --build="$work/nothing" --output=$where >"$work/out" 2>&1; then
        fail "a bundle in the root directory"
    fi
    grep -q "output=$where: the root\|unknown option '--output='" "$work/out" \
        || fail "no word about the root directory: $(cat "$work/out")"
done

# What a call that ended early has left is replaced.
mkdir "$work/part"
cp mtlm-dag config.h "$work/part"
if "$bundle" --build="$work/part" --output="$work/made" >"$work/out" 2>&1; then
    fail "a bundle without mtlm-preprocess"
fi
grep -q "part/mtlm-preprocess is not compiled" "$work/out" \
    && [ -e "$work/made" ] || fail "no early end: $(cat "$work/out")"
"$bundle" --build=. --output="$work/made" --no-archive >"$work/out" 2>&1 \
    || fail "ended with $?: $(cat "$work/out")"
# Again, in its own place.
"$bundle" --build=. --output="$work/made" --no-archive >/dev/null 2>&1 \
    || fail "a bundle cannot be made anew"
mv "$work/made" "$work/moved"
# An archive of it must be quick to carry; xz makes a smaller one.
size=$(($(tar -C "$work" -c moved | gzip -1 | wc -c) / 1000000))
[ "$size" -lt 60 ] || fail "an archive of it has $size MB"

for program in mtlm-dag mtlm-preprocess mtlm-convert mtlm-report; do
    "$work/moved/run" "$program" --version | grep -q "^$program " \
        || fail "$program does not run"
    [ -s "$work/moved/man/$program.1" ] || fail "$program has no manual page"
done

# What the loader takes, of the program and of mpirun with its plug-ins.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
LD_DEBUG=files LD_DEBUG_OUTPUT="$work/loader" "$work/moved/run" mpirun -n 2 \
    --oversubscribe --bind-to none mtlm-dag --model gpt-tiny \
    --num-layers 2 --pipeline-model-parallel-size 2 --train-iters 2 \
    --mock-data --eval-iters 0 --log-interval 1 >"$work/out" 2>&1 \
    || fail "a job of two ranks ended with $?: $(cat "$work/out")"
grep -q '^iteration 2/2 ' "$work/out" \
    || fail "it did not train: $(cat "$work/out")"
taken=$(cat "$work"/loader.* | sed -n 's/.*calling init: //p' | sort -u)
for name in libstarpu libmpi libopenblas libhwloc mca_btl_vader; do
    grep -q "^$work/moved/.*$name" <<<"$taken" || fail "$name is not its own"
done
foreign=$(awk -v own="$work/moved/" '
    /starpu|openmpi|libmpi|openblas|hwloc|pmix/ && index($0, own) != 1' \
    <<<"$taken")
[ -z "$foreign" ] || fail "taken from the system: $foreign"

[ "$failures" -eq 0 ]
