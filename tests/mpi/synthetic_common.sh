# shellcheck shell=bash disable=SC2034,SC2154 # variables are of several files
# What the scripts of synthetic runs share; to be sourced after common.sh.

# A model of any size does: durations are those of the description.
pretend=(--model gpt-tiny --hidden-size 64 --seq-length 64
    --micro-batch-size 1 --train-iters 3 --trace-iterations 2:3)

# cluster FILE MS [US]: stages whose F, B and W take MS each; messages of one
# host take US for each step (an all-reduce of two ranks has two).
cluster() {
    cat >"$1" <<END
[stage]
forward_ms = $2
backward_ms = $2
weight_ms = $2
[host]
latency_us = ${3:-0}
END
}

# slower: by how many % the run was slower than predicted; below 0: faster.
slower() {
    sed -n 's/.*Measured \([0-9.]*\) % slower than .*/\1/p
        s/.*Measured \([0-9.]*\) % faster than .*/-\1/p' out
}

within_limit() {
    awk -v x="$1" -v most="$2" 'BEGIN { exit !(x <= most && x >= -most) }'
}

# busy: seconds that all processors have worked so far.
busy() {
    awk '$1 == "cpu" { print ($2 + $3 + $4 + $7 + $8 + $9) / 100; exit }' \
        /proc/stat
}

# watched COMMAND...: runs it; $others is what other programs took meanwhile, in
# processors.
watched() {
    local before TIMEFORMAT='%R %U %S'
    before=$(busy)
    { time "$@"; } 2>timing
    others=$(awk -v before="$before" -v after="$(busy)" '
        END { print (after - before - $2 - $3) / $1 }' timing)
}

# is_quiet: whether other programs left the machine alone while the last run
# was watched.
is_quiet() {
    within_limit "$others" 0.2
}

verdicts=0 # runs that took what the evaluator says

# compare LIMIT RANKS OPTION...: the run takes what the evaluator says, within
# LIMIT %; $more says how much more.  A run beyond LIMIT is repeated twice, since
# any machine wakes a task late now and then.  Where other programs keep the
# machine busy there is no verdict, which is 1; $others is of the busiest run.
# The directory trace is for its trace.
compare() {
    local limit=$1 busiest=0
    shift
    for _ in 1 2 3; do
        rm -rf trace
        watched well "$@"
        [ "$rc" -eq 0 ] || return 1
        more=$(slower)
        [ -n "$more" ] || fail "$*: does not say how much slower: $(cat out)"
        if within_limit "$more" "$limit"; then
            verdicts=$((verdicts + 1))
            return 0
        fi
        within_limit "$others" "$busiest" || busiest=$others
    done
    others=$busiest
    if is_quiet; then
        fail "$*: $more % more than evaluated: $(cat out)"
    else
        echo "no verdict, $more % more than evaluated: other programs take" \
            "$others processors"
    fi
    return 1
}

# finish_compared: ends the script; where no run had a verdict, as skipped.
finish_compared() {
    if [ $((verdicts + failures)) -eq 0 ] && [ ! -e "$dir/no-command" ]; then
        echo "skipped: other programs kept the processors busy"
        exit 77
    fi
    finish
}

# live: microbatches between the start of F and the end of B, and of the last W,
# at most, of each stage: "w w ..." and "w w ...", from the trace.
live() {
    "${PYTHON:-python3}" - trace/schedule.csv <<'END'
import collections, csv, sys

first, last = {}, collections.defaultdict(dict)
for r in csv.DictReader(open(sys.argv[1])):
    if r["op"] not in "FBW" or int(r["layer"]) < 0:
        continue
    key = int(r["stage"]), int(r["iteration"]), int(r["microbatch"])
    if r["op"] == "F":
        first[key] = min(first.get(key, 1e18), float(r["start_us"]))
    else:
        last[r["op"]][key] = max(last[r["op"]].get(key, 0), float(r["end_us"]))
for end in last["B"], {k: max(t, last["B"][k]) for k, t in last["W"].items()}:
    most = collections.Counter()
    for stage in {k[0] for k in first}:
        moments = sorted([(t, 1) for k, t in first.items() if k[0] == stage] +
                         [(t, -1) for k, t in end.items() if k[0] == stage])
        n = 0
        for _, step in moments:
            n += step
            most[stage] = max(most[stage], n)
    print(*(most[s] for s in sorted(most)))
END
}

# fits FULL "w ..." "w ...": no more is live than that, and with FULL = 1 as much
# on the first stage.
fits() {
    live >live.txt
    paste -d' ' <(printf '%s\n' "$2" "$3") live.txt | awk -v full="$1" '
        { n = NF / 2; bad = bad || full && $1 != $(n + 1)
          for (i = 1; i <= n; i++) bad = bad || $(n + i) > $i }
        END { exit bad || NR != 2 }' \
        || fail "live on each stage until B; until W: $(tr "\n" ";" <live.txt)" \
            "windows $2; $3"
}

# schedule LIMIT P V M NAME WINDOWS(B) WINDOWS(W): that schedule on P ranks of V
# stages each takes what the evaluator says, and its windows hold.  Without a
# verdict a late B may leave a window that is not full.
schedule() {
    local limit=$1 p=$2 v=$3 m=$4 name=$5 full=1
    layout 1 "$p"
    compare "$limit" "$p" "${pretend[@]}" --synthetic uniform.ini \
        --num-layers $((p * v)) --global-batch-size "$m" "${parallel[@]}" \
        --num-virtual-stages-per-pipeline-rank "$v" --schedule "$name" \
        --trace trace || full=0
    [ "$rc" -eq 0 ] || return
    printf '%-11s p %d v %d m %d: %s, %s %%\n' "$name" "$p" "$v" "$m" "$(
        sed -n 's/^Predicted: \([.0-9]* ms\).*with \(.*\) per hop.*/predicted \1, hop \2/p' out)" "$more"
    fits "$full" "$6" "$7"
}
