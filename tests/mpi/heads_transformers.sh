#!/bin/bash
# mtlm-convert of a fine-tuned model: transformers' class with its head has our
# logits, in any layout; files of predictions follow from dumped logits.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
tree=$(cd "$OLDPWD" && cd "${srcdir:-.}" && pwd)
. "$tree/tests/mpi/peers.sh"
need_peers torch transformers numpy
convert=${program%/*}/mtlm-convert

"$peers" "$tree/perf/tasks" made --train 32 --dev 18 >said 2>&1 || { cat said; exit 1; }
declare -A train=([mnli]=made/MNLI/train.tsv [qqp]=made/QQP/train.tsv
    [race]=made/RACE/train/middle [squad]=made/SQuAD/train-v1.1.json)
declare -A dev=([mnli]=made/MNLI/dev_matched.tsv [qqp]=made/QQP/dev.tsv
    [race]=made/RACE/dev/middle [squad]=made/SQuAD/dev-v1.1.json)
declare -A class=([mnli]=SequenceClassification [qqp]=SequenceClassification
    [race]=MultipleChoice [squad]=QuestionAnswering)
# Weights far from the first ones, so that each has its part in the logits.
model=(--model-type bert --num-layers 2 --hidden-size 64 --num-attention-heads 4
    --seq-length 80 --vocab-file made/vocab.txt --tokenizer-type BertWordPieceLowerCase
    --init-method-std 0.2)

compare=()
for task in mnli qqp race squad; do
    well 1 "${model[@]}" --task $task --train-data "${train[$task]}" \
        --valid-data "${dev[$task]}" --epochs 3 --micro-batch-size 8 \
        --global-batch-size 16 --lr 3e-3 --lr-decay-style constant --save "tuned.$task"
    "$convert" --input "tuned.$task" --output "hf.$task" >said 2>err \
        || fail "export of $task: $(cat err)"
    grep -q "\"MegatronBertFor${class[$task]}\"" "hf.$task/config.json" \
        || fail "$task: $(cat "hf.$task/config.json")"
    case $task in
        mnli) layouts=('1 1' '1 2') ;;
        qqp) layouts=('1 1') ;; # the head of mnli
        race) layouts=('1 1' '1 1 --use-distributed-optimizer') ;;
        squad) layouts=('1 1' '2 1') ;;
    esac
    ! full_tier || layouts=('1 1' '1 2' '2 1' '1 1 --use-distributed-optimizer')
    for layout in "${layouts[@]}"; do
        # shellcheck disable=SC2086 # several words
        set -- $layout
        layout "$1" "$2"
        [ -z "${3-}" ] || ranks=2
        to=$task.$1$2${3:+d2}
        well "$ranks" --load "tuned.$task" --eval-only "${parallel[@]}" --dump-logits "$to" \
            --predictions "$to.answers"
        compare+=("hf.$task=$to")
    done
done
"$peers" "$tree/tests/reference/task_heads.py" "${compare[@]}" >compared 2>&1 \
    || fail "$(cat compared)"

# The greatest logit is the predicted class, by its name of the export.
"$peers" - "$tree" mnli qqp race <<'END_OF_PYTHON' || fail 'predictions are other than logits'
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1] + "/tests/reference")
from dump_files import read_safetensors
for task in sys.argv[2:]:
    dump = read_safetensors(Path(f"{task}.11/rank-0.safetensors"))[0]
    best = dump["task_logits"].argmax(1)
    text = Path(f"{task}.11.answers").read_text()
    if task == "race":
        said = "".join(a for line in text.splitlines() for a in json.loads(line)["answers"])
        assert said == "".join("ABCD"[i] for i in best), task
    else:
        names = json.loads(Path(f"hf.{task}/config.json").read_text())["id2label"]
        said = [line.split("\t")[1] for line in text.splitlines()[1:]]
        assert said == [names[str(i)] for i in best], task
END_OF_PYTHON

# In bf16, and in several files.
"$convert" --input tuned.mnli --output half --torch-dtype bfloat16 \
    --max-shard-size 100KB >said 2>err || fail "bf16: $(cat err)"
[ "$(find half -name 'model-*.safetensors' | wc -l)" -gt 1 ] || fail "one file: $(ls half)"
"$peers" - half <<'END_OF_PYTHON' || fail 'bf16 in several files'
import sys
import transformers
model, loaded = transformers.MegatronBertForSequenceClassification.from_pretrained(
    sys.argv[1], output_loading_info=True)
assert not loaded["missing_keys"] and model.config.num_labels == 3, loaded
END_OF_PYTHON
finish
