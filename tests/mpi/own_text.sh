#!/bin/bash
# Text of one's own: a book is one document and trains all the same; blends of
# several data sets have the counts that the log says, in any layout.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
preprocess=${program%/*}/mtlm-preprocess

run=("${small[@]}" --num-layers 2 --train-iters 4 --eval-iters 2 --weight-hash)

for i in $(seq 2000); do
    echo "Sentence $i has the square $((i * i)). It ends here."
done >book.txt
for i in $(seq 300); do
    printf 'Document %s has %s as its cube.\n\f\n' "$i" "$((i * i * i))"
done >notes.txt
"$preprocess" --input book.txt --output-prefix book >said \
    || fail "book: $(cat said)"
"$preprocess" --input notes.txt --output-prefix notes >said \
    || fail "notes: $(cat said)"

# The book: tokens are split instead of documents, and all of them are used.
well 1 "${run[@]}" --data-path book --save ck
grep -qx 'data: book_text_document, 1 document' out || fail "book: $(cat out)"
split=$(sed -n 's/^ *too few documents for --split 969, 30, 1, so tokens are split: \([0-9]*\) to train, \([0-9]*\) to validate, \([0-9]*\) to test$/\1 \2 \3/p' out)
bytes=$(($(stat -c %s book.txt) + 1))
read -r train valid test <<<"$split"
[ $((${train:-0} + ${valid:-0} + ${test:-0})) -eq "$bytes" ] \
    && [ "$valid" -eq $(((bytes * 30 + 500) / 1000)) ] \
    || fail "book: '$split' of $bytes tokens"
[ "$(grep -c 'validation loss' out)" -eq 2 ] || fail "book: $(cat out)"
book=$(weight_hash out)
# The whole prefix, two ranks, --load alone: the same bits.
well 2 "${run[@]}" --data-path book_text_document \
    --pipeline-model-parallel-size 2
[ "$(weight_hash out)" = "$book" ] || fail "book on two ranks: other bits"
evaluations() {
    sed -n 's/.*validation loss at iteration 4 on \(.*\) | lm loss PPL.*/\1/p' out
}
well 1 --load ck --eval-only --log-format megatron
evaluations >alone
well 1 "${run[@]}" --data-path book
evaluations | diff - alone || fail "--load alone has other losses"
# Without validation no text is left out.
well 1 "${run[@]}" --data-path book --eval-iters 0 --save whole
grep -q 'too few documents' out && fail "no validation: $(cat out)"
job 1 "${run[@]}" --data-path book --eval-iters 0 --load ck --train-iters 5
[ "$rc" -eq 2 ] && grep -q 'split by position, this job has' err \
    && grep -q 'this job trains on all of its text; give the --eval-iters' err \
    || fail "another split goes on: exit code $rc: $(cat err)"
job 1 "${run[@]}" --data-path book --load whole --train-iters 5
[ "$rc" -eq 2 ] && grep -q 'trained on all of its text, and this job keeps' err \
    || fail "a whole text is split: exit code $rc: $(cat err)"

# An evaluation of text that was trained on says so.
seen='whole/iter_0000004: the saved run kept no part of this text'
well 1 --load whole --eval-only --eval-iters 2
grep -q "$seen" err || fail "no word about text that was trained on: $(cat err)"
# Rounding leaves the training no document: the evaluation cuts, too.
well 1 "${run[@]}" --data-path book --split 40,60,0 --save most
evaluations >alone
well 1 --load most --eval-only --log-format megatron
evaluations | diff - alone || fail "--split 40,60,0: an evaluation reads other text"
grep -q 'may have trained on' err && fail "text that was kept is called trained on: $(cat err)"
# All of it, for who asks.
well 1 --load most --eval-only --split 0,1,0
grep -q 'tokens are split' out && fail "--split 0,1,0 is cut: $(cat out)"

# A BERT's book is split between sentences.  A list of 608 bytes in the midst of
# it is too long for a sentence, and costs no other.
{
    cat book.txt
    printf '\nA list %s.\n\n' "$(printf 'and %.0s' {1..150})"
    cat book.txt
} >list.txt
"$preprocess" --input list.txt --output-prefix list --split-sentences >said \
    || fail "list: $(cat said)"
well 1 --model bert-tiny --num-layers 2 --hidden-size 64 --seq-length 64 \
    --micro-batch-size 2 --global-batch-size 4 --train-iters 2 --eval-iters 1 \
    --log-interval 1 --log-format megatron --data-path list
grep -qx 'data: list_text_sentence, 1 document' out \
    && grep -q 'so tokens are split' out && [ "$(losses out | wc -l)" -eq 2 ] \
    && grep -q '^    left out: 1 sentence of more than 512 tokens, 60[0-9] tokens of ' out \
    || fail "a BERT's book: $(cat out)"

# Blends: Megatron's counts, which sum up to all samples.
counts() {
    sed -n 's/^  \([a-z]*\)_text_document: \(.*\); [0-9]* tokens$/\1 \2/p' out
}
well 1 "${run[@]}" --data-path 0.7 book 0.3 notes --save blend
[ "$(counts)" = 'book 22 of 32 training samples; 11 of 16 validation samples
notes 10 of 32 training samples; 5 of 16 validation samples' ] \
    || fail "blend: $(counts)"
blend=$(weight_hash out)
[ "$blend" != "$book" ] || fail "the blend has the weights of the book alone"
echo '0.7 book 0.3 notes' >words
well 2 "${run[@]}" --data-args-path words --pipeline-model-parallel-size 2
[ "$(weight_hash out)" = "$blend" ] || fail "blend from a file: other bits"
well 1 "${run[@]}" --data-path 5 book
[ "$(weight_hash out)" = "$book" ] || fail "a blend of one has other bits"
job 1 --load blend --train-iters 5 --data-path 0.6 book 0.4 notes
[ "$rc" -eq 2 ] && grep -q 'was saved with data 2 data sets' err \
    || fail "another blend goes on: exit code $rc: $(cat err)"
mkdir elsewhere
cd elsewhere || exit 1
well 1 --load ../blend --train-iters 5 --log-interval 1 --log-format megatron
mv out ..
cd ..
[ "$(losses out | wc -l)" -eq 1 ] || fail "--load alone of a blend: $(cat out)"
well 1 "${run[@]}" --data-path book notes
notes=$(grep -v $'\f' notes.txt | head -291 | wc -c)
want=$(awk -v book="$train" -v notes="$((notes + 291))" 'BEGIN {
    weight[0] = int((book - 1) / 64)
    weight[1] = int((notes - 1) / 64)
    for (n = 0; n < 32; n++) {
        for (i = 0; i < 2; i++)
            error[i] = weight[i] / (weight[0] + weight[1]) * (n ? n : 1) - count[i]
        count[error[1] > error[0]]++
    }
    print "book", count[0]
    print "notes", count[1]
}')
[ "$(counts | sed 's/ of .*//')" = "$want" ] || fail "by size: $(counts), not $want"

# Of too many samples to count at the start, each data set gives its share: a
# count takes a step for each sample and data set.
well 1 "${run[@]}" --eval-iters 0 --data-path 3 book 1 notes \
    --train-iters 1500000 --exit-interval 1
[ "$(counts)" = 'book about 9000000 of 12000000 training samples
notes about 3000000 of 12000000 training samples' ] || fail "many: $(counts)"

# Data of their own for each split.
well 1 "${run[@]}" --train-data-path 1 book 1 notes --valid-data-path notes
[ "$(counts)" = 'book 16 of 32 training samples
notes 16 of 32 training samples
notes 16 of 16 validation samples' ] || fail "each split: $(counts)"

job 1 "${run[@]}" --data-path 0.7 book 0.3 none
[ "$rc" -eq 3 ] && grep -q 'no file none.idx' err \
    || fail "a missing part: exit code $rc: $(cat err)"
# The test takes the data sets that have text for a test; the log names the
# others.
"$preprocess" --input notes.txt notes.txt notes.txt --output-prefix more >said \
    || fail "more: $(cat said)"
tested() {
    sed -n 's/.* on test set | lm loss value: \([^ ]*\) .*/\1/p' out
}
well 1 "${run[@]}" --data-path 0.7 notes 0.3 more --split 500,498,2
grep -A1 '^  notes_text' out | grep -qx '    too little text to test by --split 500,498,2' \
    || fail "no word about the test: $(cat out)"
[ "$(grep -c 'to test by' out)" -eq 1 ] && [ -n "$(tested)" ] \
    || fail "a test of one data set: $(cat out)"
well 1 "${run[@]}" --data-path notes --split 500,498,2
grep -q 'too little text to test' out && [ -z "$(tested)" ] \
    || fail "no test and no word: $(cat out)"
well 1 "${run[@]}" --data-path notes --split 500,500
! grep -q 'to test' out || fail "words about a test of 0: $(cat out)"
printf 'short' >short.txt
"$preprocess" --input short.txt --output-prefix short >said
job 1 "${run[@]}" --data-path 0.7 book 0.3 short
[ "$rc" -eq 3 ] && grep -q 'split: short_text_document: .* expected at least 65' err \
    || fail "a short part: exit code $rc: $(cat err)"

finish
