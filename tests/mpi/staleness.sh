#!/bin/bash
# Two versions of the weights (--weight-staleness 1): the same weights under
# every layout and policy, the first gradients and the later ones, resuming,
# memory, and a steady state without a bubble.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
. "${srcdir:-.}/tests/mpi/synthetic_common.sh" || exit

stale=("${small[@]}" --train-iters 6 --weight-staleness 1 --weight-hash)

# The first two iterations both have the initial weights; the third has those
# of one step, which the synchronous second one has.
well 1 "${small[@]}" --train-iters 6
losses out >synchronous
well 1 "${stale[@]}" --eval-iters 2 --eval-interval 3
losses out | grep -v val >losses1
hash1=$(weight_hash out)
[ -n "$hash1" ] || fail "one rank: no hash: $(cat err)"
grep -q '^staleness: gradients at the weights of one step before' out \
    || fail "the start does not name it: $(cat out)"
cmp -s <(head -1 synchronous) <(head -1 losses1) || fail 'the first loss'
! cmp -s <(sed -n 2p synchronous) <(sed -n 2p losses1) || fail 'the second loss'

# One rank, stages, placements, schedules, policies: the same bits.
same() {
    local name=$1 ranks=$2
    shift 2
    well "$ranks" "${stale[@]}" "$@"
    [ "$(weight_hash out)" = "$hash1" ] \
        || fail "$name: hash $(weight_hash out), of one rank $hash1"
}
layout 1 2
for policy in prio mtlm; do
    export STARPU_SCHED=$policy
    same "P2, $policy" 2 "${parallel[@]}"
    layout 1 4
    same "P4, 1f1b, $policy" 4 "${parallel[@]}" --schedule 1f1b
    layout 1 2
done
unset STARPU_SCHED
same 'P2, zb-v' 2 "${parallel[@]}" --schedule zb-v
same 'P2, strict' 2 "${parallel[@]}" --schedule zb-h1 --schedule-mode strict
STARPU_NCPU=3 same 'three workers' 1 --workers 3
if full_tier; then
    same 'P2, interleaved' 2 "${parallel[@]}" --schedule interleaved
    same 'P2, gpipe' 2 "${parallel[@]}" --schedule gpipe
    same 'P2, recomputed' 2 "${parallel[@]}" --recompute-granularity full
    STARPU_SCHED=random same 'P2, random' 2 "${parallel[@]}"
fi

# Tensor-parallel ranks and replicas stay within rounding.
well 1 "${stale[@]}"
losses out >losses1
for sizes in '2 1' '1 1 2' '1 2 2'; do
    # shellcheck disable=SC2086 # several words
    layout $sizes
    well "$ranks" "${stale[@]}" "${parallel[@]}"
    like_one_rank 1e-5 || fail "$sizes: losses differ by $worst"
done

# The distributed optimizer steps shards of both versions: the same bits, as no
# norm is summed up by shards; also of a job that resumes, and of one with a
# second plan.
replicas=("${stale[@]}" --pipeline-model-parallel-size 2 --ddp-bucket-size 100000
    --clip-grad 0)
for precision in '' --bf16; do
    # shellcheck disable=SC2206 # no word or one
    cut=("${replicas[@]}" $precision --use-distributed-optimizer)
    # shellcheck disable=SC2086
    well 4 "${replicas[@]}" $precision
    whole=$(weight_hash out)
    losses out >whole.losses
    well 4 "${cut[@]}" --exit-interval 3 --save saved
    well 4 --load saved --train-iters 6 --log-interval 1 --log-format megatron \
        --weight-hash --pipeline-model-parallel-size 2 --use-distributed-optimizer
    [ -n "$whole" ] && [ "$(weight_hash out)" = "$whole" ] \
        || fail "resumed shards $precision: $(weight_hash out), not $whole"
    rm -r saved
    well 4 "${cut[@]}" --replan-after 2
    [ "$(weight_hash out)" = "$whole" ] && losses out | cmp -s - whole.losses \
        || fail "shards $precision: $(weight_hash out), not $whole"
done

# 16-bit weights: the masters are the newest version.
well 1 "${stale[@]}" --bf16
hash16=$(weight_hash out)
layout 1 2
well 2 "${stale[@]}" --bf16 "${parallel[@]}"
[ -n "$hash16" ] && [ "$(weight_hash out)" = "$hash16" ] \
    || fail "bf16: hash $(weight_hash out), of one rank $hash16"
well 1 "${stale[@]}" --fp16 --loss-scale 64

# A resumed job has the option and both versions: the bits of a run that nobody
# interrupted, in another layout, too.
resumed=(--load saved --train-iters 6 --log-interval 1 --log-format megatron
    --weight-hash)
# The dump of such a job has the version that its first iteration reads.
dumps_before() {
    "${PYTHON:-python3}" - saved/iter_0000003/rank-00000.safetensors \
        dump/rank-0.safetensors <<'END'
import json, struct, sys

def tensors(path):
    data = open(path, "rb").read()
    (size,) = struct.unpack("<Q", data[:8])
    return {name: data[8 + size + entry["data_offsets"][0]:
                       8 + size + entry["data_offsets"][1]]
            for name, entry in json.loads(data[8:8 + size]).items()
            if name != "__metadata__"}

saved, dump = map(tensors, sys.argv[1:])
before = {name[:-len(".before")]: values for name, values in saved.items()
          if name.endswith(".before")}
assert before, "one version"
other = [name for name in before if dump[name] != before[name]]
print("dumped from another version:", other)
sys.exit(any(other) or all(saved[name] == before[name] for name in before))
END
}
for precision in '' --bf16; do
    # shellcheck disable=SC2086 # no word or one
    well 1 "${stale[@]}" $precision
    whole=$(weight_hash out)
    # shellcheck disable=SC2086
    well 1 "${stale[@]}" $precision --exit-interval 3 --save saved
    well 1 "${resumed[@]}" --dump-first-step dump
    grep -q '^staleness: ' out || fail "resumed $precision: $(cat out err)"
    dumps_before || fail "resumed $precision: weights of the dump"
    [ -n "$whole" ] && [ "$(weight_hash out)" = "$whole" ] \
        || fail "resumed $precision: $(weight_hash out), not $whole"
    layout 1 2
    well 2 "${resumed[@]}" "${parallel[@]}"
    [ "$(weight_hash out)" = "$whole" ] \
        || fail "resumed by two $precision: $(weight_hash out), not $whole"
    rm -r saved dump
done

# From one version, both begin equal: the first loss is the synchronous one.
well 1 "${small[@]}" --train-iters 6 --exit-interval 3 --save saved
well 1 "${resumed[@]}"
losses out >one
well 1 "${resumed[@]}" --weight-staleness 1
losses out >two
cmp -s <(head -1 one) <(head -1 two) || fail "first losses: $(cat one two)"
! cmp -s one two || fail 'the option is without effect'

# A second plan keeps both versions.
layout 1 2
well 2 "${stale[@]}" "${parallel[@]}" --replan-after 2
[ "$(weight_hash out)" = "$hash1" ] \
    || fail "second plan: $(weight_hash out), of one rank $hash1"

# Memory: weights and gradients count twice, and the peak is as planned.
columns() {
    sed -n 's/^memory of rank 0: weights \([0-9.]*\), gradients \([0-9.]*\), moments \([0-9.]*\),.*/\1 \2 \3/p' "$1"
}
large=("${small[@]}" --hidden-size 512 --train-iters 2)
well 1 "${large[@]}"
columns out >one
well 1 "${large[@]}" --weight-staleness 1
columns out >two
paste one two | awk '
    function is(a, b) { return a - b < 0.11 && b - a < 0.11 }
    { bad = NF != 6 || !is($4, 2 * $1) || !is($5, 2 * $2) || !is($6, $3) }
    END { exit bad || NR != 1 }' || fail "memory: $(cat one two)"

# The steady state of four ranks, evaluated and synthetic.
pipeline=(--model gpt-tiny --num-layers 4 --hidden-size 64 --seq-length 64
    --micro-batch-size 1 --global-batch-size 8 --workers 1
    --pipeline-model-parallel-size 4)
for schedule in window 1f1b zb-h1; do
    well 1 "${pipeline[@]}" --schedule $schedule --weight-staleness 1 --dry-run
    bubble=$(tr '\n' ' ' <out | sed -n \
        's/.*steady state: .* ranks, *\([0-9.]*\) % of the busiest rank *windows.*/\1/p')
    [ -n "$bubble" ] && within_limit "$bubble" 1 \
        || fail "$schedule: bubble '$bubble' in the plan: $(cat out)"
done
# A run: on each rank, passes of the next iteration start before the step.
cluster uniform.ini 60
well 4 "${pipeline[@]}" --schedule 1f1b --weight-staleness 1 \
    --synthetic uniform.ini --train-iters 6 --trace-iterations 2:6 --trace trace
grep '^Predicted\|^Measured' out || fail "synthetic: $(cat out err)"
awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { key = $at["rank"] " " $at["iteration"]; start = $at["start_us"] + 0 }
    $at["name"] == "attention_fwd" && !(key in pass && pass[key] < start) {
        pass[key] = start
    }
    $at["name"] == "control" { step[key] = start }
    END {
        for (rank = 0; rank < 4; rank++)
            for (e = 2; e < 6; e++) {
                n += pass[rank " " e + 1] < step[rank " " e]
                bad += !(rank " " e + 1 in pass && rank " " e in step)
            }
        print n " of 16 iterations begin before the step of the one before"
        exit n != 16 || bad
    }' trace/schedule.csv || fail 'a flush'

finish
