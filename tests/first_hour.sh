#!/bin/bash
# The first hour of a user, in a fresh directory: a book becomes tokens, two
# ranks train, one rank validates and generates, another layout resumes the
# training from its middle, and other programs read the picture of the losses
# and the exported model.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
tree=$(cd "$OLDPWD" && cd "${srcdir:-.}" && pwd)
python=${PYTHON:-python3}
check=$tree/tests/first_hour_check.py
run=$tree/launch/run

iterations=40 rows=128
! full_tier || iterations=240 rows=256

# does STEP COMMAND...: the command must end well.
does() {
    local step=$1 begin=$SECONDS
    shift
    timeout -k 5 $((300 * TIME_SCALE)) "$@" >out 2>err </dev/null \
        || fail "$step: exit code $?, $(cat err)"
    echo "$step: $((SECONDS - begin)) s"
}

# checks STEP ARGUMENT...: first_hour_check.py finds what it must; its output
# goes to the file said.
checks() {
    local step=$1
    shift
    "$python" "$check" "$@" >said 2>&1 || fail "$step: $(cat said)"
}

# English text, the same for all who have these sources.
cat "$tree"/docs/*.md "$tree"/CONTRIBUTING.md >book.txt
bytes=$(wc -c <book.txt)

does preprocess "${program%/*}/mtlm-preprocess" --input book.txt \
    --output-prefix book
tokens=$(sed -n 's/^book_text_document.*: .* \([0-9]*\) tokens.*/\1/p' out)
[ "$tokens" = $((bytes + 1)) ] || fail "$bytes bytes: $(cat out)"
read -ra given <<<"$(sed -n 's/^to train: mtlm-dag //p' out)"
[ ${#given[@]} -ge 4 ] || fail "no command to train: $(cat out)"

does train "$run" -n 2 "$program" "${given[@]}" --seq-length $rows \
    --pipeline-model-parallel-size 2 --train-iters $iterations --save ck \
    --save-interval $((iterations / 2)) --eval-interval $iterations \
    --eval-iters 4 --metrics trained --weight-hash
hash=$(weight_hash out)
[ ${#hash} -eq 16 ] || fail "no weight hash: $(cat out)"
split=$(sed -n 's/^.* tokens are split: \([0-9]*\) to train, \([0-9]*\) to validate, \([0-9]*\) to test$/\1 + \2 + \3/p' out)
[ $((${split:-0})) -eq "$tokens" ] || fail "$tokens tokens: $split"
checks 'the loss falls' learns trained $iterations

does validate "$program" --load ck --eval-only --metrics evaluated
checks 'one rank validates as two do' validation trained evaluated

texts=(--load ck --temperature 0.7 --max-new-tokens 120 --generate 'The ')
does generate "$program" "${texts[@]}"
grep -q '^mtlm-dag: 120 new tokens in' err || fail "speed: $(cat err)"
[ "$(head -c 4 out)" = 'The ' ] && [ "$(wc -c <out)" -eq 125 ] \
    && [ "$(tr -cd ' ' <out | wc -c)" -gt 5 ] || fail "text: $(cat out)"
mv out text
does 'generate on two ranks' "$run" -n 2 "$program" "${texts[@]}" \
    --pipeline-model-parallel-size 2
cmp out text || fail "two ranks write another text: $(cat out)"
does 'generate again' "$program" "${texts[@]}" --seed 5
[ "$(wc -c <out)" -eq 125 ] && ! cmp -s out text || fail "seed 5: $(cat out)"

# What is left of a job that ended in the middle.
mkdir half
cp -r ck/iter_*$((iterations / 2)) half
STARPU_NCPU=2 does resume "$program" --load half --save half \
    --metrics resumed --weight-hash
[ "$(weight_hash out)" = "$hash" ] || fail "resumed: other weights: $(cat out)"
checks 'the resumed losses' same trained resumed $((iterations / 2)) 0
if full_tier; then
    rm -r half/iter_*"$iterations"
    does 'resume on a tensor-parallel pair' "$run" -n 2 "$program" \
        --load half --tensor-model-parallel-size 2 --metrics pair
    checks 'the losses of a pair' same trained pair $((iterations / 2)) 1e-4
fi

does picture "${program%/*}/mtlm-report" --loss trained --svg loss.svg
checks 'the picture of the losses' picture trained out loss.svg

does export "${program%/*}/mtlm-convert" --input ck --output exported
checks 'the exported model' exported exported trained ck/iter_*"$iterations"
finish
