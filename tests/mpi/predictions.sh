#!/bin/bash
# --predictions: the file of a model's answers, also to data without answers.  The
# scores computed from it are those that the job prints; all layouts write the same
# bytes; what does not fit is refused.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
tree=$(cd "$OLDPWD" && cd "${srcdir:-.}" && pwd)
python=${PYTHON:-python3}

"$python" "$tree/perf/tasks" made --train 48 --dev 18 >said 2>&1 || { cat said; exit 1; }
# with TASK DATA: the same data without answers, in the layout of the published
# test; scores TASK DATA ANSWERS: what a job prints, from the files.
cat >data.py <<'END_OF_PYTHON'
import json, os, sys
sys.path.insert(0, sys.argv[1] + "/tests/models")
import task_oracle
what, task, path = sys.argv[2:5]
rows, label = ({"mnli": ("index sentence1 sentence2", "gold_label"),
                "qqp": ("id question1 question2", "is_duplicate")}.get(task, ("", "")))

def read(name):
    with open(name, encoding="utf-8") as file:
        return file.read()

def table(text):
    names, *lines = (line.split("\t") for line in text.splitlines())
    return [dict(zip(names, line)) for line in lines]

def articles():
    names = sorted(os.listdir(path)) if os.path.isdir(path) else []
    return [(name, json.loads(read(f"{path}/{name}"))) for name in names]

def strip():
    if task == "race":
        os.mkdir("bare.race")
        for name, article in articles():
            del article["answers"]
            with open(f"bare.race/{name}", "w", encoding="utf-8") as file:
                json.dump(article, file)
        return
    with open(f"bare.{task}", "w", encoding="utf-8") as file:
        if task == "squad":
            data = json.loads(read(path))
            for qa in (q for a in data["data"] for p in a["paragraphs"] for q in p["qas"]):
                del qa["answers"]
            json.dump(data, file)
            return
        names = rows.split()
        columns = names if task == "qqp" else names[:1] + list("1234567") + names[1:]
        for row in [{n: n for n in columns}, *table(read(path))]:
            print(*(row.get(n, "-") for n in columns), sep="\t", file=file)

def accuracy(right, said):
    assert len(right) == len(said), (len(right), len(said))
    hits = sum(a == b for a, b in zip(right, said))
    print(f"{path}: accuracy {100 * hits / len(right):.2f} % ({hits} of {len(right)})")

def score():
    answers = read(sys.argv[5])
    if task == "race":
        said = [json.loads(line) for line in answers.splitlines()]
        assert [a["id"] for a in said] == [a["id"] for _, a in articles()]
        accuracy([x for _, a in articles() for x in a["answers"]],
                 [x for a in said for x in a["answers"]])
    elif task == "squad":
        said, exact, f1 = json.loads(answers), [], []
        for qa in (q for a in json.loads(read(path))["data"] for p in a["paragraphs"]
                   for q in p["qas"]):
            right, one = [a["text"] for a in qa["answers"]], said[qa["id"]]
            exact.append(any(task_oracle.normalize(r) == task_oracle.normalize(one)
                             for r in right))
            f1.append(max(task_oracle.f1(r, one, False) for r in right))
        n = len(exact)
        print(f"exact match {100 * sum(exact) / n:.2f}, F1 {100 * sum(f1) / n:.2f} of {n}")
    else:
        right, said = table(read(path)), table(answers)
        assert answers.startswith("index\tprediction\n") and answers.endswith("\n")
        assert [r[rows.split()[0]] for r in right] == [s["index"] for s in said]
        accuracy([r[label] for r in right], [s["prediction"] for s in said])

strip() if what == "strip" else score()
END_OF_PYTHON
data() {
    "$python" data.py "$tree" "$@" || fail "data.py $*"
}

declare -A train=([mnli]=made/MNLI/train.tsv [qqp]=made/QQP/train.tsv
    [race]=made/RACE/train/middle [squad]=made/SQuAD/train-v1.1.json)
declare -A dev=([mnli]=made/MNLI/dev_matched.tsv [qqp]=made/QQP/dev.tsv
    [race]=made/RACE/dev/middle [squad]=made/SQuAD/dev-v1.1.json)
model=(--model-type bert --num-layers 2 --hidden-size 64 --num-attention-heads 4
    --seq-length 80 --vocab-file made/vocab.txt --tokenizer-type BertWordPieceLowerCase
    --hidden-dropout 0 --attention-dropout 0)

for task in mnli qqp race squad; do
    # A few steps: answers that are neither all right nor all the same.
    well 1 "${model[@]}" --task $task --train-data "${train[$task]}" \
        --valid-data "${dev[$task]}" --epochs 30 --micro-batch-size 8 \
        --global-batch-size 16 --lr 1e-3 --lr-decay-style constant --save "tuned.$task"
    of=(--load "tuned.$task" --eval-only --predictions answers --valid-data)
    well 1 "${of[@]}" "${dev[$task]}"
    data score $task "${dev[$task]}" answers >computed
    grep -qF "$(cat computed)" out || fail "$task: $(cat computed) is not in $(cat out)"
    mv answers right
    [ "$task" = squad ] || [ "$(grep -oE '[A-Za-z0-9]+"?\]?}?$' right | sort -u | wc -l)" -gt 2 ] \
        || fail "$task: all answers are the same"

    # Without answers: the same file in each layout, and no score.
    data strip $task "${dev[$task]}"
    for layout in '1 1' '1 2' '2 1' '1 1 --use-distributed-optimizer'; do
        # shellcheck disable=SC2086 # several words
        set -- $layout
        layout "$1" "$2"
        [ -z "${3-}" ] || ranks=2
        rm -f answers
        well "$ranks" "${of[@]}" "bare.$task" "${parallel[@]}"
        cmp -s answers right || fail "$task, $layout: $(diff right answers | head -5)"
        grep -qx "$task: [0-9]* answers in answers, without a score" out \
            || fail "$task, $layout: $(grep "^$task" out)"
        ! grep -qE 'accuracy|exact match|loss' out || fail "$task, $layout: a score: $(cat out)"
    done
done

# A training writes the answers of each evaluation.
well 1 --load tuned.mnli --task mnli --train-data "${train[mnli]}" \
    --valid-data "${dev[mnli]}" --epochs 31 --predictions answers
data score mnli "${dev[mnli]}" answers >computed
grep -qF "epoch 31 of 31: $(cat computed)" out || fail "in training: $(cat computed; cat out)"
rm answers

# So does a training that was complete; its best epoch stays.
cp tuned.mnli/best.json best.json
well 1 --load tuned.mnli --save tuned.mnli --task mnli --train-data "${train[mnli]}" \
    --valid-data "${dev[mnli]}" --epochs 30 --predictions answers
grep -q '^nothing is left to train: ' out || fail "a complete training: $(cat out)"
data score mnli "${dev[mnli]}" answers >computed
grep -qF "$(cat computed)" out || fail "a complete training: $(cat computed; cat out)"
cmp best.json tuned.mnli/best.json || fail 'a complete training: other best epoch'
rm answers

# A row that is no pair is counted.
{ cat "${dev[qqp]}" && for _ in {1..9}; do sed 1d "${dev[qqp]}"; done; } >many
echo 'half a question' >>many
well 1 --load tuned.qqp --eval-only --valid-data many
grep -q '^task: qqp; [0-9]* samples to evaluate on, 1 left out$' out \
    || fail "rows left out: $(grep '^task' out)"

# Articles of several directories follow each other.
of=(--load tuned.race --eval-only --predictions answers --valid-data)
well 1 "${of[@]}" bare.race bare.race
tail -n +10 answers | cmp -s - <(head -9 answers) && [ "$(wc -l <answers)" -eq 18 ] \
    || fail "two directories: $(cat answers)"
rm answers

# refuses_cleanly CODE TEXT OPTION...: refused, and no file is left.
refuses_cleanly() {
    refused_job "$@"
    [ ! -e answers ] || fail "${*:3}: left a file"
}
refuses_cleanly 3 'have no answers, unlike those of' "${of[@]}" "${dev[race]}" bare.race
of=(--load tuned.mnli --eval-only --valid-data)
refuses_cleanly 3 'no score; --eval-only --predictions FILE writes' "${of[@]}" bare.mnli
refuses_cleanly 2 'the answers to one file of --valid-data, found 2' "${of[@]}" bare.mnli bare.mnli \
    --predictions answers
refuses_cleanly 3 'no answers to learn from' --load tuned.mnli --task mnli --train-data bare.mnli \
    --valid-data "${dev[mnli]}" --predictions answers --epochs 31
refuses_cleanly 3 'no score; --eval-only --predictions FILE writes' --load tuned.mnli --task mnli \
    --train-data "${train[mnli]}" --valid-data bare.mnli --predictions answers --epochs 31
sed '3s/\t[^\t]*$//' bare.mnli >bad
refuses_cleanly 3 'bad: line 3: found 9 columns' "${of[@]}" bad --predictions answers
job 1 "${of[@]}" bare.mnli --predictions nowhere/answers
[ "$rc" -eq 4 ] && grep -q 'nowhere/answers' err || fail "nowhere: $rc, $(cat err)"
grep -qx 'mnli: [0-9]* answers, not written' out || fail "nowhere: $(cat out)"
# The scores are not lost with the file.
job 1 "${of[@]}" "${dev[mnli]}" --predictions nowhere/answers
[ "$rc" -eq 4 ] && grep -q 'nowhere/answers' err && grep -q '^mnli: .*accuracy' out \
    || fail "nowhere, with classes: $rc, $(cat out err)"
finish
