#!/bin/bash
# What cannot be done on several ranks is refused (hostile.sh: on one rank): soon,
# with the right exit code, with nothing written.  One sentence holds the
# numbers.  Where memory lacks, a plan and commands that would fit follow.  A NaN
# ends the run at the node that made it.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

# What each rank would take, and what could be done about it.
advice='^($|Memory of each rank|their input gradients|stage  |[0-9]|the job is bound|It fits on|No number of|With Adam.s moments on a disk|With fewer layers|  )'

# refuse CODE RANKS WORDS... -- OPTION...
refuse() {
    local code=$1 n=$2 words=() before start
    shift 2
    while [ "$1" != -- ]; do
        words+=("$1")
        shift
    done
    shift
    before=$(ls -A)
    start=$SECONDS
    job "$n" "$@"
    what="$n ranks, $*"
    [ $rc -eq "$code" ] || fail "$what: exit code $rc, not $code: $(cat err)"
    [ "$(grep -vcE "$advice" err)" -eq 1 ] \
        || fail "$what: not one sentence: $(cat err)"
    grep -q '^mtlm-dag: ' err || fail "$what: $(cat err)"
    has_words "$what" "${words[@]}"
    [ $((SECONDS - start)) -le $((15 * TIME_SCALE)) ] || fail "$what: took too long"
    [ "$(ls -A)" = "$before" ] || fail "$what: left behind: $(ls -A)"
}

tiny=(--model gpt-tiny --train-iters 3)
touch out err

# Options, said once however many ranks there are.
for n in 1 4; do
    refuse 2 $n nonsense -- "${tiny[@]}" --nonsense
    refuse 2 $n "'gpt-tiney'" gpt-tiny -- --model gpt-tiney
    refuse 2 $n 256 5 -- "${tiny[@]}" --num-attention-heads 5
done
# The first rank to leave must not take the sentence with it.
for _ in 1 2 3 4 5 6; do
    refuse 2 4 num-layers -- "${tiny[@]}" --num-layers=0
done

refuses_at_once

# Ranks of which each would train alone: a launcher that MPI does not hear.
for launcher in 'PMI_SIZE=2 PMI_RANK' \
    'SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=2 SLURM_PROCID'; do
    for rank in 0 1; do
        # shellcheck disable=SC2086 # several words
        env $launcher=$rank timeout $((60 * TIME_SCALE)) \
            "$program" "${tiny[@]}" >out 2>err </dev/null
        rc=$?
        [ $rc -eq 2 ] || fail "$launcher=$rank: exit code $rc: $(cat err)"
        [ -s out ] && fail "$launcher=$rank: trains: $(cat out)"
        [ "$(grep -c 'one of 2 ranks, but MPI sees only this one: srun .*pmix' \
            err)-$(wc -l <err)" = 1-1 ] \
            || fail "$launcher=$rank: said: $(cat err)"
    done
done

# A process that was started alone needs no directory of MPI's, which jobs share;
# a script of Slurm has a rank.
touch file
for launcher in '' SLURM_PROCID=0; do
    env $launcher TMPDIR="$PWD/file" timeout $((60 * TIME_SCALE)) \
        "$program" "${tiny[@]}" >out 2>err </dev/null \
        || fail "TMPDIR is a file, $launcher: exit code $?: $(cat err)"
done

# Options that contradict each other, by both names.
for n in 1 4; do
    refuse 2 $n --train-iters --train-samples \
        -- "${tiny[@]}" --train-samples 12
done
# Megatron's that we lack, all at once.
refuse 2 4 --fp8-hybrid --num-experts \
    -- "${tiny[@]}" --fp8-hybrid --num-workers 2 --num-experts 2

# An old spelling is no mistake: one hint, however many ranks.
well 2 --model gpt-tiny --num-layers 2 --batch-size 2 --train-iters 1 \
    --eval-iters 0 --model-parallel-size 1 --pipeline-model-parallel-size 2 \
    --num-workers 2
[ "$(grep -c 'batch-size is spelled --micro-batch-size' err)" -eq 1 ] \
    && [ "$(grep -c 'num-workers changes nothing' err)" -eq 1 ] \
    || fail "hints: $(cat err)"

# The layout and the number of ranks.
refuse 2 1 'size 1 ' 'size 2 ' '= 2 ranks' 'has 1' 'mpirun -n 2' \
    -- "${tiny[@]}" --pipeline-model-parallel-size 2
refuse 2 3 '= 2 ranks' 'has 3' 'mpirun -n 2' \
    -- "${tiny[@]}" --tensor-model-parallel-size 2
refuse 2 3 'global-batch-size 8' 'multiple of 6' '2 x 3 data-parallel' \
    -- "${tiny[@]}" --tensor-model-parallel-size 1 --micro-batch-size 2 \
    --global-batch-size 8
refuse 2 2 'start 2' 'multiple of 4' '2 x 2 data-parallel' -- --model gpt-tiny \
    --train-samples 90 --micro-batch-size 2 --global-batch-size 8 \
    --tensor-model-parallel-size 1 --rampup-batch-size 2 2 9
refuse 2 5 '5 ranks' 'mpirun -n 4' -- "${tiny[@]}" --global-batch-size 8
refuse 2 1 4 5 -- "${tiny[@]}" --pipeline-model-parallel-size 5

# Stages that the layers do not fill, however they are asked for.
refuse 2 2 4 '= 6 stages' -- "${tiny[@]}" --pipeline-model-parallel-size 2 \
    --num-virtual-stages-per-pipeline-rank 3
refuse 2 4 4 '= 8 stages' -- "${tiny[@]}" --pipeline-model-parallel-size 4 \
    --placement v
refuse 2 2 '5 layers' 'says 4' -- "${tiny[@]}" --stage-layers 3,2
refuse 2 2 '3 stages' 'size 2' -- "${tiny[@]}" --stage-layers 1,2,1 \
    --pipeline-model-parallel-size 2
# The policy.
for n in 1 2; do
    layout 1 $n
    STARPU_SCHED=unknown refuse 2 $n 'STARPU_SCHED=unknown' eager dmdas \
        -- "${tiny[@]}" "${parallel[@]}"
done

# No memory, with no more than 2 GB of addresses to find that out (a sanitizer
# takes terabytes of them for itself).
(
    sanitized || ulimit -v 2000000
    failures=0
    refuse 6 1 needs GiB available \
        -- "${tiny[@]}" --num-layers 1000 --hidden-size 16384
    refuse 6 1 needs GiB available -- "${tiny[@]}" --seq-length 1048576
    refuse 6 1 needs GiB available -- "${tiny[@]}" --vocab-size 1073741824
    refuse 6 1 needs GiB available -- "${tiny[@]}" --num-layers 32768 \
        --hidden-size 1048576 --seq-length 1048576
    exit $failures
) || fail "refusals for want of memory"
# Under any limit of addresses a job trains, or says what lacks, soon.  The
# loader cannot start the program below some limit.
if ! sanitized; then
    said=
    for kib in 140000 180000 $(seq 200000 100000 4000000); do
        (unset OPENBLAS_NUM_THREADS # as a user has it
         ulimit -v "$kib"; job 1 "${tiny[@]}" --train-iters 1 --workers 2 \
            --global-batch-size 2 --eval-iters 0; exit $rc)
        rc=$?
        ! grep -q 'too little for the buffers of OpenBLAS for 2 workers' err \
            || said=yes
        [ $rc -ne 0 ] || break
        # OpenBLAS starts its threads while it is loaded, and ends the process
        # where one cannot start.
        [ $rc -eq 6 ] || [ $rc -eq 127 ] \
            || grep -q '^OpenBLAS blas_thread_init: ' err \
            || fail "ulimit -v $kib: $rc: $(cat err)"
        advised=$(sed -n '/^With fewer layers/{n;s/^  mtlm-dag //p}' err)
        [ -n "$advised" ] || continue
        # shellcheck disable=SC2086 # several words
        (unset OPENBLAS_NUM_THREADS
         ulimit -v "$kib"; job 1 $advised; exit $rc) \
            || fail "ulimit -v $kib: the advice does not fit: $(cat err)"
    done
    [ $rc -eq 0 ] || fail "ulimit -v $kib: $(cat err)"
    [ -n "$said" ] || fail "no limit is too small for OpenBLAS"
fi
refuse 6 2 needs GiB 'on this machine' available -- "${tiny[@]}" \
    --num-layers 1000 --hidden-size 16384 --pipeline-model-parallel-size 2

# Data.
for _ in $(seq 300); do echo 'The quick brown fox jumps.'; done >text
"${builddir:-.}/mtlm-preprocess" --input text --output-prefix good \
    --tokenizer-type byte >out || fail "mtlm-preprocess"
good=good_text_document
for name in nobin noidx shortbin shortidx; do
    cp $good.bin $name.bin
    cp $good.idx $name.idx
done
rm nobin.bin noidx.idx
truncate -s -1 shortbin.bin
truncate -s -1 shortidx.idx
real=("${tiny[@]}" --seq-length 32 --eval-iters 0)
for n in 1 2; do
    layout 1 $n
    refuse 3 $n missing -- "${real[@]}" "${parallel[@]}" --data-path missing
    refuse 3 $n nobin.bin -- "${real[@]}" "${parallel[@]}" --data-path nobin
    refuse 3 $n noidx.idx -- "${real[@]}" "${parallel[@]}" --data-path noidx
    refuse 3 $n shortbin -- "${real[@]}" "${parallel[@]}" --data-path shortbin
    refuse 3 $n shortidx.idx -- "${real[@]}" "${parallel[@]}" \
        --data-path shortidx
    refuse 3 $n $good.bin '0 .. 99' 104 -- "${real[@]}" "${parallel[@]}" --data-path $good \
        --vocab-size 100
done

# Directories that cannot be made or written, even by root.
for option in --trace --dump-first-step; do
    refuse 4 1 'text: ' 'Not a directory' -- "${tiny[@]}" $option text
    refuse 4 1 nowhere/x 'No such file' -- "${tiny[@]}" $option nowhere/x
    layout 1 2
    refuse 4 2 /proc/x -- "${tiny[@]}" "${parallel[@]}" $option /proc/x
done
ln -s loop loop
refuse 4 1 'loop: cannot be read' -- "${tiny[@]}" --trace loop
rm loop
# What was made before the refusal is gone again, what was there stays.
mkdir empty
for trace in new empty; do
    refuse 4 1 nowhere/x -- "${tiny[@]}" --trace $trace \
        --dump-first-step nowhere/x
    STARPU_SCHED=unknown refuse 2 1 unknown -- "${tiny[@]}" --trace $trace
done

# What a killed job left while it found out whether it can write is in nobody's
# way, and goes.
for option in --trace --save --dump-first-step; do
    mkdir probed
    touch probed/.mtlm-dag.probe
    well 2 --model gpt-tiny --num-layers 2 --train-iters 1 --eval-iters 0 \
        --pipeline-model-parallel-size 2 $option probed
    [ ! -e probed/.mtlm-dag.probe ] || fail "$option: the probe stays"
    rm -r probed
done

# A trace is not mixed with another, nor with anything else.
mkdir used
touch used/schedule.csv
for n in 1 2; do
    layout 1 $n
    refuse 4 $n 'used: ' schedule.csv 'new directory' -- "${tiny[@]}" \
        "${parallel[@]}" --trace used
done
# Two jobs do not share a trace: the second is refused, the first is whole.
"$program" "${tiny[@]}" --train-iters 100000 --trace shared >first 2>&1 &
# What is traced ends with iteration 5.
within 60 grep -qE 'iteration +([6-9]|[0-9]{2,})/' first \
    || fail "no iterations: $(cat first)"
refuse 4 1 'shared: another job writes there: process' -- "${tiny[@]}" --trace shared
kill $! || fail "the first of two jobs ended: $(cat first)"
wait $!
rc=$?
[ $rc -eq 75 ] && [ -e shared/summary.json ] && [ ! -e shared/lock ] \
    || fail "the first of two jobs: $rc, leaves $(ls shared): $(cat first)"
rm first
# A NaN on 1, 2 and 4 ranks: the first layer is rank 0's.
for sizes in '1 1' '1 2' '2 2' '1 4'; do
    layout $sizes
    [ "$sizes" != '2 2' ] || parallel+=(--bf16)
    refuse 5 $ranks 'iteration 3:' 'rank 0:' attention_fwd 'layer 0,' \
        -- "${small[@]}" "${parallel[@]}" --train-iters 5 --inject-nan 3
    [ "$(losses out | wc -l)" -eq 2 ] \
        || fail "NaN on $ranks ranks: iterations before it: $(losses out)"
done
job 2 "${small[@]}" --train-iters 5 --inject-nan 3 --trace new
[ $rc -eq 5 ] && [ "$(grep -c 'no trace is written to new:' err)" -eq 1 ] \
    || fail "NaN with a trace: exit code $rc: $(cat err)"

finish
