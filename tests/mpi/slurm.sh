#!/bin/bash
# The job script of docs/cluster.md under Slurm, on a cluster of two nodes made here:
# told to stop before its time is over, it saves, goes back into the queue and
# goes on; cancelled or ended by an error it does not come back.  And what srun
# by itself makes of signals, of a lost rank and of a wrong --mpi.
#
# Takes minutes and needs root, munge and slurm-wlm: part of make check-full only.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
. "${srcdir:-.}/tests/mpi/slurm_cluster.sh"

missing=$(cluster_missing)
[ -z "$missing" ] || {
    # shellcheck disable=SC2086 # several words
    echo "no Slurm can be run here without" $missing
    exit 77
}
trap 'clean_up; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP
# Between two machines there is no shared memory; two nodes that are one would
# give its files the same names.
export OMPI_MCA_btl=self,tcp
cluster 2 16 || {
    fail "the cluster does not start: $(cat daemons)"
    finish
}

# The page's script, with a smaller model, layout and time.
mkdir bin
ln -s "$(readlink -f "$program")" bin/mtlm-dag
export PATH=$dir/bin:$PATH
sed -n '/^    #!\/bin\/bash/,/^$/s/^    //p' "$srcdir/docs/cluster.md" |
    sed -e 's/--nodes=4 --ntasks-per-node=4/--nodes=2 --ntasks-per-node=2/' \
        -e 's/USR1@120/USR1@30 --time=1/' \
        -e "s/--model gpt2-345m/${small[*]} --train-iters 100000/" \
        -e 's/--data-path [^ ]*//' \
        -e 's/parallel-size 4/parallel-size 2/' >script
for words in '#SBATCH .*--signal=USR1@30' --nodes=2 'srun --mpi=pmix' \
    '--train-iters 100000' 'scontrol requeue'; do
    grep -q -e "$words" script || fail "docs/cluster.md's script: no $words: $(cat script)"
done
[ $failures -eq 0 ] || finish

# iterations FILE: the numbers of those that it tells of.
iterations() {
    sed -n 's/.* iteration *\([0-9]*\)\/.*/\1/p' "$1"
}

trains() {
    [ "$(iterations "$1" | wc -l)" -gt "${2:-2}" ]
}

stops() {
    sed -n 's/^mtlm-dag: stopped by a signal after iteration \([0-9]*\) of .*/\1/p' \
        "$1"
}

# requeued TIMES: job $id is in the queue again, with the checkpoint of its
# last iteration in DIR.
requeued() {
    within 120 job_is PENDING "$id" && [ "$(job_field Restarts "$id")" = "$1" ] \
        || fail "not requeued: $(scontrol show job "$id"; tail said)"
    last=$(stops said | tail -n 1)
    [ "${last:-none}" = "$(iterations said | tail -n 1)" ] \
        || fail "stopped after \"$last\": $(tail said)"
    [ -s "$(printf 'DIR/iter_%07d/manifest.json' "${last:-0}")" ] \
        || fail "no checkpoint of iteration $last: $(ls DIR)"
}

# Without the two minutes that the queue waits; a node that has not yet
# forgotten the run before would refuse the next.
goes_on() {
    local before
    within 60 all_idle 2
    sleep 5
    before=$(iterations said | wc -l)
    scontrol update JobId="$id" StartTime=now
    within 60 trains said $((before + 2)) || {
        fail "does not go on: $(tail said daemons)"
        finish
    }
}

# The time comes to its end.
id=$(sbatch --parsable --output=said script)
within 50 trains said || {
    fail "does not train: $(cat said daemons)"
    finish
}
grep -q '4 ranks' said || fail "not all ranks: $(cat said)"
requeued 1
grep -qx 'srun: error: .*Exited with exit code 75' said || fail "$(tail said)"
echo "stopped after iteration $last, back in the queue"

# It goes on where it was, behind what it said; then the queue's own signal.
goes_on
grep -q "^loaded: DIR/iter_0*$last, all of it" said || fail "$(cat said)"
iterations said >numbers
seq "$(wc -l <numbers)" | cmp -s - numbers || fail "iterations: $(cat numbers)"
scancel --signal=USR1 "$id"
requeued 2

# Cancelled: saved too, and gone.
goes_on
scancel "$id"
within 60 job_is CANCELLED "$id" || fail "scancel: $(scontrol show job "$id")"
within 60 all_idle 2 || fail "scancel: nodes are busy: $(sinfo)"
last=$(stops said | tail -n 1)
[ -s "$(printf 'DIR/iter_%07d/manifest.json' "${last:-0}")" ] \
    || fail "scancel: \"$last\" is not saved: $(tail said)"

# An error is the job's own.
sed 's/--train-iters 100000/--train-iters 0/' script >wrong
id=$(sbatch --parsable --output=wrong_said wrong)
within 60 job_is FAILED "$id" \
    && [ "$(job_field ExitCode "$id")" = 2:0 ] \
    || fail "a wrong option: $(scontrol show job "$id"; cat wrong_said)"

# srun at a terminal; Ctrl-C reaches the ranks with -X only.
alone=(srun -X --mpi=pmix -n 2 mtlm-dag "${small[@]}" --train-iters 100000
    --pipeline-model-parallel-size 2)
start_alone() {
    env --default-signal=INT,USR1 "${alone[@]}" >out 2>err </dev/null &
    job=$!
    within 60 trains out || fail "srun: does not train: $(cat out err)"
}
ended() {
    within 60 eval '! kill -0 $job' || fail "$2: does not end"
    kill -KILL "$job" 2>/dev/null
    wait "$job" 2>/dev/null
    rc=$?
    echo "$2: exit code $rc"
    [ "$rc" -eq "$1" ] || fail "$2: exit code $rc: $(cat err)"
}
for signal in INT USR1; do
    start_alone
    kill -$signal "$job"
    ended 75 "SIG$signal to srun"
    [ "$(stops err)" = "$(iterations out | tail -n 1)" ] \
        || fail "SIG$signal to srun: $(cat err)"
done

# One rank is lost: srun ends the others.
start_alone
for pid in $(pgrep -x mtlm-dag); do
    # Not one of another test beside.
    grep -qz "^SLURM_CONF=$dir/" "/proc/$pid/environ" \
        && kill -KILL "$pid" && break
done
ended 137 "a rank killed"

# Without the right --mpi no rank trains (Open MPI says why; an MPI that does
# not: bad_input.sh).
timeout $((60 * TIME_SCALE)) srun --mpi=none -n 2 mtlm-dag "${small[@]}" >out 2>err
rc=$?
[ "$rc" -ne 0 ] && [ "$rc" -ne 124 ] || fail "--mpi=none: exit code $rc"
grep -q iteration out && fail "--mpi=none: trains: $(cat out)"

finish
