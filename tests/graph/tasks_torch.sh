#!/bin/bash
# Losses and gradients of the heads of fine-tuning tasks, in seven layouts, against
# PyTorch, both in double precision (tests/reference/tasks_torch.py).
set -eu

reference=${srcdir:-.}/tests/reference/tasks_torch.py
python=${PYTHON:-python3}

if ! "$python" -c 'import numpy, torch' 2>/dev/null; then
    echo "skipped: $python has no PyTorch"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${builddir:-.}/tests/graph/task_values" "$dir"
"$python" "$reference" "$dir"/*.safetensors
