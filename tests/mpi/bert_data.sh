#!/bin/bash
# A BERT learns from text that mtlm-preprocess --split-sentences made: every
# rank of every layout sees the same samples, the result is explained, and data
# that are not sentences are refused.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

preprocess=$builddir/mtlm-preprocess
python=${PYTHON:-python3}
bert=("${small[@]}" --model bert-tiny --train-iters 2)

# 200 documents: a heading, then sentences that say the same of other words.
words=(red green blue old new warm cold small large good)
for i in $(seq 200); do
    printf 'On %s things\n\nThe number is %d. It is %s, and %s. So it was.\n\f\n' \
        "${words[i % 10]}" "$i" "${words[i * 7 % 10]}" "${words[i % 7]}"
done >text
"$preprocess" --input text --output-prefix data --split-sentences >log \
    || fail "preprocess: $(cat log)"
"$preprocess" --input text --output-prefix data >log || fail "whole: $(cat log)"

# fields FILE: a digest of each field of the batch in a dump.
fields() {
    "$python" - "$1" <<'END'
import hashlib, json, sys
data = open(sys.argv[1], "rb").read()
n = int.from_bytes(data[:8], "little")
header = json.loads(data[8 : 8 + n])
for name in "tokens", "labels", "loss_mask", "types", "length", "order":
    first, last = header[name]["data_offsets"]
    digest = hashlib.sha256(data[8 + n + first : 8 + n + last]).hexdigest()
    print(name, header[name]["shape"], digest)
END
}

# Without a preset the model's name is its family's.
well 1 --model-type bert --num-layers 1 --hidden-size 32 \
    --num-attention-heads 2 --seq-length 32 --micro-batch-size 1 --train-iters 1 \
    --lr 1e-3 --eval-iters 0 --trace trace
grep -q '^mtlm-dag [^ ]*: BERT, 1 layer,' out || fail "not a BERT: $(cat out)"
grep -q '"model": "BERT"' trace/summary.json || fail "the trace is no BERT's"

# Workers, ranks and layouts do not change what a sample is.
well 1 "${bert[@]}" --data-path data_text_sentence --dump-first-step one
fields one/rank-0.safetensors >want || fail "no fields in the dump"
for place in '1 2' '2 1' '2 2'; do
    # shellcheck disable=SC2086 # two words
    layout $place
    rm -rf other
    STARPU_NCPU=2 well "$ranks" "${bert[@]}" "${parallel[@]}" \
        --data-path data_text_sentence --dump-first-step other
    for file in other/rank-*.safetensors; do
        fields "$file" | cmp - want || fail "layout $place: other samples"
    done
done

# It learns, and says how well.
well 1 "${bert[@]}" --data-path data_text_sentence --train-iters 60 --lr 3e-3 \
    --hidden-dropout 0 --attention-dropout 0 --eval-iters 4 --split 9,1 \
    --summary-text
losses out >loss
[ "$(awk 'NR == 2 { a = $1 } END { print $1 < 0.8 * a }' loss)" -eq 1 ] \
    || fail "it does not learn: $(tr '\n' ' ' <loss)"
for text in 'of the masked tokens from' '(unigram entropy)' 'are swapped in'; do
    grep -qF -e "$text" out || fail "no \"$text\" in: $(tail -n 12 out)"
done
grep -q 'bigram' out && fail "a BERT's loss is compared with pairs of bytes"

# Without the binary head, on the same data, nothing is said of the order.
well 1 "${bert[@]}" --data-path data_text_sentence --bert-no-binary-head \
    --eval-iters 1 --split 9,1 --summary-text
grep -q 'swapped' out && fail "no binary head: $(tail -n 12 out)"

# A sentence that is too long is left out, and a line says so.
{ printf 'A list.\n\nIt has %s.\n\f\n' "$(printf 'more and %.0s' {1..60})" && cat text; } >longer
"$preprocess" --input longer --output-prefix longer --split-sentences >log || fail "$(cat log)"
well 1 "${bert[@]}" --data-path longer
grep -qE '^    left out: 1 sentence of more than 512 tokens, 5[0-9]{2} tokens of ' out \
    || fail "a long sentence: $(grep -A 3 '^data' out)"

# What is not cut into sentences, or not long enough for a split.
job 2 "${bert[@]}" --data-path data_text_document \
    --tensor-model-parallel-size 2
[ "$rc" -eq 3 ] || fail "whole documents: exit code $rc"
grep -q 'training split: .* is one sequence.* --split-sentences' err \
    || fail "whole documents: $(cat err)"
job 1 "${bert[@]}" --data-path data_text_sentence --eval-iters 1 --split 1
[ "$rc" -eq 3 ] || fail "no validation documents: exit code $rc"
grep -q 'validation split "1".* 0 documents' err \
    || fail "no validation documents: $(cat err)"
# The prefix that mtlm-preprocess was given is enough.
job 1 "${bert[@]}" --data-path data
[ "$rc" -eq 0 ] && grep -q '^data: data_text_sentence, ' out \
    || fail "the short prefix: exit code $rc, $(cat err)"
rm data_text_sentence.*
job 1 "${bert[@]}" --data-path data
[ "$rc" -eq 3 ] && grep -q 'did you mean data_text_document?' err \
    || fail "a wrong prefix: exit code $rc, $(cat err)"
finish
