#!/bin/bash
# State on a disk (--offload optimizer, all, auto): the bits of a job in memory
# in every layout and from checkpoints of either, a disk that is full or returns
# other bytes, jobs that are killed, and the plan.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
. "${srcdir:-.}/tests/mpi/processes.sh"

scratch=$dir/scratch
disk=(--offload optimizer --offload-dir "$scratch")
all=(--offload all --offload-dir "$scratch")
steps=8
if full_tier; then steps=20; fi
gpt=("${small[@]}" --train-iters $steps --weight-hash)
bert=(--model bert-tiny "${small[@]:2}" --train-iters $steps --weight-hash)

# The directory holds no name of a file, whatever ended the job.
nothing_left() {
    [ -z "$(ls -A "$scratch")" ] || fail "$1 left $(ls -A "$scratch")"
}

# on_disk NAME RANKS HASH SENTENCE OPTION...: a job with that hash.
on_disk() {
    local name=$1 ranks=$2 memory=$3 sentence=$4
    shift 4
    well "$ranks" "$@"
    grep -q "^offload: $sentence" out || fail "$name: not offloaded: $(cat out)"
    [ -n "$memory" ] && [ "$(weight_hash out)" = "$memory" ] \
        || fail "$name: hash $(weight_hash out), in memory $memory"
    nothing_left "$name"
}

everything='moments.*, gradients of .* and weights of .* of the .* buckets, inputs of'

# same NAME RANKS OPTION...: in memory, with moments on the disk, and with all
# state there.
same() {
    local name=$1 ranks=$2 memory
    shift 2
    well "$ranks" "$@"
    memory=$(weight_hash out)
    on_disk "$name" "$ranks" "$memory" moments "$@" "${disk[@]}"
    [[ $* = *staleness* ]] && return # --offload all refuses two versions
    on_disk "$name, all" "$ranks" "$memory" "$everything" "$@" "${all[@]}"
}

for model in gpt bert; do
    declare -n run=$model
    same "$model, P1" 1 "${run[@]}"
    [ $model = gpt ] || full_tier || continue
    layout 1 2
    same "$model, P2" 2 "${run[@]}" --num-layers 8 "${parallel[@]}"
    layout 2 1
    same "$model, T2" 2 "${run[@]}" --sequence-parallel "${parallel[@]}"
    layout 1 1
    same "$model, D2" 2 "${run[@]}" --use-distributed-optimizer "${parallel[@]}"
done

# Shards of gradients in dumps, of more buckets than slots.
cut=("${small[@]}" --train-iters 1 --use-distributed-optimizer
    --ddp-bucket-size 20000)
layout 1 1
well 2 "${cut[@]}" "${parallel[@]}" --dump-first-step memory.dump
well 2 "${cut[@]}" "${parallel[@]}" --dump-first-step disk.dump "${all[@]}"
for rank in 0 1; do
    cmp {memory,disk}.dump/rank-$rank.safetensors || fail "dumps of rank $rank"
done
rm -r memory.dump disk.dump

same 'bf16' 1 "${gpt[@]}" --bf16 --log-params-norm --train-iters 6
layout 1 2
same 'two versions' 2 "${gpt[@]}" --weight-staleness 1 --train-iters 6 \
    "${parallel[@]}"
if full_tier; then
    layout 1 1
    same 'D2' 2 "${gpt[@]}" "${parallel[@]}"
    same 'bf16, D2' 2 "${gpt[@]}" --bf16 --use-distributed-optimizer \
        "${parallel[@]}"
    layout 1 2
    same 'fp16' 1 "${gpt[@]}" --fp16
    same 'T2' 2 "${gpt[@]}" --tensor-model-parallel-size 2
    # A strict order leaves inputs in memory.
    everything='moments.*, gradients of .* and weights of .* of the' same 'strict' 2 \
        "${gpt[@]}" --schedule 1f1b --schedule-mode strict "${parallel[@]}"
    # Inputs are offloaded from stages of several layers.
    deep=("${gpt[@]}" --num-layers 8)
    same 'messages as tasks' 2 "${deep[@]}" --comm-node task "${parallel[@]}"
    STARPU_SCHED=random same 'random' 2 "${deep[@]}" "${parallel[@]}"
    STARPU_NCPU=3 same 'three workers' 1 "${gpt[@]}" --workers 3
    layout 2 2
    same 'planned collectives' 4 "${deep[@]}" --collective-order plan \
        "${parallel[@]}"
fi

# Norms of masters on the disk are those in memory.
norms() {
    field 'params norm' out
}
well 1 "${gpt[@]}" --bf16 --log-params-norm --train-iters 3
norms >memory
well 1 "${gpt[@]}" --bf16 --log-params-norm --train-iters 3 "${disk[@]}"
norms >from_disk
[ -s memory ] && cmp -s memory from_disk || fail "norms: $(cat memory from_disk)"

# Checkpoints of both kinds are the same files, and both kinds resume them.
for precision in '' --bf16; do
    # shellcheck disable=SC2206 # no word or one
    six=("${small[@]}" --train-iters 6 --weight-hash $precision)
    well 1 "${six[@]}"
    whole=$(weight_hash out)
    well 1 "${six[@]}" --exit-interval 3 --save memory.dir
    well 1 "${six[@]}" --exit-interval 3 --save disk.dir --save-interval 1 \
        "${disk[@]}"
    cmp {memory,disk}.dir/iter_0000003/rank-00000.safetensors \
        || fail "checkpoints differ $precision"
    resumed=(--train-iters 6 --weight-hash)
    well 1 --load memory.dir "${resumed[@]}" "${disk[@]}"
    [ "$(weight_hash out)" = "$whole" ] || fail "memory to disk $precision"
    well 1 --load disk.dir "${resumed[@]}"
    [ "$(weight_hash out)" = "$whole" ] || fail "disk to memory $precision"
    layout 1 2
    well 2 --load disk.dir "${resumed[@]}" "${disk[@]}" "${parallel[@]}"
    [ "$(weight_hash out)" = "$whole" ] || fail "disk to two $precision"
    rm -r memory.dir disk.dir
done

# Checkpoints of a job with everything on the disk, and validations there.
well 1 "${small[@]}" --train-iters 6 --weight-hash
whole=$(weight_hash out)
well 1 "${small[@]}" --train-iters 6 --eval-iters 3 --eval-interval 2
grep validation out >memory
well 1 "${small[@]}" --train-iters 6 --eval-iters 3 --eval-interval 2 \
    --exit-interval 3 --save all.dir "${all[@]}"
well 1 --load all.dir --train-iters 6 --weight-hash
[ "$(weight_hash out)" = "$whole" ] || fail "all to memory"
well 1 --load all.dir --train-iters 6 --eval-iters 3 --eval-interval 2 \
    --log-format megatron --weight-hash "${all[@]}"
[ "$(weight_hash out)" = "$whole" ] || fail "all to all"
grep validation out >from_disk
[ -s from_disk ] && [ "$(tail -n 1 from_disk)" = "$(tail -n 1 memory)" ] \
    || fail "validations: $(cat memory from_disk)"
rm -r all.dir

# auto: nothing goes to the disk that memory holds; less memory, more goes.  A
# process of any job takes 2 or 3 MiB that its plan leaves out.
wide=("${small[@]}" --hidden-size 256 --num-layers 12 --train-iters 2
    --weight-hash --offload-dir "$scratch")
well 1 "${wide[@]}"
! grep -q '^offload' out || fail "auto: offloaded without need: $(cat out)"
whole=$(weight_hash out)
gone=
for mb in 190 150 110 80; do
    well 1 "${wide[@]}" --offload-memory ${mb}e6
    [ "$(weight_hash out)" = "$whole" ] || fail "auto, $mb MB: other bits"
    gone+="$(sed -n 's/^offload: \(moments.*\) of rank 0 in.*/\1/p' out);"
    awk -v most=$mb '/^memory: peak/ { exit $3 * 1.048576 > 1.05 * most + 3 }' out \
        || fail "auto, $mb MB: $(grep '^memory: peak' out)"
done
[[ $gone = *'moments;moments'*'gradients'*'weights'* ]] || fail "auto: $gone"
job 1 "${wide[@]}" --offload-memory 2e6
[ "$rc" -eq 6 ] || fail "auto, 2 MB: $rc, $(cat out err)"

# Many samples: inputs of layers are offloaded before weights.
many=(--num-layers 8 --hidden-size 256 --seq-length 128 --global-batch-size 32
    --train-iters 2 --weight-hash)
for model in gpt-tiny bert-tiny; do
    [ $model = gpt-tiny ] || full_tier || continue
    run=("${small[@]}" --model "$model" "${many[@]}")
    well 1 "${run[@]}"
    on_disk "$model, many samples" 1 "$(weight_hash out)" 'moments.* inputs of' \
        "${run[@]}" --offload-memory 115e6 --offload-dir "$scratch"
    awk '/^memory: peak/ { exit $3 * 1.048576 > 1.05 * 115 }' out \
        || fail "$model, many samples: $(grep '^memory: peak' out)"
done

# A ramp-up skips what its missing microbatches would move.
ramp=("${small[@]}" --train-samples 48 --rampup-batch-size 4 4 24 --weight-hash)
well 1 "${ramp[@]}"
on_disk 'ramp-up' 1 "$(weight_hash out)" "$everything" "${ramp[@]}" "${all[@]}"

# Without moments nothing is offloaded.
seq 20000 >text
"${program%/*}/mtlm-preprocess" --input text --output-prefix text \
    --tokenizer-type byte >log 2>&1 || fail "text: $(cat log)"
well 1 "${small[@]}" --data-path text --train-iters 2 --save trained
evaluation=(--load trained --eval-only --eval-iters 2)
well 1 "${evaluation[@]}"
grep -E 'validation|^test at' out >memory
well 1 "${evaluation[@]}" "${disk[@]}"
! grep -q '^offload:' out || fail "eval-only: $(cat out)"
grep -E 'validation|^test at' out >from_disk
[ -s memory ] && cmp -s memory from_disk || fail "eval-only: $(cat from_disk)"
well 1 "${evaluation[@]}" "${all[@]}"
grep -q '^offload: weights of .* of the .* buckets' out || fail "eval-only, all: $(cat out)"
grep -E 'validation|^test at' out >from_disk
cmp -s memory from_disk || fail "eval-only, all: $(cat from_disk)"
well 1 --load trained --generate 12 --max-new-tokens 20
cp out memory
well 1 --load trained --generate 12 --max-new-tokens 20 "${all[@]}"
cmp -s memory out || fail "text: $(cat memory out)"

# A trace has the disk's rows in every file, and its nodes in the summary.
well 1 "${small[@]}" --train-iters 4 --trace trace --trace-iterations 2:4 \
    "${disk[@]}"
grep -q ',LOAD,.*,disk,' trace/schedule.csv || fail 'schedule.csv: no load'
grep -q ',STORE,.*,disk,' trace/schedule.csv || fail 'schedule.csv: no store'
grep -q 'disk load, store' trace/schedule.svg || fail 'schedule.svg: no disk'
grep -q '"name":"disk' trace/trace.json || fail 'trace.json: no disk'
grep -q 'disk' trace/paje.trace || fail 'paje.trace: no disk'
grep -q '"LOAD"' trace/summary.json || fail 'summary.json: no load'
"${program%/*}/mtlm-report" trace >report 2>&1 || fail "report: $(cat report)"
grep -q 'loads from the disk' report || fail "report: $(cat report)"

# The plan has the bytes of the run, and less memory than without.
moments() {
    sed -n 's/^memory of rank 0: .* moments \([0-9.]*\),.*/\1/p' "$1"
}
large=("${small[@]}" --hidden-size 256 --train-iters 2)
well 1 "${large[@]}"
memory=$(moments out)
well 1 "${large[@]}" "${disk[@]}"
on_disk=$(moments out)
grep -q '^offload: .* samples .*--global-batch-size' out \
    || fail "what helps: $(cat out)"
printf '%s %s\n' "$memory" "$on_disk" | awk '{ exit !($2 > 0 && $2 < $1) }' \
    || fail "moments: $on_disk MiB of $memory"
forecast='an iteration takes about [0-9.e+-]* s: matrix products .* of the GEMM floor'
grep -q "^offload: $forecast" out || fail "no forecast: $(grep ^offload out)"
moved=$(sed -n 's/.*iteration \([0-9.]*\) MiB read, \([0-9.]*\) MiB.*/\1 \2/p' out)
well 1 "${large[@]}" "${disk[@]}" --dry-run
planned=$(awk '/^Disk of a rank/ { n = NR } n && NR == n + 2 { print $3, $4 }' out)
[ -n "$moved" ] && [ "$moved" = "$planned" ] || fail "moved '$moved', planned '$planned'"
grep -q "GiB in $scratch, where" out || fail "the plan does not say where"
grep -q "^At the rates of this machine $forecast" out \
    || fail "the plan has no forecast: $(cat out)"
nothing_left 'a plan'

# Memory that passes for a disk is told, by plan and run.
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ]; then
    shm=/dev/shm/mtlm-offload.$$
    for plan in '' --dry-run; do
        well 1 "${small[@]}" --train-iters 2 --offload optimizer \
            --offload-dir $shm $plan
        grep -q "$shm is on tmpfs, which is memory" out \
            || fail "tmpfs $plan: $(cat out)"
    done
    rmdir $shm || fail "$shm: $(ls -A $shm)"
fi

# No room at the start: refused with both numbers, nothing left.
(
    ulimit -f 1000
    job 1 "${small[@]}" --train-iters 2 "${disk[@]}"
    [ "$rc" -eq 2 ] && grep -q 'no room for the [0-9.]* GiB' err
) || fail "no room: $(cat err)"
nothing_left 'no room'

if sanitized; then
    echo "a sanitizer wants to be the first library: no faults of the disk"
    finish
fi
bad=${program%/*}/tests/mpi/bad_disk.so

# failing RANKS MODE AT OPTION...: a job on a disk with that fault.
failing() {
    local ranks=$1 mode=$2 at=$3
    shift 3
    LD_PRELOAD=$bad BAD_DIR=$scratch BAD_MODE=$mode BAD_AT=$at \
        job "$ranks" "${small[@]}" --train-iters 6 --weight-hash "${disk[@]}" "$@"
}
while read -r mode sentence; do
    failing 1 "$mode" 20
    [ "$rc" -eq 4 ] && grep -q "$sentence" err || fail "$mode: $rc, $(cat err)"
    nothing_left "$mode"
done <<'END'
changed came back changed
broken cannot be read: Input/output error
short cannot be read: the file is cut short
END

# Full in the middle: the job saves what it has, and the training goes on
# elsewhere, bit for bit.
well 1 "${small[@]}" --train-iters 6 --weight-hash
whole=$(weight_hash out)
went_on() {
    [ "$rc" -eq 4 ] && grep -q "rank $1: .* cannot be written: No space left" err \
        && grep -q 'stopped by the disk of --offload after iteration' err \
        || fail "full: $rc, $(cat out err)"
    well 1 --load full --train-iters 6 --weight-hash
    [ "$(weight_hash out)" = "$whole" ] \
        || fail "after a full disk: $(cat out err)"
    rm -r full
}
failing 1 full 30 --save full
went_on 0
# The same bits where the system refuses io_uring.
LD_PRELOAD=$bad well 1 "${small[@]}" --train-iters 6 --weight-hash "${disk[@]}"
[ "$(weight_hash out)" = "$whole" ] && ! grep 'by io_uring' out \
    || fail "without io_uring: $(cat out err)"
# The disk of one rank ends the job of two.
layout 1 2
BAD_RANK=1 failing 2 full 20 --save full "${parallel[@]}"
! grep -q 'rank 0: .* cannot be written' err || fail "both disks: $(cat err)"
went_on 1

# Killed: nothing stays.  Two jobs in one directory do not meet.
layout 1 1
"$program" "${gpt[@]}" --train-iters 100000 "${disk[@]}" >killed 2>&1 </dev/null &
job=$!
within 60 grep -q 'iteration  *2/' killed || fail "the job to kill: $(cat killed)"
well 1 "${small[@]}" --train-iters 6 --weight-hash "${disk[@]}"
[ "$(weight_hash out)" = "$whole" ] || fail "beside another job: $(cat out err)"
kill -KILL "$job"
wait "$job" 2>/dev/null
nothing_left 'a killed job'

finish
