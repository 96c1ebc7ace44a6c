#!/bin/bash
# Checkpoints: a run that goes on from one is, to the bit, the run that was
# never interrupted; any layout goes on from any other's; what is damaged is
# named and left out; what cannot be is refused before training starts.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
same=$(cd "$OLDPWD" && readlink -f "${srcdir:-.}")/tests/mpi/checkpoint_same.py

run=("${small[@]}" --num-layers 2 --train-iters 4 --weight-hash)

# same_as A B: tensors of two checkpoints.
same_as() {
    /usr/bin/python3 "$same" 257 "$1" "$2" >same 2>&1 || fail "$1, $2: $(cat same)"
}

# told N: what the last N iterations say, but for times.
told() {
    local name values
    for name in 'consumed samples' 'learning rate' 'global batch size' \
        'lm loss' 'loss scale' 'grad norm' 'number of skipped iterations' \
        'number of nan iterations'; do
        values=$(field "$name" out | tail "-$1" | tr '\n' ' ')
        echo "$name: $values"
    done
}

# resumes NAME RANKS OPTION...: the second half, from what the first half left.
resumes() {
    local name=$1
    shift
    rm -rf ck
    well "$@" "${run[@]}" --save ck --save-interval 2
    whole=$(weight_hash out)
    last=$(told 2)
    [ "$(grep -c 'checkpoint: iteration [24] saved' out)" -eq 2 ] \
        || fail "$name: $(grep checkpoint out)"
    rm -rf ck/iter_0000004
    well "$@" "${run[@]}" --save ck --load ck
    [ "$(told 9)" = "$last" ] || fail "$name: $(told 9), not $last"
    [ -n "$whole" ] && [ "$(weight_hash out)" = "$whole" ] \
        || fail "$name: weights $(weight_hash out), not $whole"
}

# alone RANKS OPTION...: the second half again, from --load alone: the checkpoint
# knows its model, data and recipe.  The options are of the layout.
alone() {
    rm -rf ck/iter_0000004
    well "$@" --load ck --log-interval 1 --log-format megatron --weight-hash
    [ "$(told 9)" = "$last" ] && [ "$(weight_hash out)" = "$whole" ] \
        || fail "--load alone: $(cat out err), not $last, $whole"
}

# To save changes nothing.
well 1 "${run[@]}"
plain=$(weight_hash out)
resumes 'one rank' 1
[ "$(weight_hash out)" = "$plain" ] || fail "weights $(weight_hash out), not $plain"
cp -r ck one
alone 1

! full_tier || resumes 'pipeline' 2 --pipeline-model-parallel-size 2
resumes 'tensor, fp16' 2 --tensor-model-parallel-size 2 --fp16 \
    --loss-scale-window 2 --initial-loss-scale 1024
alone 2 --tensor-model-parallel-size 2
# Each iteration overflows; from the second on, that halves the scale.
resumes 'fp16 that overflows' 1 --fp16 --initial-loss-scale 1099511627776
grep -q 'number of skipped iterations: 1 ' <<<"$last" \
    && grep -q 'loss scale: 274877906944.0 137438953472.0' <<<"$last" \
    || fail "fp16 that overflows: $last"
resumes 'data, distributed' 2 --use-distributed-optimizer --ddp-bucket-size 5000
! full_tier || resumes 'data, bf16' 2 --bf16
base=("${run[@]}")
run=("${small[@]}" --num-layers 2 --train-samples 24 --weight-hash
    --rampup-batch-size 4 4 8)
resumes 'growing batches' 1
alone 1
# Where the learning rate moves, its clock goes on, too.
run=("${small[@]}" --num-layers 4 --train-iters 4 --weight-hash
    --lr-decay-style cosine --lr-warmup-fraction 0.5)
resumes 'moving rate, virtual stages' 2 --pipeline-model-parallel-size 2 \
    --num-virtual-stages-per-pipeline-rank 2 --placement v
! full_tier || resumes 'moving rate, a NaN' 1 --inject-nan 2 \
    --no-check-for-nan-in-loss-and-grad
# Of 24 samples 8 are left, in batches of another size.
run=("${small[@]}" --num-layers 2 --train-samples 24)
well 1 "${run[@]}" --global-batch-size 8 --save w --exit-interval 2
well 1 "${run[@]}" --global-batch-size 4 --load w
[ "$(losses out | wc -l)" -eq 2 ] || fail "other batches: $(cat out)"
grep -q 'consumed samples: *24 ' out || fail "other batches: $(cat out)"
# Of 16 samples in 2 iterations, the rate goes on from the 16.
well 1 "${small[@]}" --num-layers 2 --train-iters 3 --global-batch-size 4 --load w
grep -q '^the saved run counted samples' out || fail "samples, then iterations: $(cat out)"
# Of 8 iterations 4 are left.  Half the batch leaves the learning rate where it
# would be: halfway down.
rates() {
    grep -oE 'learning rate: [0-9.E+-]+' out | tail -n "$1"
}
run=("${small[@]}" --num-layers 2 --lr 1e-3 --train-iters 8 --lr-decay-style linear)
well 1 "${run[@]}" --global-batch-size 8 --save w8 --exit-interval 4
well 1 "${run[@]}" --global-batch-size 8 --load w8
rates 4 >want.rates
well 1 "${run[@]}" --global-batch-size 4 --load w8
rates 4 | diff want.rates - || fail "half the batch: other learning rates"
grep -q '^the batch was another' out || fail "half the batch: not a word"
[ "$(sort -u want.rates | wc -l)" -eq 4 ] || fail "the learning rate stands: $(cat want.rates)"

# An option of the loss scale leaves the precision as it was.
"$program" "${small[@]}" --train-iters 2 --fp16 --loss-scale 1024 --save w16 >out 2>err \
    || fail "fp16: $(cat err)"
# config WORD... -- OPTION...: a job that loads the checkpoint has these lines.
config() {
    local lines=()
    while [ "$1" != -- ]; do
        lines+=("$1")
        shift
    done
    shift
    "$program" --load w16 "$@" --print-config >out 2>err || fail "$*: $(cat err)"
    for line in "${lines[@]}"; do
        grep -qxF "$line" out || fail "$*: no $line in $(cat out)"
    done
}
config 'fp16 = yes' 'hysteresis = 4' -- --hysteresis 4
config 'fp16 = yes' 'loss-scale = 1024' -- --fp16
config '# fp16 = no' 'bf16 = yes' -- --bf16

# A name that JSON cannot hold.
seq 300 >numbers
"${builddir:-.}/mtlm-preprocess" --input numbers --output-prefix numbers >log 2>&1 \
    || fail "preprocess: $(cat log)"
for end in idx bin; do mv numbers_text_document.$end $'x\xe9'.$end; done
mkdir $'d\xe9'
for end in idx bin; do cp $'x\xe9'.$end $'d\xe9'/y.$end; done
name=("${small[@]}" --train-iters 2)
well 1 "${name[@]}" --data-path $'x\xe9'
for path in $'x\xe9' y; do
    [ $path != y ] || cd $'d\xe9' || exit 1
    job 1 "${name[@]}" --save w17 --data-path $path
    [ "$rc" -eq 2 ] && one_sentence \
        && grep -q 'path of --data-path is not UTF-8, and --save stores the path' err \
        || fail "not UTF-8: $rc, $(cat err)"
    cd "$dir" || exit 1
done
run=("${base[@]}")

# From one layout to the next: the tensors stay.  Each run has nothing left to
# do and saves where it has not been.
from=one
hop() {
    local to=$1
    shift
    well "$@" "${run[@]}" --load "$from" --save "$to"
    grep -q '^nothing is left to train: 4 of 4 iterations are done; a larger --train-iters ' out \
        || fail "not said that nothing is left: $(cat out)"
    same_as one/iter_0000004 "$to/iter_0000004"
    from=$to
}
hop a 4 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2
hop b 4 --use-distributed-optimizer --ddp-bucket-size 5000
! full_tier || hop c 4 --tensor-model-parallel-size 4
! full_tier || hop d 2 --use-distributed-optimizer --bf16
hop e 4 --pipeline-model-parallel-size 2 --use-distributed-optimizer \
    --num-virtual-stages-per-pipeline-rank 1
hop f 1

# Into virtual stages, and out of them.
deep=("${run[@]}" --num-layers 4)
well 1 "${deep[@]}" --save deep
well 4 "${deep[@]}" --load deep --save stages --use-distributed-optimizer \
    --pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2
same_as deep/iter_0000004 stages/iter_0000004
well 2 "${deep[@]}" --load stages --save flat --tensor-model-parallel-size 2
same_as deep/iter_0000004 flat/iter_0000004

# And training goes on there as it would have at home.
rm -rf one/iter_0000004 # of what went before, iteration 2 is left
well 1 "${run[@]}" --load one
losses out >losses1
well 4 "${run[@]}" --load one --tensor-model-parallel-size 2 \
    --use-distributed-optimizer
like_one_rank 1e-5 || fail "in another layout the losses differ by $worst"

# Nor does the curve change when the layout does, twice.
well 1 "${run[@]}" --train-iters 6
losses out >losses1
chain() {
    local ranks=$1 until=$2
    shift 2
    well "$ranks" "${run[@]}" --train-iters "$until" --save chain --load chain "$@"
    losses out >>losses_chain
}
chain 4 2 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2
chain 2 4
chain 4 6 --tensor-model-parallel-size 4
[ "$(wc -l <losses_chain)" -eq 6 ] || fail "chain: $(cat losses_chain)"
worst=$(difference losses_chain losses1)
awk "BEGIN { exit !($worst <= 1e-5) }" || fail "chain: losses off by $worst"

# refused CODE WORDS... -- OPTION...: at once, in a sentence.
refused() {
    local code=$1 words=()
    shift
    while [ "$1" != -- ]; do
        words+=("$1")
        shift
    done
    shift
    job 1 "${run[@]}" "$@"
    [ "$rc" -eq "$code" ] || fail "$*: exit code $rc, not $code: $(cat err)"
    [ -z "$(losses out)" ] || fail "$*: trains"
    has_words "$*" "${words[@]}"
}

# What is damaged is left out, with the name of the tensor.
well 1 "${run[@]}" --load one --save one
file=one/iter_0000004/rank-00000.safetensors
printf 'x' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") - 9)) conv=notrunc \
    2>dd
well 1 "${run[@]}" --load one
grep -q 'checkpoint skipped: one/iter_0000004/rank-00000.safetensors: tensor ".*exp_avg_sq"' err \
    || fail "damaged: $(cat err)"
grep -q '^loaded: one/iter_0000002' out || fail "not the older one: $(cat out)"
[ "$(weight_hash out)" = "$plain" ] || fail "from the older one: other weights"
truncate -s -1 one/iter_0000002/manifest.json
refused 3 'none of its checkpoints is whole' -- --load one

# Saved again, nothing is written over.
well 1 "${run[@]}" --load f --save f --train-iters 5 --keep-last 2
mkdir f/iter_0000006 # what is none of ours must not take the place of one
well 1 "${run[@]}" --load f --save f --train-iters 6 --keep-last 2
[ "$(ls f | tr '\n' ' ')" = 'iter_0000005 iter_0000006 iter_0000006.1 lock ' ] \
    || fail "kept: $(ls f)"

# What is damaged is none of those that are kept: 6, of which a few bytes are
# others.  In another directory 6 is as good as any.
well 1 "${run[@]}" --save r --train-iters 6 --save-interval 2
printf 'damaged' | dd of=r/iter_0000006/rank-00000.safetensors bs=1 seek=9000 \
    conv=notrunc 2>dd
well 1 "${run[@]}" --load r --save moved --train-iters 7 --save-interval 1 \
    --keep-last 2
[ "$(ls moved | tr '\n' ' ')" = 'iter_0000006 iter_0000007 lock ' ] \
    || fail "damaged elsewhere: $(ls moved)"
well 1 "${run[@]}" --load r --save r --train-iters 7 --keep-last 2
[ "$(ls r | tr '\n' ' ')" = 'iter_0000004 iter_0000007 lock ' ] \
    || fail "damaged and kept: $(ls r)"

refused 2 'saved with --hidden-size 64, this job has 32' \
    -- --load f --hidden-size 32
refused 2 'saved with --seed 1234, this job has 7' --finetune --no-load-rng \
    -- --load f --seed 7
refused 2 'f/iter_0000006.1 exists, from another training' -- --save f
refused 2 'saved with --eod-mask-loss no' --finetune -- --load f --eod-mask-loss
for split in 969,30,1 969/30/1 '969 /30, 1'; do
    well 1 "${run[@]}" --load f --split "$split"
done
refused 2 'saved with --split 969, 30, 1, this job has 96,930,1' \
    -- --load f --split 96,930,1
refused 2 '--keep-last 1' -- --save x --keep-last 1
refused 3 'nowhere: there is no such directory' -- --load nowhere
refused 3 'nowhere: there is no such directory' -- --load nowhere --save x
[ ! -e x ] || fail "left: $(ls -d x)"
mkdir bare
refused 3 'bare: there is no checkpoint to continue' -- --load bare --save x
refused 3 'bare: there is no checkpoint to finetune' -- --load bare --finetune
refused 2 '--keep-last needs --save' -- --keep-last 3
refused 2 '--no-load-optim needs --load' -- --no-load-optim
refused 2 '--no-load-rng needs --load' -- --no-load-rng
refused 4 'out: cannot be' -- --save out
flock --no-fork f/lock sleep $((60 * TIME_SCALE)) &
within 10 eval '! flock -n f/lock true'
refused 4 'f: another job writes there: ' -- --load f --save f --train-iters 9
kill $! && wait $! 2>/dev/null
well 1 "${run[@]}" --load f --finetune --seed 7
[ "$(losses out | wc -l)" -eq 4 ] \
    && grep -q '^loaded: .*, its weights only; .*, but for seed and precision$' out \
    || fail "--finetune: $(cat out)"
# What is traced lies within what is run.
later=(--load f --train-iters 40 --exit-interval 8)
well 1 "${run[@]}" "${later[@]}" --trace tr
grep -q '^Schedule of iterations 8 to 8:' out || fail "--trace: $(cat out)"
well 1 "${run[@]}" "${later[@]}" --trace tr2 --trace-iterations 7:8
refused 2 'begins with iteration 7 and ends with 8' \
    -- "${later[@]}" --trace tr3 --trace-iterations 8:9
refused 2 'nothing to record: the checkpoint is of iteration 6, the run ends' \
    -- --load f --train-iters 6 --trace tr3
refused 2 '--dump-first-step has nothing to record: the checkpoint is of iteration 6' \
    -- --load f --train-iters 6 --dump-first-step tr3
[ ! -e tr3 ] || fail "a refused job leaves: $(ls -d tr3)"

# Another seed, on purpose: other dropout, and a checkpoint of that seed.
cp -r f rng
well 1 "${run[@]}" --load rng --train-iters 8 --no-load-rng --weight-hash
grep -q '^loaded: .*, all of it; .*, but for seed$' out \
    || fail "--no-load-rng: $(cat out)"
same=$(weight_hash out)
well 1 "${run[@]}" --load rng --train-iters 8 --weight-hash
[ "$(weight_hash out)" = "$same" ] || fail "--no-load-rng changes the seed"
well 1 "${run[@]}" --load rng --save rng --train-iters 8 --no-load-rng --seed 7
[ "$(losses out | wc -l)" -eq 2 ] && [ "$(weight_hash out)" != "$same" ] \
    || fail "--no-load-rng: $(cat out)"
refused 2 'saved with --seed 7, this job has 1234' -- --load rng --seed 1234
well 1 "${run[@]}" --save g --no-save-optim
refused 3 'exp_avg"' '--no-load-optim' -- --load g --save g --train-iters 9
well 1 "${run[@]}" --load g --no-load-optim --train-iters 5
[ "$(losses out | wc -l)" -eq 1 ] || fail "--no-load-optim: $(cat out)"

# Under another number it would be the newest again and again.
cp -r f renamed
cp -r renamed/iter_0000005 renamed/iter_0000009
well 1 "${run[@]}" --load renamed
grep -q 'checkpoint skipped: renamed/iter_0000009: renamed, .* of iteration 5$' err \
    && grep -q '^loaded: renamed/iter_0000006.1' out || fail "renamed: $(cat err)"

# The tokens of a model are those of one tokenizer, whatever the data.
printf '[%s]\n' PAD UNK CLS SEP MASK $(seq 40) >words
(head -5 words && tail -40 words | tac) >turned
tokens=(--tokenizer-type BertWordPieceCase --vocab-file)
well 1 "${run[@]}" "${tokens[@]}" words --save t
refused 2 't/iter_0000004 was saved with tokenizer BertWordPieceCase, 45 tokens' \
    'this job has BertWordPieceLowerCase, 45 tokens' \
    -- --load t --tokenizer-type BertWordPieceLowerCase --vocab-file words
refused 2 'was saved with tokenizer BertWordPieceCase, 45 tokens, hash' \
    'this job has BertWordPieceCase, 45 tokens, hash' \
    -- --load t "${tokens[@]}" turned
well 1 "${run[@]}" "${tokens[@]}" turned --load t --finetune
grep -q 'was saved with tokenizer' err || fail "--finetune does not say: $(cat err)"
well 1 "${run[@]}" --vocab-size 45 --load t --train-iters 5
well 1 "${run[@]}" "${tokens[@]}" words --load t --train-iters 5
[ -s err ] && fail "the same tokenizer: $(cat err)"

# --eval-only: what training ended with, in the same layout to the last digit
# and in any other within rounding; nothing changes on the disk.
evaluations() {
    sed -n 's/.*validation loss at \(.*\) | lm loss value: \([^ ]*\) | lm loss PPL: \([^ ]*\) .*/\1 \2 \3/p' out
}
for i in $(seq 40); do
    printf 'Document %s has %s as its square.\n\f\n' "$i" "$((i * i))"
done >text
"${program%/*}/mtlm-preprocess" --input text --output-prefix data >preprocessed \
    || fail "no data: $(cat preprocessed)"
text=(--data-path data_text_document --split 8,1,1 --eval-iters 2)
well 1 "${run[@]}" "${text[@]}" --save told
evaluations >trained
[ "$(cut -d' ' -f-5 trained | tr '\n' ,)" = \
    'iteration 4 on validation set,iteration 4 on test set,' ] \
    || fail "validated: $(cat trained)"
(find told -type f -exec sha256sum {} + && ls -lR --full-time told) >before
well 1 "${run[@]}" "${text[@]}" --load told --save told --eval-only
evaluations | diff trained - || fail "--eval-only differs from training"
[ -z "$(losses out)" ] || fail "--eval-only trains: $(cat out)"
grep -q -e '--save told: nothing is saved' err || fail "--eval-only: $(cat err)"
well 4 "${run[@]}" "${text[@]}" --load told --eval-only \
    --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2
evaluations >elsewhere
awk '{ print $6; print $7 }' trained >x && awk '{ print $6; print $7 }' elsewhere >y
worst=$(difference x y)
awk "BEGIN { exit !($worst <= 1e-5) }" || fail "--eval-only elsewhere: off by $worst"
(mkdir sub && cd sub && well 1 --load ../told --eval-only \
    --log-format megatron && mv out ..)
evaluations | diff trained - || fail "--load alone differs from training"
(find told -type f -exec sha256sum {} + && ls -lR --full-time told) | cmp -s - before \
    || fail "--eval-only writes: $(ls -lR told)"
refused 2 '--eval-only needs --load' -- "${text[@]}" --eval-only
refused 2 '--eval-only needs --data-path' -- --load f --eval-iters 2 --eval-only
refused 2 '--eval-iters 0 has nothing' -- --load told --eval-only --mock-data
refused 3 'none: there is no such directory' -- "${text[@]}" --load none --eval-only
mkdir empty
refused 3 'empty: there is no checkpoint to evaluate' \
    -- "${text[@]}" --load empty --eval-only
refused 2 'this job has 32' -- "${text[@]}" --load told --eval-only --hidden-size 32
mv data_text_document.idx moved.idx
job 1 --load told
[ "$rc" -eq 3 ] && grep -q "told/iter_0000004 names the data; where they are elsewhere, give --data-path: no file $dir/data_text_document.idx" err \
    || fail "data that are gone: exit code $rc: $(cat err)"
mv moved.idx data_text_document.idx

# A disk that is full: training goes on, the end says so, nothing is left.
(ulimit -f 500 && job 1 "${run[@]}" --save full --save-interval 2
    [ "$rc" -eq 4 ] && [ "$(losses out | wc -l)" -eq 4 ] \
        && [ "$(grep -c 'no checkpoint of iteration' err)" -eq 2 ] \
        && [ "$(ls full)" = lock ]) || fail "full: $(cat err) $(ls full)"

# A signal: the iteration ends, and is saved.
layout 1 2
. "${srcdir:-.}/tests/mpi/processes.sh"
read -ra mpirun <<<"$MPIRUN -q -n 2"
start "${mpirun[@]}" "$program" "${run[@]}" "${parallel[@]}" \
    --train-iters 100000 --save s
within 60 iterated || fail "no iterations: $(cat err)"
kill -TERM "${pids[1]}"
ended_within 60 "SIGTERM"
[ $rc -eq 75 ] || fail "SIGTERM: exit code $rc: $(cat err)"
[ -f "$(printf 's/iter_%07d/manifest.json' "$(losses out | wc -l)")" ] \
    || fail "SIGTERM: $(ls s) after $(losses out | wc -l) iterations"

# Killed in a validation that does not end: the iteration before it is kept.
start "${mpirun[@]}" "$program" "${run[@]}" "${parallel[@]}" --save v \
    --eval-interval 4 --eval-iters 1000000
within 60 [ -f v/iter_0000004/manifest.json ] \
    || fail "not saved before the validation: $(ls v) $(cat out err)"
clean_up
ended_within 60 "SIGKILL"
grep -q 'validation loss' out && fail "the validation has an end: $(cat out)"
well 1 "${run[@]}" --load v --train-iters 5
grep -q '^loaded: v/iter_0000004' out || fail "after the validation: $(cat out)"

# A signal ends --eval-only before its end, and no file has logits of a part.
# (That of a validation while training: tests/mpi/signals.sh.)
start "${mpirun[@]}" "$program" "${run[@]}" "${parallel[@]}" "${text[@]}" \
    --load told --eval-only --eval-iters 5000 --dump-logits logits
kill -TERM "${pids[0]}"
ended_within 20 "SIGTERM to --eval-only"
[ $rc -eq 75 ] || fail "SIGTERM to --eval-only: exit code $rc: $(cat err)"
{ [ -d logits ] && [ -z "$(ls logits)" ]; } \
    || fail "SIGTERM to --eval-only: $(ls logits)"

# What is left out is not done, be it only the test of a single piece.
start "${mpirun[@]}" "$program" "${run[@]}" "${parallel[@]}" "${text[@]}" \
    --train-iters 5 --load told --global-batch-size 40000 --micro-batch-size 20 \
    --eval-only --eval-iters 1
kill -TERM "${pids[1]}"
ended_within 60 "SIGTERM to the only piece"
[ $rc -eq 75 ] || fail "SIGTERM to the only piece: exit code $rc: $(cat out err)"

finish
