#!/bin/bash
# launch/run: the program's status comes through, and SIGTERM reaches the
# ranks as SIGUSR1 while mpirun leaves them the time to save.
set -eu

# Open MPI as a user has it.
unset OMPI_MCA_pml OMPI_MCA_btl

run=$srcdir/launch/run
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export work TIME_SCALE=${TIME_SCALE:-3}

fail() {
    echo "$*" >&2
    exit 1
}

rc=0
"$run" -n 2 bash -c 'exit 3' || rc=$?
[ "$rc" -eq 3 ] || fail "exit status $rc, expected 3"
# A value of mpirun's options is no program.
rc=0
"$run" -n 2 --path "$PATH" -npernode 2 bash -c 'exit 3' || rc=$?
[ "$rc" -eq 3 ] || fail "exit status $rc behind --path, expected 3"
mkdir "$work/there"
printf '#!/bin/bash\nexit 5\n' >"$work/there/five"
chmod +x "$work/there/five"
rc=0
"$run" -n 1 --wdir "$work/there" ./five || rc=$?
[ "$rc" -eq 5 ] || fail "exit status $rc of a program in --wdir, expected 5"
rc=0
"$run" -n 2 "$work/nothing" 2>"$work/err" || rc=$?
[ "$rc" -eq 2 ] || fail "exit status $rc without a program, expected 2"
grep -q "no program '$work/nothing'" "$work/err" || fail "$(cat "$work/err")"

# Saving takes longer than mpirun would wait after a signal of its own.
cat >"$work/program" <<'END'
#!/bin/bash
trap 'sleep 3; touch "$work/saved$OMPI_COMM_WORLD_RANK"; sleep 1; exit 75' USR1
touch "$work/ready$OMPI_COMM_WORLD_RANK"
for i in $(seq $((600 * TIME_SCALE))); do sleep 0.1; done
END
chmod +x "$work/program"
"$run" -n 2 "$work/program" &
job=$!
for i in $(seq $((300 * TIME_SCALE))); do
    [ ! -e "$work/ready0" ] || [ ! -e "$work/ready1" ] || break
    sleep 0.1
done
[ -e "$work/ready0" ] && [ -e "$work/ready1" ] || fail "the ranks do not start"
kill -TERM "$job"
rc=0
wait "$job" || rc=$?
[ "$rc" -eq 75 ] || fail "exit status $rc after SIGTERM, expected 75"
[ -e "$work/saved0" ] && [ -e "$work/saved1" ] || fail "a rank did not save"

# Before the ranks listen to the signal nothing is worth the wait.
cat >"$work/program" <<'END'
#!/bin/bash
touch "$work/early"
exec sleep $((60 * TIME_SCALE))
END
"$run" -n 1 "$work/program" 2>"$work/err" &
job=$!
for i in $(seq $((300 * TIME_SCALE))); do
    [ ! -e "$work/early" ] || break
    sleep 0.1
done
kill -TERM "$job"
rc=0
wait "$job" || rc=$?
[ "$rc" -eq 138 ] || fail "exit status $rc of an early SIGTERM, expected 138"
grep -q '^run: stopped before the program was ready$' "$work/err" \
    || fail "$(cat "$work/err")"

# Open MPI's own errors come through, or a sentence that says more.
# refused WORDS OPTION...
refused() {
    local words=$1
    shift
    rc=0
    "$run" "$@" 2>"$work/err" || rc=$?
    [ "$rc" -eq 2 ] || fail "$*: exit status $rc, expected 2"
    [ "$(cat "$work/err")" = "run: $words" ] || fail "$*: $(cat "$work/err")"
}
refused "there is no hostfile '$work/none'" --hostfile "$work/none" -n 2 true
[ "$("$run" -n 1 echo --hostfile "$work/none")" = "--hostfile $work/none" ] \
    || fail "the program's own --hostfile is refused"
refused "the hostfile '$work' is a directory" -machinefile "$work" -n 2 true
for ranks in 0 x -1 ''; do
    refused "the number of ranks is '$ranks', expected 1 or more" -n "$ranks" true
done
# A small machine allows fewer.
most=$(ulimit -Hu)
case $most in *[!0-9]*) most=30000 ;; esac
[ "$most" -le 30000 ] || most=30000
(ulimit -u "$most" && refused "$(echo $((most + 1)) ranks are more than the processes that \
    you may start "(ulimit -u: $most)")" -np $((most + 1)) true) || exit 1
bin=$work/bin
mkdir "$bin"
for name in bash cat env grep id mktemp setsid setpriv true; do
    ln -s "$(command -v $name)" "$bin"
done
(PATH=$bin && refused "there is no program 'mpirun' in PATH: launch/setup installs it" \
    -n 2 true)

# Variables of the libraries and of mtlm-dag reach ranks on other machines.
mkdir "$work/double"
printf '#!/bin/bash\necho "$@"\n' >"$work/double/mpirun"
chmod +x "$work/double/mpirun"
words=$(PATH=$work/double:$PATH STARPU_SCHED=lws MTLM_BLAS=onednn "$run" -n 2 true)
for name in STARPU_SCHED MTLM_BLAS; do
    [[ "$words " = *" -x $name "* ]] || fail "mpirun gets no $name: $words"
done
rc=0
"$run" -n 2 --map-by nonsense true 2>"$work/err" || rc=$?
[ "$rc" -eq 1 ] && grep -q 'Policy: nonsense' "$work/err" \
    || fail "exit status $rc of a wrong mapping: $(cat "$work/err")"
# A rank that ends with a status says enough.
rc=0
"$run" -n 2 bash -c 'echo words >&2; exit 3' 2>"$work/err" || rc=$?
[ "$rc" -eq 3 ] && [ "$(sort -u "$work/err")" = words ] \
    || fail "exit status $rc: $(cat "$work/err")"

# Output on a full disk.
rc=0
"$run" -n 2 echo words >/dev/full 2>"$work/err" || rc=$?
[ "$rc" -eq 4 ] || fail "exit status $rc on a full disk, expected 4"
grep -qx 'run: standard output cannot be written: No space left on device' \
    "$work/err" || fail "$(cat "$work/err")"
[ "$("$run" -n 2 echo words | sort -u)" = words ] || fail "the output is lost"

# The reader leaves: the ranks are asked to stop, and no program crashes.
cat >"$work/program" <<'END'
#!/bin/bash
trap 'exit 75' USR1
for i in $(seq $((600 * TIME_SCALE))); do
    echo "line $i"
    sleep 0.1
done
END
{
    rc=0
    "$run" -n 2 "$work/program" 2>"$work/err" || rc=$?
    echo "$rc" >"$work/rc"
} | head -1 >"$work/out"
[ "$(cat "$work/rc")" -eq 75 ] && grep -q '^line 1$' "$work/out" \
    || fail "no reader: exit status $(cat "$work/rc"): $(cat "$work/err")"
grep -q 'standard output cannot be written: Broken pipe' "$work/err" \
    || fail "no reader: $(cat "$work/err")"

# The reader leaves after the ranks have ended, with more to read than a pipe
# holds: nobody is asked to stop.
{
    rc=0
    "$run" -n 1 bash -c 'head -c 100000 /dev/zero; touch "$work/ended"' \
        2>"$work/err" || rc=$?
    echo "$rc" >"$work/rc"
} | {
    for i in $(seq $((300 * TIME_SCALE))); do
        [ ! -e "$work/ended" ] || break
        sleep 0.1
    done
    sleep "$TIME_SCALE" # mpirun ends meanwhile
}
[ "$(cat "$work/rc")" -eq 4 ] || fail "late: exit status $(cat "$work/rc")"
[ "$(cat "$work/err")" = 'run: standard output cannot be written: Broken pipe' ] \
    || fail "late: $(cat "$work/err")"
