#!/bin/bash
# --task: scores are those of the dumped logits, computed anew; all layouts have
# the same; samples that do not fill a batch count nothing; memory is that of a
# forward pass; what a checkpoint cannot do is refused.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
tree=$(cd "$OLDPWD" && cd "${srcdir:-.}" && pwd)
scores() {
    "${PYTHON:-python3}" "$tree/tests/reference/task_scores.py" "$@"
}

scores words 1 train wiki prompts || exit 1
"${program%/*}/mtlm-preprocess" --input train --output-prefix data \
    --tokenizer-type byte >said 2>&1 || fail "preprocess: $(cat said)"
well 1 --num-layers 4 --hidden-size 32 --num-attention-heads 4 --seq-length 64 \
    --micro-batch-size 8 --train-iters 100 --lr 5e-3 --eval-iters 0 \
    --data-path data_text_document --split 100,0,0 --save ck --no-save-optim
well 1 --load ck --prompt-file prompts --temperature 0 --max-new-tokens 12
scores passages out lambada || exit 1
S=48
wiki=(--load ck --task wikitext103 --valid-data wiki --seq-length $S)
lambada=(--load ck --task lambada --valid-data lambada --seq-length $S)

# result: the line with the numbers of the run.
result() {
    grep -E '^(wikitext103|lambada): ' out
}

# same WORD: whether the numbers in out are those in the file WORD, up to
# rounding.
same() {
    result | grep -oE '[0-9.]+(e[+-]?[0-9]+)?' >numbers
    grep -E '^(wikitext103|lambada): ' "$1" | grep -oE '[0-9.]+(e[+-]?[0-9]+)?' >"$1.numbers"
    local worst
    worst=$(difference numbers "$1.numbers")
    awk "BEGIN { exit !($worst <= 1e-5) }" \
        || fail "$1, $2: $(result), not $(grep -E '^(wikitext103|lambada): ' "$1")"
}

# Against the logits: windows that overlap and windows that do not, the last
# token and the last word; batches that samples do not fill; parts of samples.
check() {
    local name=$1 task=$2 data=$3 overlap=$4
    shift 4
    rm -rf logits
    well 1 "$@" --dump-logits logits
    cp out "$name"
    # shellcheck disable=SC2086 # maybe no word
    scores logits "$task" "$data" out logits $S $overlap >said 2>&1 \
        || fail "$name: $(tail -1 said); $(result)"
}
check wiki.8 wikitext103 wiki 8 "${wiki[@]}" --overlapping-eval 8 \
    --micro-batch-size 3
check wiki.S wikitext103 wiki $S "${wiki[@]}" --overlapping-eval $S \
    --micro-batch-size 2
check last lambada lambada '' "${lambada[@]}" --micro-batch-size 3
check strict strict lambada '' "${lambada[@]}" --strict-lambada \
    --micro-batch-size 2 --row-parts 3
grep -q 'of 29 | accuracy' strict || fail "$(cat strict)"
grep -qF '355M 45.18 %, 2.5B 61.73 %, 8.3B 66.51 %' strict || fail "published: $(cat strict)"
grep -q 'gradients 0.0, moments 0.0' strict || fail "memory: $(cat strict)"
grep -q '^task: lambada, lambada, 29 samples, [0-9]* tokens to predict$' strict \
    || fail "$(cat strict)"
# Of 16 bits: equal logits are frequent.
check bf16 strict lambada '' "${lambada[@]}" --strict-lambada --bf16 \
    --micro-batch-size 4
cut=(--load ck --task lambada --valid-data lambada --seq-length 20)
well 1 "${cut[@]}" --strict-lambada
grep -q 'passages are longer than --seq-length: the begin is left out$' out \
    || fail "cut: $(cat out)"

layouts=('2 1' '1 2' '1 1 2')
! full_tier || layouts+=('2 2' '1 4' '4 1' '2 1 2' '1 1 4' '1 2 1 2')
for of in "${layouts[@]}"; do
    # shellcheck disable=SC2086 # several words
    set -- $of
    layout "$1" "$2" "${3:-1}"
    [ -z "${4:-}" ] || parallel+=(--num-virtual-stages-per-pipeline-rank "$4")
    [ "$1" -eq 1 ] || parallel+=(--sequence-parallel)
    well "$ranks" "${wiki[@]}" "${parallel[@]}" --overlapping-eval 8 \
        --micro-batch-size 3
    same wiki.8 "$of"
    well "$ranks" "${lambada[@]}" "${parallel[@]}" --strict-lambada \
        --micro-batch-size 3 --row-parts 2
    same strict "$of"
done

# A signal ends the job without a score.
for _ in $(seq 3000); do cat lambada; done >many
rm out
timeout -k 5 $((60 * TIME_SCALE)) "$program" --load ck --task lambada \
    --valid-data many >out 2>err </dev/null &
pid=$!
within 20 grep -q '^loaded: ' out || fail "a long task: $(cat err)"
pkill -TERM -P $pid || fail "no process to end"
wait $pid
[ $? -ne 0 ] && grep -q 'by a signal .*, before the end of the task$' err \
    && ! grep -q '^lambada: ' out || fail "a signal: $(cat err)"

# A vocabulary of another model, and a model of another kind.
"${PYTHON:-python3}" -c 'import json
printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
rest = [b for b in range(256) if b not in printed]
tokens = [chr(b) for b in printed] + [chr(256 + i) for i in range(len(rest))]
tokens += ["ca", "<|endoftext|>"]
json.dump({t: i for i, t in enumerate(tokens)}, open("vocab.json", "w"))'
printf '#version: 0.2\nc a\n' >merges.txt
refuses_at_once
job 1 "${lambada[@]}" --vocab-file vocab.json --merge-file merges.txt
[ "$rc" -ne 0 ] && one_sentence && grep -q 'vocab-size\|tokens' err \
    || fail "another vocabulary: $rc, $(cat err)"
well 1 --model bert-tiny --train-iters 1 --eval-iters 0 --save bert --no-save-optim
job 1 --load bert --task lambada --valid-data lambada
[ "$rc" -eq 2 ] && grep -q 'task lambada is for a GPT; this model is a BERT' err \
    || fail "a bert: $rc, $(cat err)"
finish
