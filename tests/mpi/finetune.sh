#!/bin/bash
# --task mnli, qqp, race, squad: the whole path from text to scores.  A model
# learns its training data by heart, so answers belong to their questions; all
# layouts have the same scores; the file of answers has the printed scores; a run
# continues, and an evaluation repeats the scores; what does not fit is refused.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
. "${srcdir:-.}/tests/mpi/finetune_data.sh"

# by_heart TASK EPOCHS LEAST DATA: fine-tunes and evaluates on the same data.  The
# last score must be LEAST or more, which is far above chance.
by_heart() {
    well 1 --task "$1" "${tune[@]}" --train-data "$4" --valid-data "$4" --epochs "$2" \
        --hidden-dropout 0 --attention-dropout 0
    [ "$(scores | wc -l)" -eq "$2" ] || fail "$1: $(scores)"
    scores | tail -1 | grep -oE '(accuracy|exact match) [0-9.]+' | awk -v least="$3" \
        '$NF >= least { good = 1 } END { exit !good }' \
        || fail "$1 is not learned by heart: $(scores | tail -1)"
}
by_heart mnli 40 80 "${train[mnli]}"
! full_tier || by_heart qqp 40 80 "${train[qqp]}" # the head of mnli
mkdir few
cp made/RACE/train/middle/[0-7].txt few
by_heart race 60 80 few
! full_tier || by_heart race 60 60 "${train[race]}"
by_heart squad 60 40 "${train[squad]}"

# Layouts: the same scores; of pipelines also the same weights.
for task in mnli race squad; do
    files=("${dev[$task]}" "${dev[$task]}")
    of=(--task "$task" "${tune[@]}" --train-data "${train[$task]}" --epochs 1
        --weight-hash --valid-data "${files[@]}")
    [ "$task" != squad ] || of=("${of[@]:0:${#of[@]}-1}" --predictions answers)
    well 1 "${of[@]}"
    scores >"$task.scores"
    grep 'weight hash' out >"$task.hash"
    layouts=('1 2 --schedule=zb-h1' '2 1 --sequence-parallel' '1 1 --offload=all --offload-dir=.')
    [ "$task" = mnli ] || layouts=('1 1 --use-distributed-optimizer')
    ! full_tier || layouts+=('2 2 --recompute-granularity=full' '2 1' '1 2 --row-parts=3')
    for layout in "${layouts[@]}"; do
        # shellcheck disable=SC2086 # several words
        set -- $layout
        layout "$1" "$2"
        [ "$ranks" -gt 1 ] || ranks=2
        well "$ranks" "${of[@]}" "${parallel[@]}" "${@:3}"
        scores | diff "$task.scores" - >differs || fail "$task, $layout: $(cat differs)"
        [ "$1 ${3-}" != '1 --schedule=zb-h1' ] || grep 'weight hash' out | diff "$task.hash" - \
            || fail "$task, $layout: other weights"
    done
done

# The file of answers, by the definition of the official script.
"$python" - "$srcdir" made/SQuAD/dev-v1.1.json answers <<'END' >computed || fail 'the file of answers'
import json, sys
sys.path.insert(0, sys.argv[1] + "/tests/models")
import task_oracle
with open(sys.argv[2]) as data, open(sys.argv[3]) as answers:
    data, answers = json.load(data)["data"], json.load(answers)
exact, f1 = [], []
for q in (q for a in data for p in a["paragraphs"] for q in p["qas"]):
    right, said = [a["text"] for a in q["answers"]], answers[q["id"]]
    normal = task_oracle.normalize
    exact.append(max(normal(r) == normal(said) for r in right))
    f1.append(max(task_oracle.f1(r, said, False) for r in right))
n = len(exact)
print(f"exact match {100 * sum(exact) / n:.2f}, F1 {100 * sum(f1) / n:.2f} of {n} questions")
END
grep -qF "$(cat computed)" squad.scores || fail "$(cat computed) is not $(cat squad.scores)"

# A run in two pieces has the weights of one, and the same best epoch; the
# evaluation of its newest and of its best checkpoint have their scores.  The last
# batch of an epoch: 64 pairs are 2 batches of 24, and 3 if filled up.
of=(--task MNLI "${tune[@]}" --global-batch-size 24 --train-data "${train[mnli]}"
    --valid-data "${dev[mnli]}" --epochs 4 --keep-last)
well 1 "${of[@]}" --weight-hash
grep -q 'task: mnli, 64 samples to train on, 3 iterations of an epoch, 4 epochs; 18 samples to' out \
    || fail "batches of an epoch: $(grep '^task' out)"
scores >whole.scores
grep 'weight hash' out >whole.hash
# The best epoch: the first one with the greatest accuracy.
best=$(awk '{ score = $(NF - 4) } NR == 1 || score > most { most = score; epoch = NR }
    END { print epoch }' whole.scores)
grep -q "^best: epoch $best of 4, ${dev[mnli]}: accuracy [0-9.]* %$" out \
    || fail "epoch $best is the best: $(grep '^best' out; cat whole.scores)"
# The run is stopped in epoch 2, then goes on from its end, as if killed before
# its evaluation: that is caught up.
of+=(--save tuned --keep-last 2)
well 1 "${of[@]}" --exit-interval 6
refused_job 2 'its epochs have 3 iterations of 24 samples, those of this job 4 of 16' \
    "${of[@]}" --load tuned --global-batch-size 16
# What cannot be read now may name the best epoch: --keep-last must not remove it.
mv tuned/best.json kept.json
ln -s "$(printf 'x%.0s' {1..300})" tuned/best.json # unreadable, for root, too
refused_job 4 'tuned/best.json: File name too long' "${of[@]}" --load tuned
mv kept.json tuned/best.json
# The best checkpoint is gone: no older one passes for it.
cp -r tuned lost
sed -i 's/"iteration": [0-9]*/"iteration": 5/' lost/best.json
well 1 "${of[@]}" --load lost --save lost --exit-interval 7
grep -q 'lost: the best checkpoint, of iteration 5, is not there; the best epoch is sought' err \
    || fail "a best checkpoint that is gone: $(cat err)"
# The best checkpoint of a directory is one of that directory.
well 1 "${of[@]}" --load tuned --save other --summary-text --exit-interval 7
grep -q '^  Validation loss from [0-9.]* to [0-9.]*\.$' out \
    || fail "--summary-text: $(cat out)"
! grep -qs '"iteration": 6' other/best.json || fail "other/best.json: $(cat other/best.json)"
sed -i 's/"scored": 6/"scored": 3/' tuned/best.json
well 1 "${of[@]}" --load tuned --weight-hash
grep 'weight hash' out | diff whole.hash - || fail 'a run in two pieces has other weights'
scores | diff <(tail -3 whole.scores) - || fail 'a run in two pieces has other scores'
at=$(printf 'tuned/iter_%07d' $((3 * best)))
grep -q "^best: epoch $best of 4, .*; $at$" out || fail "other best epoch: $(grep '^best' out)"
[ "$(cd tuned && echo iter*)" = "$(printf 'iter_%07d\n' $((3 * best)) 9 12 | sort -u | xargs)" ] \
    || fail "kept: $(ls tuned)"
# evaluated LINE OPTION...: an evaluation has the scores of that line of the whole run.
evaluated() {
    well 1 --load tuned --eval-only "${@:2}"
    [ "$(scores | grep -o 'accuracy.*')" = "$(sed -n "$1p" whole.scores | grep -o 'accuracy.*')" ] \
        || fail "an evaluation: $(scores), not line $1 of $(cat whole.scores)"
}
evaluated 4
evaluated "$best" --load-best

# A pretrained checkpoint gives no head, though this one has a head that fits: at
# a learning rate of 0 the head is that of the seed.
for seed in 5 6; do
    well 1 --task mnli "${tune[@]}" --pretrained-checkpoint tuned --weight-hash \
        --train-data "${train[mnli]}" --valid-data "${dev[mnli]}" --epochs 1 --lr 0 --seed $seed
    grep 'weight hash' out >"head.$seed"
    scores | grep -o 'accuracy.*' >begin
    # Without training the head is the same.
    well 2 --eval-only --task mnli "${words[@]}" --pretrained-checkpoint tuned --seed $seed \
        --valid-data "${dev[mnli]}" --micro-batch-size 8 --pipeline-model-parallel-size 2
    scores | grep -o 'accuracy.*' | diff begin - || fail "a head that is not trained: $(cat out)"
    grep -q "^the head is not trained: it has the random weights of --seed $seed\$" out \
        || fail "no word about the head: $(cat out)"
done
cmp -s head.5 head.6 && fail 'an old head is trained on'

of=(--task mnli "${tune[@]}" --train-data "${train[mnli]}" --valid-data "${dev[mnli]}")
refused_job 2 'was saved with --hidden-size 64, this job has 128' "${of[@]}" --hidden-size 128
head -40 made/vocab.txt >few.txt
refused_job 2 'was saved with --vocab-size' "${of[@]}" --vocab-file few.txt
refused_job 2 'needs --train-data FILE...' --task mnli "${tune[@]}" --valid-data "${dev[mnli]}"
refused_job 2 'cuts a question of --task race, which is 4 samples' --task race "${tune[@]}" \
    --train-data "${train[race]}" --valid-data "${dev[race]}" --micro-batch-size 6 \
    --global-batch-size 12
refused_job 2 'less than --global-batch-size 128' "${of[@]}" --global-batch-size 128
refused_job 2 '--load-best needs --load DIR and --eval-only or --finetune' --load tuned --load-best
refused_job 2 'has the head of --task mnli, this job has --task qqp; --pretrained-checkpoint DIR' \
    --load tuned --task qqp --eval-only --valid-data "${dev[qqp]}"
refused_job 2 'has no head of a task, this job has --task qqp; --pretrained-checkpoint DIR' \
    --load pre "${words[@]}" --task qqp --eval-only --valid-data "${dev[qqp]}"
refused_job 3 '--load-best: pre: there is no best.json' --load pre --load-best --eval-only
refused_job 3 '--pretrained-checkpoint made: there is no checkpoint' "${of[@]}" \
    --pretrained-checkpoint made

mkdir one two
for name in one two; do
    ln -s ../made ../pre $name
done
# Ranks whose --load is the same by name only: the second one has no checkpoint.
ln -s ../tuned one/last
mkdir two/last
of=("$(readlink -f "$program")" --task mnli "${tune[@]}" --global-batch-size 24
    --train-data "${train[mnli]}" --valid-data "${dev[mnli]}" --epochs 4 --load last
    --pipeline-model-parallel-size 2)
# shellcheck disable=SC2086 # several words
timeout -k 5 $((120 * TIME_SCALE)) $MPIRUN -q -n 1 -wdir "$dir/one" "${of[@]}" \
    : -n 1 -wdir "$dir/two" "${of[@]}" >out 2>err </dev/null
rc=$?
[ "$rc" -eq 2 ] && grep -q '^mtlm-dag: rank 1 was started with other settings than rank 0: loads pre with a new head, not loads last$' err \
    || fail "other directories to begin from: exit code $rc: $(cat err)"
# Ranks with other data to evaluate on, of the same number of samples.
cp "${dev[mnli]}" one/dev.tsv
{ sed '$d' "${dev[mnli]}" && sed -n 2p "${dev[mnli]}"; } >two/dev.tsv
of=("$(readlink -f "$program")" --task mnli "${tune[@]}" --train-data "${train[mnli]}"
    --valid-data dev.tsv --epochs 1)
# shellcheck disable=SC2086 # several words
timeout -k 5 $((120 * TIME_SCALE)) $MPIRUN -q -n 1 -wdir "$dir/one" "${of[@]}" \
    : -n 1 -wdir "$dir/two" "${of[@]}" >out 2>err </dev/null
rc=$?
[ "$rc" -eq 3 ] && one_sentence && grep -q '^mtlm-dag: rank 1 reads other data than rank 0: ' err \
    || fail "other data to evaluate on: exit code $rc: $(cat err)"
finish
