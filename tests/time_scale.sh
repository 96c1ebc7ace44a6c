#!/bin/bash
# tests/time_scale.sh PROGRAM: prints how many times longer a small job of four
# ranks takes here and now than on two free cores.  The number is rounded up and
# lies between 3 (other programs may begin later) and 30.  The tests multiply each
# limit of time by that number, TIME_SCALE.  A limit is for a hang: a busy or slow
# machine is none, and a sanitizer is none.

free=0.7 # seconds that the job takes on two free cores
begin=$EPOCHREALTIME
# shellcheck disable=SC2086 # several words
STARPU_NCPU=1 timeout -k 5 60 $MPIRUN -q -n 4 "$1" --model gpt-tiny --num-layers 4 \
    --hidden-size 64 --seq-length 64 --micro-batch-size 2 \
    --global-batch-size 8 --train-iters 10 --eval-iters 0 \
    --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 \
    >/dev/null 2>&1 </dev/null
awk -v free=$free -v begin="$begin" -v end="$EPOCHREALTIME" 'BEGIN {
    scale = int((end - begin) / free + 0.999)
    print(scale < 3 ? 3 : scale > 30 ? 30 : scale)
}'
