#!/bin/bash
# First-step loss and gradients of gpt-tiny in several layouts against
# PyTorch (tests/reference/first_step_torch.py says how close they must be).
set -u

program=${builddir:-.}/mtlm-dag
reference=${srcdir:-.}/tests/reference/first_step_torch.py
python=${PYTHON:-python3}
read -ra mpirun <<<"${MPIRUN:-mpirun --oversubscribe}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

if ! "$python" -c 'import numpy, torch' 2>/dev/null; then
    echo "skipped: $python has no PyTorch"
    exit 77
fi

# first_step NAME TENSOR PIPELINE OPTION...: dumps the first step of a layout
# to $dir/NAME.
first_step()
{
    local name=$1 tensor=$2 pipeline=$3
    local ranks=$((tensor * pipeline)) start=()
    shift 3
    mkdir -p "$dir/$name"
    [ "$ranks" -eq 1 ] || start=("${mpirun[@]}" -n "$ranks")
    STARPU_NCPU=1 ${start[@]+"${start[@]}"} "$program" --model gpt-tiny \
        --tensor-model-parallel-size "$tensor" \
        --pipeline-model-parallel-size "$pipeline" \
        --global-batch-size 8 --micro-batch-size 2 --train-iters 1 \
        --eval-iters 0 --hidden-dropout 0 --attention-dropout 0 \
        --dump-first-step "$dir/$name" "$@" >"$dir/log" 2>&1 && return
    cat "$dir/log"
    exit 1
}

# compare NAME...: with PyTorch.
compare()
{
    local name dumps=()
    for name; do
        dumps+=("$name=$dir/$name")
    done
    "$python" "$reference" --heads 4 --vocab 257 --micro-batch 2 \
        "${dumps[@]}" || failed=1
}

failed=0
first_step one 1 1
first_step P2 1 2
first_step T2 2 1
first_step P2xT2 2 2
first_step P4 1 4
compare one P2 T2 P2xT2 P4

# Large weights: attention that prefers some positions, a loss of its own for
# each token.
first_step large 1 1 --init-method-std 0.1
first_step large-T2 2 1 --init-method-std 0.1
compare large large-T2
# Labels that do not count: those after the ends of short documents.
for i in $(seq 2000); do
    printf 'document %d\n\f\n' "$i"
done >"$dir/text"
"${builddir:-.}/mtlm-preprocess" --input "$dir/text" \
    --output-prefix "$dir/data" >"$dir/log" || failed=1
first_step masked 1 1 --data-path "$dir/data_text_document" --eod-mask-loss
first_step masked-T2xP2 2 2 --data-path "$dir/data_text_document" \
    --eod-mask-loss
compare masked masked-T2xP2
"$python" - "$dir/masked/rank-0.safetensors" "${reference%/*}" <<'END' || failed=1
import sys
sys.path.insert(0, sys.argv[2])
from dump_files import read_safetensors
batch, _ = read_safetensors(sys.argv[1])
ends = batch["tokens"] == 256
assert ends.sum() > 50 and (batch["loss_mask"] == ~ends).all()
END
exit "$failed"
