#!/bin/bash
# What a program printed on a full disk, or to nobody, is lost: the program says
# so and ends with status 4.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

# lost WHY PROGRAM OPTION...: with standard output as the caller redirects it.
lost() {
    local why=$1 name
    shift
    name=$(basename "$1")
    timeout $((60 * TIME_SCALE)) "$@" 2>err </dev/null
    rc=$?
    [ $rc -eq 4 ] || fail "$*: $why: exit code $rc, not 4: $(cat err)" >&2
    [ "$(cat err)" = "$name: standard output cannot be written: $why" ] \
        || fail "$*: $why: says: $(cat err)" >&2
}

bin=${builddir:-.}
full='No space left on device'
echo 'The quick brown fox jumps.' >text
tiny=(--model gpt-tiny --num-layers 1 --seq-length 32)
run=("${tiny[@]}" --global-batch-size 2 --train-iters 2 --eval-iters 0)

for request in --help --usage --version --list-models \
    "--print-config --model=gpt-tiny" "--dry-run --model=gpt-tiny"; do
    # shellcheck disable=SC2086 # several words
    lost "$full" "$program" $request >/dev/full
done
for name in preprocess convert report; do
    for request in --help --version; do
        lost "$full" "$bin/mtlm-$name" $request >/dev/full
    done
done
lost "$full" "$bin/mtlm-preprocess" --input text --output-prefix text >/dev/full
lost "$full" "$program" "${run[@]}" --trace trace >/dev/full
lost "$full" "$bin/mtlm-report" trace >/dev/full
lost 'Bad file descriptor' "$program" --dry-run "${tiny[@]}" >&-
lost 'Bad file descriptor' "$bin/mtlm-report" trace >&-

# No file of the program takes the number of a closed standard output.
"$bin/mtlm-preprocess" --input text --output-prefix open >out || fail "$(cat out)"
"$bin/mtlm-preprocess" --input text --output-prefix closed >&- 2>err
for end in bin idx; do
    cmp {open,closed}_text_document.$end || fail "another file with stdout closed"
done

# A status of the program's own stays.
"$program" --nonsense >/dev/full 2>err
rc=$?
[ $rc -eq 2 ] || fail "wrong option on a full disk: exit code $rc: $(cat err)"

# A job whose reader leaves stops after a whole iteration.
job_for_head() {
    timeout $((60 * TIME_SCALE)) "$program" "${tiny[@]}" --global-batch-size 2 \
        --train-iters 100000 --eval-iters 0 --log-interval 1 --save saved 2>err
    echo $? >status
}
job_for_head | head -1 >out
[ "$(cat status)" -eq 75 ] || fail "no reader: status $(cat status): $(cat err)"
grep -q 'standard output cannot be written: Broken pipe' err \
    || fail "no reader: $(cat err)"
[ -n "$(find saved -name manifest.json)" ] || fail "no reader: $(ls saved)"

finish
