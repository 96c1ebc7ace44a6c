#!/bin/bash
# Weights and activations in 16 bit: pipeline stages, policies and workers do
# not change a bit of the weights, and the loss scale follows its rules on all
# ranks of a job.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

model=("${small[@]}" --weight-hash --train-iters 4)

# same VALUE WANT RANKS OPTION...: the weights are those of that hash.
same() {
    local value=$1 want=$2
    shift 2
    well "$@" "${model[@]}" --"$value"
    [ -n "$want" ] && [ "$(weight_hash out)" = "$want" ] \
        || fail "$value $*: hash $(weight_hash out), not $want"
}

for value in bf16 fp16; do
    well 1 "${model[@]}" --"$value" --workers 1
    one=$(weight_hash out)
    grep -q "^precision: $value weights and activations" out \
        || fail "$value: $(head -3 out)"
    same $value "$one" 2 --pipeline-model-parallel-size 2
    STARPU_NCPU=2 STARPU_SCHED=lws same $value "$one" 1 --workers 2
    [ "$value" = bf16 ] || break
    same $value "$one" 2 --pipeline-model-parallel-size 2 --schedule zb-v
    same $value "$one" 1 --recompute-granularity full
    # A tensor-parallel pair adds up in another order.
    layout 2 1
    well $ranks "${model[@]}" --bf16 "${parallel[@]}"
    pair=$(weight_hash out)
    layout 2 2
    same bf16 "$pair" $ranks "${parallel[@]}"
done
# Packed weights change no bit, under any layout; a processor without the
# instructions refuses them.
well 1 "${model[@]}" --bf16 --workers 1 --pack-weights no
plain=$(weight_hash out)
if grep -q '; CPUs multiply by ' out; then
    ! grep -q 'weights packed once' out || fail "packed: $(grep ^precision out)"
    for layout in "1 --workers 1" "1 --workers 2" \
        "2 --pipeline-model-parallel-size 2" \
        "2 --pipeline-model-parallel-size 2 --use-distributed-optimizer"; do
        # shellcheck disable=SC2086 # several words
        same bf16 "$plain" $layout --pack-weights yes
        grep -q '^precision: .*, with weights packed once per iteration$' out \
            || fail "$layout: not packed: $(grep ^precision out)"
    done
else
    echo "# packed weights: skipped, $(grep -o 'CPUs multiply.*' out)"
fi
# A processor that has other instructions, or none: other sums, nearly the same
# losses.
well 1 "${model[@]}" --bf16
line=$(grep '^precision:' out)
field 'lm loss' out >losses
case $line in
*'; CPUs multiply in fp32: '* | *'; CPUs multiply by '*) ;;
*) fail "nothing tells what multiplies: $line" ;;
esac
# What multiplies where the build has oneDNN: the best instructions that are
# there and allowed.
multiplies()
{
    case $1 in
    *' no oneDNN'*) ;;
    *"; CPUs multiply $2"*) ;;
    *) ! grep -qw "$3" /proc/cpuinfo || fail "$3, but: $1" ;;
    esac
}
multiplies "$line" 'by AMX' amx_bf16
for isa in AVX512_CORE_BF16 AVX2; do
    ONEDNN_MAX_CPU_ISA=$isa well 1 "${model[@]}" --bf16
    [ $isa = AVX2 ] \
        || multiplies "$(grep '^precision:' out)" 'by oneDNN' avx512_bf16
    paste losses <(field 'lm loss' out) | awk '
        { if (($1 - $2) ^ 2 > (1e-3 * $2) ^ 2) bad = 1 }
        END { exit bad || NR != 4 }' \
        || fail "$isa: $(paste losses <(field 'lm loss' out))"
done
grep -q '^precision: bf16 .*; CPUs multiply in fp32: ' out \
    || fail "the forbidden instructions: $(grep '^precision:' out)"
# Ranks on unequal processors all multiply in fp32.
want=$(weight_hash out)
timeout $((60 * TIME_SCALE)) $MPIRUN -q -n 1 "$program" "${model[@]}" --bf16 \
    --pipeline-model-parallel-size 2 : -n 1 env ONEDNN_MAX_CPU_ISA=AVX2 "$program" \
    "${model[@]}" --bf16 --pipeline-model-parallel-size 2 >out 2>err </dev/null
[ -n "$want" ] && [ "$(weight_hash out)" = "$want" ] \
    || fail "unequal processors: hash $(weight_hash out), not $want: $(cat err)"

well 1 "${model[@]}"
[ "$(weight_hash out)" != "$one" ] || fail "fp16 has the weights of fp32"

# Replicas that share masters and moments: the weights of those that do not,
# but for the order in which the norm is added up.
layout 1 1 2
well $ranks "${model[@]}" --bf16 --clip-grad 0
whole=$(weight_hash out)
same bf16 "$whole" $ranks --use-distributed-optimizer --clip-grad 0

# The scale begins too high and comes back every time that it has doubled too
# often.  $1 before, $2 after the iteration.
well 2 "${small[@]}" --pipeline-model-parallel-size 2 --train-iters 34 --fp16 \
    --initial-loss-scale 16777216 --loss-scale-window 3 --hysteresis 2 \
    --lr-decay-style linear
paste <(field 'loss scale' out) <(field 'number of skipped iterations' out) \
    <(field 'learning rate' out) >course
awk -v before=16777216 -v left=2 '
    function wrong(what) { print "iteration " NR ": " what ": " $0; bad = 1 }
    {
        after = before
        if ($2 == 1) {
            clean = 0
            overflows++
            if (--left <= 0)
                after = before / 2
            if (NR > 1 && $3 != rate)
                wrong("the learning rate moved")
        } else if (++clean == 3) {
            clean = 0
            left = 2
            after = 2 * before
            doubled++
        }
        if ($2 == 0 && NR > 1 && $3 == rate)
            wrong("the learning rate stands")
        if ($1 != after)
            wrong("the scale is not " after)
        before = $1
        rate = $3
        late += $2 == 1 && doubled
    }
    END { exit bad || NR != 34 || overflows < 4 || !doubled || !late }
' course || fail "the loss scale: $(cat course)"

# A dump of a resumed run has gradients without the scale of that iteration.
well 1 "${small[@]}" --fp16 --initial-loss-scale 1024 --loss-scale-window 1 \
    --train-iters 3 --exit-interval 2 --save saved
field 'loss scale' out | awk 'END { exit $1 <= 1024 }' \
    || fail "the loss scale stays: $(cat out)"
well 1 --load saved --train-iters 3 --dump-first-step dump
"${PYTHON:-python3}" - dump/rank-0.safetensors <<'END' || fail 'gradients of the dump'
import json, math, struct, sys

data = open(sys.argv[1], "rb").read()
(size,) = struct.unpack("<Q", data[:8])
norm = squares = 0
for name, entry in json.loads(data[8:8 + size]).items():
    begin, end = entry.get("data_offsets", (0, 0))
    values = data[8 + size + begin:8 + size + end]
    if name == "grad_norm":
        (norm,) = struct.unpack("<d", values)
    elif name.endswith(".grad"):
        squares += sum(x * x for (x,) in struct.iter_unpack("<f", values))
print("gradients:", math.sqrt(squares), "norm:", norm)
sys.exit(not abs(math.sqrt(squares) - norm) < 1e-3 * norm)
END
finish
