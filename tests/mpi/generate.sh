#!/bin/bash
# --generate: greedy text is the argmax of an evaluation's logits in every
# layout; drawn text is the same in every layout, and another with another
# seed; prompts of a file, empty ones too; what cannot be done is refused.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
tree=$(cd "$OLDPWD" && cd "${srcdir:-.}" && pwd)
check=$tree/tests/mpi/generate_check.py

# Weights far from zero, so that the text is not one byte for ever.
model=(--num-layers 4 --hidden-size 32 --num-attention-heads 4 --seq-length 64
    --max-position-embeddings 150 --init-method-std 0.8 --micro-batch-size 2
    --train-iters 1 --lr 1e-4 --eval-iters 0)
well 1 "${model[@]}" --save ck --no-save-optim
prompt='Hello, world. This prompt is more than a piece of 32 bytes.'
greedy=(--load ck --generate "$prompt" --temperature 0 --max-new-tokens 40)

well 1 "${greedy[@]}"
cp out greedy
grep -q '^mtlm-dag: [0-9]* new tokens in .* tokens/s$' err || fail "speed: $(cat err)"
rows=$(/usr/bin/python3 "$check" data greedy text)
well 1 --load ck --eval-only --data-path text --seq-length "$rows" \
    --split 0,1,0 --eval-iters 1 --micro-batch-size 1 --global-batch-size 1 \
    --dump-logits logits
/usr/bin/python3 "$check" compare greedy ${#prompt} logits >compared 2>&1 \
    || fail "greedy: $(cat compared)"

layouts=('1 2' '2 1' '1 1 2')
! full_tier || layouts+=('2 2' '1 4' '4 1' '2 1 2' '1 2 1 2')
drawn=(--load ck --prompt-file prompts --num-samples 2 --seed 3 --top-k 40
    --top-p 0.9 --temperature 0.8 --max-new-tokens 9)
printf 'One\n\nthree, longer than the others' >prompts
well 1 "${drawn[@]}"
cp out drawn
[ "$(tr -d '\n' <drawn | grep -ao -e '---------------' | wc -l)" -eq 5 ] \
    || fail "not six texts: $(cat drawn)"
grep -aq '^three, longer than the others' drawn || fail "$(cat drawn)"
for of in "${layouts[@]}"; do
    # shellcheck disable=SC2086 # several words
    set -- $of
    layout "$1" "$2" "${3:-1}"
    [ -z "${4:-}" ] || parallel+=(--num-virtual-stages-per-pipeline-rank "$4")
    well "$ranks" "${greedy[@]}" "${parallel[@]}"
    cmp -s out greedy || fail "greedy, $of: $(cat out)"
    well "$ranks" "${drawn[@]}" "${parallel[@]}"
    cmp -s out drawn || fail "drawn, $of: $(cat out)"
done
well 1 "${drawn[@]}" --seed 4
! cmp -s out drawn || fail "another seed draws the same"

# An empty prompt begins a document; without --max-new-tokens as many tokens
# follow as there are positions, unless the document ends before.
well 1 --load ck --generate '' --temperature 0
[ "$(wc -c <out)" -gt 1 ] || fail "no prompt, no text"
well 1 --load ck --generate "$prompt$prompt" --temperature 0 --max-new-tokens 1
grep -q '^mtlm-dag: 1 new token in' err || fail "one token: $(cat err)"

# An imported model ends a text where its config.json says, and begins one so.
convert=${program%/*}/mtlm-convert
"$convert" --input ck --output hf >said 2>&1 || fail "export: $(cat said)"
end=$(tail -c +$((${#prompt} + 6)) greedy | head -c 1 | od -An -tu1 | tr -d ' ')
sed -i "s/\"eos_token_id\": 256/\"eos_token_id\": [256, $end]/
    s/\"bos_token_id\": 256/\"bos_token_id\": 120/" hf/config.json
"$convert" --input hf --output imported >said 2>&1 || fail "import: $(cat said)"
well 1 --load imported "${greedy[@]:2}"
/usr/bin/python3 -c 'import sys
text, end, prompt = open("greedy", "rb").read(), int(sys.argv[1]), int(sys.argv[2])
open("want", "wb").write(text[:text.index(end, prompt)] + b"\n")' "$end" ${#prompt}
cmp out want || fail "the end of config.json, $end: $(cat out)"
[ "$(wc -c <want)" -lt "$(wc -c <greedy)" ] || fail "no end in the text"
well 1 --load imported --generate x --temperature 0 --max-new-tokens 5
tail -c +2 out >want
well 1 --load imported --generate '' --temperature 0 --max-new-tokens 5
cmp out want || fail "the begin of config.json: $(cat out)"
"$convert" --input imported --output hf2 >said 2>&1 || fail "export: $(cat said)"
/usr/bin/python3 -c 'import json
a, b = (json.load(open(d + "/config.json")) for d in ("hf", "hf2"))
assert a == b, (a, b)' >compared 2>&1 || fail "there and back: $(cat compared)"

# A signal, or a reader that leaves, ends the job at once.
many=(--load ck --generate x --num-samples 1000000)
rm out
timeout -k 5 $((60 * TIME_SCALE)) "$program" "${many[@]}" >out 2>err </dev/null &
pid=$!
within 20 test -s out || fail "no text: $(cat err)"
pkill -TERM -P $pid || fail "no process to end"
wait $pid
[ $? -eq 143 ] || fail "a signal: $(cat err)"
timeout -k 5 $((60 * TIME_SCALE)) "$program" "${many[@]}" 2>err </dev/null | head -c 9 >out
[ "${PIPESTATUS[0]}" -eq 4 ] && grep -q 'standard output' err \
    || fail "a reader that leaves: $(cat err)"

# Memory grows neither with the tokens nor with an evaluation.
peak() {
    /usr/bin/python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
               check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' \
        "$program" --load ck "$@"
}
# flat FEW MORE OPTION...: the last option takes the numbers.
flat() {
    local few more
    few=$(peak "${@:3}" "$1") more=$(peak "${@:3}" "$2")
    { [ "$few" ] && [ "$more" ]; } || fail "${*:3} $1 and $2: a job failed"
    sanitized || [ "$more" -lt $((few + 5120)) ] \
        || fail "${*:3} $1 and $2: $few and $more KiB"
}
flat 10 90 --generate x --temperature 0 --num-samples
flat 50 2500 --eval-only --mock-data --global-batch-size 4 --eval-iters

# So does a signal to launch/run, without a word of mpirun.
rm out
"$tree/launch/run" -n 2 "$program" "${many[@]}" \
    --pipeline-model-parallel-size 2 >out 2>err </dev/null &
pid=$!
within 30 test -s out || fail "no text: $(cat err)"
kill -TERM $pid
wait $pid
rc=$?
[ $rc -eq 75 ] && grep -qx 'run: stopped' err && ! grep -q mpirun err \
    || fail "a signal to launch/run: exit code $rc: $(cat err)"

# Weights so large that logits overflow generate no text.
"$convert" --input ck --output huge.hf/ >said 2>&1 || fail "no export: $(cat said)"
/usr/bin/python3 "$tree/tests/mpi/generate_huge.py" huge.hf/model.safetensors \
    || fail "no huge weights"
"$convert" --input huge.hf --output nan >said 2>&1 || fail "no import: $(cat said)"
for pp in 1 2; do
    job $pp --load nan --generate x --temperature $((pp - 1)) \
        --pipeline-model-parallel-size $pp
    [ "$rc" -eq 5 ] && grep -q 'a logit of new token 0 is NaN' err \
        || fail "NaN: exit code $rc: $(cat err)"
done
job 1 "${greedy[@]}" --save elsewhere --sequence-parallel --schedule-file none \
    --schedule-mode hint
[ "$rc" -eq 0 ] && [ ! -e elsewhere ] \
    && grep -q -e '--save has no effect with --generate' err \
    && grep -q -e '--sequence-parallel has no effect with --generate' err \
    && grep -q -e '--schedule-file has no effect with --generate' err \
    || fail "options without effect: exit code $rc: $(cat err)"

# refuse CODE SENTENCE OPTION...
refuse() {
    local code=$1 sentence=$2
    shift 2
    job 1 "$@"
    [ "$rc" -eq "$code" ] && [ ! -s out ] \
        && [ "$(cat err)" = "mtlm-dag: $sentence" ] \
        || fail "$*: exit code $rc: $(cat out err)"
}
refuse 2 "the prompt has ${#prompt} tokens, and with --max-new-tokens 92 that makes 151, but the model has 150 positions (--max-position-embeddings)" \
    --load ck --generate "$prompt" --max-new-tokens 92
refuse 2 'the prompt has 177 tokens, but the model has 150 positions (--max-position-embeddings), and none is left for a new token' \
    --load ck --generate "$prompt$prompt$prompt"
: >nothing
refuse 3 'nothing: the file holds no prompt' --load ck --prompt-file nothing
finish
