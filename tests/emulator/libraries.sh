#!/bin/bash
# CUDA's libraries are loaded by processes that take a GPU, and only by those.
#
# shellcheck source=tests/emulator/common.sh
. "${srcdir:-.}/tests/emulator/common.sh"

mini=(--model gpt-tiny --num-layers 2 --hidden-size 32 --num-attention-heads 4
    --seq-length 16 --micro-batch-size 1 --global-batch-size 2 --train-iters 1
    --eval-iters 0)

# linked PROGRAM: the libraries that the program itself names.
linked() {
    objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }'
}

linked "${builddir:-.}/mtlm-dag" | grep -q '^libstarpu' || fail "no list of libraries"
! linked "${builddir:-.}/mtlm-dag" | grep -E '^lib(cublas|nccl|cudnn)' ||
    fail "each start loads these"

# broken LIBRARY: there is one that cannot be loaded, before all others.
broken() {
    rm -rf broken
    mkdir broken
    echo 'no library' >"broken/$1"
    export LD_LIBRARY_PATH=$dir/broken:$LD_LIBRARY_PATH
}

# says LIBRARY: the last job ended with the loader's reason.
says() {
    [ "$rc" -eq 7 ] || fail "$1: exit code $rc: $(cat err)"
    grep -q "^mtlm-dag: .*cannot load $1: .*$1: " err || fail "$1: $(cat err)"
}

on_gpus 1
broken libcublasLt.so.13
job 1 "${mini[@]}"
says libcublasLt.so.13
well 1 "${mini[@]}" --no-gpu

on_gpus 2
broken libnccl.so.2
job 2 "${mini[@]}"
says libnccl.so.2
well 2 "${mini[@]}" --transport mpi
finish
