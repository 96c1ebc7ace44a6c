#!/bin/bash
# Training goes on while a checkpoint is written, and what is written is what
# the iteration left, whatever the disk takes: longer than the deadline, longer
# than the interval, or longer than whoever sends a signal would like.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
layout 1 2
. "${srcdir:-.}/tests/mpi/processes.sh"
if ldd "$program" | grep -q 'lib[at]san'; then
    echo "a sanitizer wants to be the first library"
    exit 77
fi
disk=${program%/*}/tests/mpi/slow_disk.so
run=("${small[@]}" "${parallel[@]}")

# slow PATH OPEN FSYNC: how such a job starts (slow_disk.c).
fifo=$dir/fifo
mkfifo "$fifo"
slow() {
    # shellcheck disable=SC2206 # several words
    mpirun=($MPIRUN -q -n $ranks -x "LD_PRELOAD=$disk" -x "SLOW_PATH=$1"
        -x "SLOW_OPEN=$2" -x "SLOW_FSYNC=$3")
}

# release TEXT: lets the call that waits at the FIFO go on once TEXT is in out.
release() {
    within 60 grep -q -e "$1" out || fail "no $1: $(cat out err)"
    timeout $((60 * TIME_SCALE)) bash -c "echo >'$fifo'" || fail "nobody waits after $1"
}

# slowly TEXT OPTION...: runs it, with a release at TEXT, and it must end well.
slowly() {
    local text=$1
    shift
    : >out
    (release "$text"; exit "$failures") &
    timeout -k 5 $((60 * TIME_SCALE)) "${mpirun[@]}" "$program" "${run[@]}" "$@" >>out 2>err \
        </dev/null || fail "$*: exit code $?: $(cat err)"
    wait $! || fail "$text: no release"
}

# The number of the first line of out with TEXT; that of an iteration; that of
# a checkpoint.
line() {
    grep -n -m 1 -e "$1" out | cut -d: -f1
}

iteration() {
    line " iteration  *$1/"
}

saved() {
    line "checkpoint: iteration $1 saved"
}

# in_order NAME N LINE...: whether N lines come one after the other.
in_order() {
    local name=$1 n=$2 before=0
    shift 2
    [ $# -eq "$n" ] || fail "$name: $(cat out err)"
    for number; do
        [ "$number" -gt $before ] || fail "$name: $(cat out)"
        before=$number
    done
}

# stall N: milliseconds.
stall() {
    sed -n "s/.*checkpoint: iteration $1 saved.*; stall \([0-9.]*\) ms .*/\1/p" out
}

# Its file is opened when the next iteration is over, and on the disk long after
# the deadline: that the ranks wait for it at the end is no hang.
well 2 "${run[@]}" --train-iters 4 --weight-hash
whole=$(weight_hash out)
deadline 3
fsync_ms=$((3800 * TIME_SCALE / 3))
slow iter_0000002.tmp/rank-00001 "$fifo" $fsync_ms
slowly ' iteration  *3/' --train-iters 3 --save ck --save-interval 2 \
    "${deadline[@]}" --trace trace --trace-iterations 1:3
# shellcheck disable=SC2046 # several words
in_order 'slow disk' 4 $(iteration 2; iteration 3; saved 2; saved 3)
awk "BEGIN { exit !($(stall 2) >= 0.75 * $fsync_ms) }" \
    || fail "no stall: $(grep saved out)"
/usr/bin/python3 - <<'END' || fail 'the copies in the trace'
import csv, json
with open("ck/iter_0000002/manifest.json") as file:
    written = sum(len(f["tensors"]) for f in json.load(file)["files"])
with open("trace/schedule.csv") as file:
    nodes = {r["rank"] + "_" + r["job"]: r for r in csv.DictReader(file)}
with open("trace/deps.csv") as file:
    edges = [(e["job"], e["depends_on"]) for e in csv.DictReader(file)]
copies = {job for job, r in nodes.items()
          if r["op"] == "SAVE" and r["name"] == "save"
          and r["iteration"] == "2"}
assert len(copies) == written > 0, (len(copies), written)
held = {on for job, on in edges if on in copies
        and nodes[job]["name"] == "adam" and nodes[job]["iteration"] == "3"}
assert held == copies, copies - held
END
rm -rf ck/iter_0000003
well 2 "${run[@]}" --train-iters 4 --weight-hash --load ck
grep -q '^loaded: ck/iter_0000002' out || fail "loaded: $(cat out)"
[ -n "$whole" ] && [ "$(weight_hash out)" = "$whole" ] \
    || fail "weights $(weight_hash out), not $whole"

# The next one waits for its turn, and training with it.
slow iter_0000002.tmp/rank-00000 0 "$fifo"
slowly ' iteration  *4/' --train-iters 5 --save again --save-interval 2 --keep-last 2
# shellcheck disable=SC2046 # several words
in_order 'a second one' 5 $(iteration 2; iteration 4; saved 2; iteration 5
    saved 5)
[ "$(ls again | tr '\n' ' ')" = 'iter_0000004 iter_0000005 lock ' ] \
    || fail "a second one: $(ls again)"

# A signal meanwhile: what is under way is committed, and what came after.
slow rank-00001.safetensors.tmp 0 "$fifo"
start "${mpirun[@]}" "$program" "${run[@]}" --global-batch-size 32 \
    --train-iters 100000 --save s --save-interval 20
release ' iteration  *21/'
within 60 grep -q ' iteration  *41/' out || fail "no iterations: $(cat err)"
kill -TERM "${pids[1]}"
release 'iteration 20 saved'
release 'iteration 40 saved'
ended_within 30 SIGTERM
[ $rc -eq 75 ] || fail "SIGTERM: exit code $rc: $(cat err)"
last=$(losses out | wc -l)
# shellcheck disable=SC2046 # several words
in_order 'while training' 3 $(iteration 20; iteration 21; saved 20)
# shellcheck disable=SC2046 # several words
in_order SIGTERM 4 $(iteration 40; iteration 41; saved 40; saved "$last")
[ -f "$(printf 's/iter_%07d/manifest.json' "$last")" ] || fail "SIGTERM: $(ls s)"

# A disk that is lost is waited for as long as ten deadlines, no longer.
layout 1 1
slow rank-00000.safetensors.tmp 0 "$fifo"
deadline 2
start "${mpirun[@]}" "$program" "${small[@]}" --train-iters 2 --save lost \
    "${deadline[@]}"
ended_within 45 'a lost disk'
[ $rc -eq 7 ] || fail "a lost disk: exit code $rc: $(cat out err)"
awk '/waited [0-9.]* s for a call of the disk to return/ {
    sub(/.*waited /, ""); bad = $1 < 10 * least; found = 1 }
    END { exit !found || bad }' least="$(scaled 2)" err || fail "a lost disk: $(cat err)"
[ -z "$(ls lost | grep -v -e lock -e tmp)" ] || fail "a lost disk: $(ls lost)"

finish
