#!/bin/bash
# --fit: finds the efficiency that made the times, as perf/fit does, and refuses
# what is no fit.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

source=$(cd "${srcdir:-.}" && pwd)
cluster=$source/launch/clusters/dgx-a100.ini
small='--model gpt2-345m --fp16 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --micro-batch-size 4 --global-batch-size 8'
large='--model gpt-3.6b --fp16 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 1 --as 2021 --recompute-granularity full --micro-batch-size 1 --global-batch-size 2'

# fit CODE TEXT CLUSTER ROWS OPTION...: --fit ends so, and says TEXT.
fit() {
    printf '%s\n' "$4" >rows.csv
    job 1 --simulate "$3" --fit rows.csv "${@:5}"
    [ "$rc" -eq "$1" ] && grep -qF -e "$2" out err \
        || fail "exit code $rc, not $1; no \"$2\" in: $(cat out err)"
}

# seconds OPTIONS: of an iteration at an efficiency of 0.5.
sed 's/^efficiency = .*/efficiency = 0.5/' "$cluster" >half.ini
seconds() {
    rm -f lines
    # shellcheck disable=SC2086 # several words
    well 1 --simulate half.ini $1 --metrics lines
    sed -n 's/.*"iteration_s": *\([0-9.e-]*\).*/\1/p' lines
}
rows="# of two jobs
$(seconds "$small"),$small
$(seconds "$large"),\"$large\""
fit 0 'efficiency = 0.5   ; fitted: rows.csv' "$cluster" "$rows"
grep -Eq '^mean error of 2 iterations: [1-9][0-9.]* % with 0\.[0-9]*, 0\.0 % fitted$' out \
    || fail "errors: $(cat out)"
cp out mine
"$source/perf/fit" --build "$builddir" "$cluster" rows.csv >theirs 2>&1
cmp -s mine theirs || fail "$(cat mine) is not perf/fit's $(cat theirs)"

fit 3 'is a bound of the search, ' "$cluster" "100,$small"
fit 3 'efficiency of section [device] of ' "$source/launch/clusters/uniform.ini" \
    '1,--model gpt-tiny'
fit 3 'rows.csv:1: not of the form SECONDS,OPTIONS' "$cluster" "$small"
fit 3 'rows.csv:2: not of the form SECONDS,OPTIONS' "$cluster" "# a
-1,$small"
fit 3 'has no measured iterations' "$cluster" '# none'
fit 2 "rows.csv:1: unknown model 'gpt-none'" "$cluster" '1,--model gpt-none'
fit 3 'rows.csv:1: the row has no job for --simulate' "$cluster" '1,--list-models'
fit 3 'rows.csv:1: a row has the options of a job; leave out --metrics' "$cluster" \
    "1,$small --metrics m"
fit 3 'rows.csv:1: a row has the options of a job; leave out --simulate' "$cluster" \
    "1,$small --simulate none.ini"
fit 3 'rows.csv:1: a row has the options of a job; leave out --fit' "$cluster" \
    "1,--fit none.csv $small"
fit 2 '--fit takes the options of each job from its file; leave out --model' \
    "$cluster" "1,$small" --model gpt-tiny
job 1 --fit rows.csv
[ "$rc" -eq 2 ] && grep -q -e '--fit is for --simulate CLUSTER.ini' err \
    || fail "alone: exit code $rc, $(cat err)"
job 1 --simulate "$cluster" --fit none.csv
[ "$rc" -eq 3 ] && grep -q 'none.csv' err || fail "none: exit code $rc, $(cat err)"
finish
