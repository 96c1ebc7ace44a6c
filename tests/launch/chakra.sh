#!/bin/bash
# --graph-out NAME.et: Chakra execution traces hold the graph of NAME.rec, on all
# ranks; Google's reader of Protocol Buffers reads them.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

source=$(cd "${srcdir:-.}" && pwd)
python=${PYTHON:-python3}
if ! "$python" -c 'import google.protobuf' 2>/dev/null; then
    echo "$python has no protobuf (launch/setup --tests)"
    exit 77
fi

# check TP DP PP OPTION...: the .et and the .rec of a job agree; its types of
# collectives go to $types.
check() {
    local sizes=("${@:1:3}") ends=2 job=(--simulate "$source/launch/clusters/dgx-a100.ini"
        --model gpt2-345m --num-layers 8 --fp16 --micro-batch-size 1
        --world-size $(($1 * $2 * $3)) --tensor-model-parallel-size "$1"
        --pipeline-model-parallel-size "$3" --global-batch-size $((8 * $2)))
    shift 3
    [[ "$*" != *zb-v* ]] || ends=1
    well 1 "${job[@]}" "$@" --graph-out g.rec
    well 1 "${job[@]}" "$@" --graph-out g.et --metrics lines
    types=$("$python" "$source/tests/launch/chakra_files.py" g g.rec "${sizes[@]}" "$ends" \
        "$(sed -n 's/.*"iteration_s": *\([0-9.e-]*\).*/\1/p' lines)" 2>&1) \
        || fail "$*: $types"
    grep -q "^Graph in g.0.et to g.$((sizes[0] * sizes[1] * sizes[2] - 1)).et: " out \
        || fail "$*: $(tail -n 1 out)"
    # Chakra's own reader, where somebody has installed it.
    if command -v chakra_jsonizer >/dev/null; then
        chakra_jsonizer --input_filename g.1.et --output_filename json \
            >said 2>&1 && grep -q '"pg_name"' json || fail "jsonizer: $(cat said)"
    fi
    rm -f g.* lines json
}

check 2 2 4 --schedule 1f1b
[ "$types" = 'types of collectives: 0' ] || fail "all-reduces: $types"
check 2 2 2 --sequence-parallel --use-distributed-optimizer --schedule zb-h1
[ "$types" = 'types of collectives: 0 2 7' ] || fail "gathers: $types"
check 1 1 4 --as 2021
if full_tier; then
    check 1 4 1
    check 4 1 2 --num-layers-per-virtual-pipeline-stage 2
    check 2 1 4 --schedule zb-v
fi

# A file that cannot be written ends the command with one sentence.
mkdir g.1.et
job 1 --simulate "$source/launch/clusters/dgx-a100.ini" --model gpt2-124m --fp16 \
    --world-size 2 --pipeline-model-parallel-size 2 --graph-out g.et
[ "$rc" -eq 4 ] && [ "$(cat err)" = "mtlm-dag: cannot write g.1.et: Is a directory; \
no part of the graph is left" ] || fail "a directory in the way: exit code $rc, $(cat err)"
[ "$(echo g.*)" = g.1.et ] || fail "left: $(echo g.*)"
rmdir g.1.et

# A graph replaces a graph of more ranks; a full disk leaves no part of one.
small=(--simulate "$source/launch/clusters/dgx-a100.ini" --model gpt2-124m --fp16
    --tensor-model-parallel-size 1 --graph-out g.et)
well 1 "${small[@]}" --pipeline-model-parallel-size 4 --global-batch-size 8
well 1 "${small[@]}" --pipeline-model-parallel-size 2 --global-batch-size 8
grep -q '^Removed the files of 2 further ranks' out || fail "not said: $(tail -n 1 out)"
[ "$(echo g.*)" = 'g.0.et g.1.et g.groups.json' ] || fail "graphs: $(echo g.*)"
rm g.*
(ulimit -f 40 && job 1 "${small[@]}" --pipeline-model-parallel-size 2 \
    --global-batch-size 8
    [ "$rc" -eq 4 ] && grep -q 'File too large$' err) \
    || fail "a full disk: exit code $rc, $(cat err)"
[ "$(echo g.*)" = 'g.*' ] || fail "left by a full disk: $(echo g.*)"
finish
