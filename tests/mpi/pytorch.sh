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
exit "$failed"
