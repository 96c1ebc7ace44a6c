#!/bin/bash
# --seeds on the device double: each run has StarPU's streams anew, and the
# medians are those of the CPU.
#
# shellcheck source=tests/emulator/common.sh
. "${srcdir:-.}/tests/emulator/common.sh"

on_cpus
. "${srcdir:-.}/tests/mpi/finetune_data.sh"

of=(--task mnli "${tune[@]}" --train-data "${train[mnli]}" --valid-data "${dev[mnli]}"
    --epochs 1 --seeds '7,8')
well 1 "${of[@]}"
grep '^  ' out >want
on_gpus 1
well 1 "${of[@]}"
[ "$(grep -c '^GPU: rank 0 on 0 of 1: Device double 0' out)" -eq 2 ] \
    || fail "runs without a GPU: $(cat out)"
grep '^  ' out | diff want - || fail "other medians: $(cat err)"

finish
