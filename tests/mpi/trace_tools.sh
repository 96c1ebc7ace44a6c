#!/bin/bash
# Traces of runs and of simulations in the hands of other people's tools: pj_dump,
# recutils, ViTE.
set -u
for tool in pj_dump rec2csv vite; do
    command -v $tool >/dev/null && continue
    echo "skipped: no $tool here (launch/setup --tests installs it)"
    exit 77
done
check=$(realpath "${srcdir:-.}/tests/mpi/trace_paje.py")
clusters=$(realpath "${srcdir:-.}/launch/clusters")
. "${srcdir:-.}/tests/mpi/common.sh"

# vite_exports DEVICE: ViTE draws it, without a screen, and misses nothing.
vite_exports() {
    QT_QPA_PLATFORM=offscreen timeout $((60 * TIME_SCALE)) vite -e out.svg trace/paje.trace \
        >vite.out 2>&1 </dev/null || fail "vite: $(cat vite.out)"
    grep -q '0 errors and 0 warnings' vite.out || fail "vite: $(cat vite.out)"
    for name in "0_$1" "1_$1" 1_scheduler 0_PPmpict; do
        grep -q ">$name<" out.svg || fail "vite drew no $name"
    done
    # The colour of attention's forward pass, in parts of 255.
    color=$(sed -n 's/ *attention_fwd: {color: "#\(..\)\(..\)\(..\)".*/0x\1 0x\2 0x\3/p' \
        trace/starvz.yaml)
    # shellcheck disable=SC2086 # three words
    grep -q "$(printf 'fill="rgb(%d,%d,%d)"' $color)" \
        out.svg || fail "vite drew no attention_fwd ($color)"
}

layout 1 2
for node in acquire task; do
    rm -rf trace
    well 2 "${small[@]}" "${parallel[@]}" --train-iters 6 --workers 2 \
        --eval-interval 4 --eval-iters 1 --comm-node $node --trace trace
    "${PYTHON:-python3}" "$check" trace || fail "$node: trace_paje.py"
done
vite_exports CPU0

# Simulated ranks pass the same readers: whole iterations, parts, published code.
for options in '' '--trace-microbatches 3:4 --as 2021' '--schedule zb-v'; do
    rm -rf trace
    # shellcheck disable=SC2086 # several words
    well 1 --simulate "$clusters/dgx-a100.ini" --model gpt2-345m --num-layers 8 \
        --fp16 --world-size 16 --tensor-model-parallel-size 2 \
        --pipeline-model-parallel-size 4 --micro-batch-size 1 \
        --global-batch-size 16 --trace trace $options
    "${PYTHON:-python3}" "$check" trace || fail "simulated $options: trace_paje.py"
    vite_exports CUDA0
done

finish
