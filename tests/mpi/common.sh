# shellcheck shell=bash disable=SC2034 # variables are the scripts'
# What the scripts of this folder share; to be sourced.  They work in a
# directory of their own, which goes away with them.

program=${builddir:-.}/mtlm-dag
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0
# Several ranks share the processors of one machine.
export STARPU_NCPU=1

# Multiplies each limit of time (tests/time_scale.sh).
export TIME_SCALE=${TIME_SCALE:-3}

# full_tier: whether make check-full runs the script, or a user does with
# TIER=full.  Else it is make check, for which each feature once is enough.
full_tier() {
    [ "${TIER:-quick}" = full ]
}

# A model small enough for a second, with everything random that there is.
small=(--model gpt-tiny --num-layers 4 --hidden-size 64 --seq-length 64
    --micro-batch-size 2 --global-batch-size 8 --attention-dropout 0.1
    --hidden-dropout 0.1 --lr 1e-3 --min-lr 0 --lr-decay-style constant
    --lr-warmup-fraction 0 --eval-iters 0 --log-interval 1
    --log-format megatron)

# Whether the program has a sanitizer: its memory and its address space are
# larger then.
sanitized() {
    ldd "$program" | grep -q 'lib[alt]*san'
}

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# Commands without a file or a function: they test nothing.  Bash calls this in
# a process of its own.
command_not_found_handle() {
    echo "FAILED: no command $1" | tee -a "$dir/no-command" >&2
    return 127
}

# A line of mpirun itself: a file descriptor that its libevent watches is closed
# already.  Such lines come at times when ranks leave.
mpirun_word='\[warn\] Epoll '

# Whether err has one sentence.
one_sentence() {
    [ "$(grep -vc "^$mpirun_word" err)" -eq 1 ]
}

finish() {
    if [ -e "$dir/no-command" ]; then
        failures=$((failures + 1))
        sort -u "$dir/no-command"
    fi
    [ "$failures" -eq 0 ] && echo "all as expected"
    exit $((failures > 0))
}

# layout T P [D]: the options for that layout, and $ranks.
layout() {
    ranks=$(($1 * $2 * ${3:-1}))
    parallel=(--tensor-model-parallel-size "$1"
        --pipeline-model-parallel-size "$2")
}

# job RANKS OPTION...: runs mtlm-dag, one rank without mpirun; its output goes
# to the files out and err, its exit code to $rc.
job() {
    local start=()
    # shellcheck disable=SC2206 # several words
    [ "$1" -eq 1 ] || start=($MPIRUN -q -n "$1")
    shift
    timeout -k 5 $((120 * TIME_SCALE)) "${start[@]}" "$program" "$@" >out 2>err </dev/null
    rc=$?
    sed -i "/^$mpirun_word/d" err
}

# well RANKS OPTION...: the same, and it must end well.
well() {
    job "$@"
    [ "$rc" -eq 0 ] || fail "$*: exit code $rc, $(cat err)"
}

# beside COMMAND...: COMMAND in a directory of its own below $dir while the script
# goes on, $at_once of them at a time; for what does not look at short times.
# What a command sets the script does not see, but for its files and failures.
at_once=2
besides=()
beside() {
    local here=$dir/beside.${#besides[@]}
    mkdir "$here"
    while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do
        wait -n
    done
    (
        trap clean_up EXIT
        cd "$here" || exit 1
        export TMPDIR=$here # tests/timed.sh says why
        failures=0
        "$@"
        echo "$failures" >failures
    ) >"$here/said" 2>&1 &
    besides+=("$here")
}
clean_up() { :; }

# together: waits for them all; what they said is said in their order.
together() {
    local here
    wait
    for here in "${besides[@]}"; do
        cat "$here/said"
        failures=$((failures + $(cat "$here/failures" 2>/dev/null || echo 1)))
        rm -r "$here"
    done
    besides=()
}

# has_words WHAT WORDS...: err has each of them; WHAT wrote it.
has_words() {
    local what=$1 word
    shift
    for word in "$@"; do
        grep -qF -e "$word" err || fail "$what: no \"$word\" in: $(cat err)"
    done
}

# check_refusal WHAT CODE WORDS...: WHAT, a job before, ended with this exit code
# and one sentence with these words.
check_refusal() {
    [ "$rc" -eq "$2" ] || fail "$1: exit code $rc, not $2: $(cat err)"
    one_sentence || fail "$1: not one sentence: $(cat err)"
    has_words "$1" "${@:3}"
}

# refused_job CODE WORDS OPTION...: one rank with these options is refused.
refused_job() {
    job 1 "${@:3}"
    check_refusal "${*:3}" "$1" "$2"
}

# The greatest relative difference of the numbers in two files.
difference() {
    paste "$1" "$2" | awk '
        { d = $1 / $2 - 1; d = d < 0 ? -d : d; worst = d > worst ? d : worst }
        NF != 2 { worst = 1 }
        END { printf "%.2g\n", NR ? worst : 1 }'
}

# field NAME FILE: that field of each iteration line.
field() {
    sed -n "s/.* iteration .*| $1: *\([^ ]*\) |.*/\1/p" "$2"
}

losses() {
    sed -n 's/.*lm loss: \([^ ]*\) .*/\1/p' "$@"
}

# like_one_rank BAR: whether the losses in out are those in $dir/losses1, up to that
# relative difference; the greatest goes to $worst.
like_one_rank() {
    losses out >losses
    worst=$(difference losses "$dir/losses1")
    awk "BEGIN { exit !($worst <= $1) }"
}

# Not only at the begin of a line: mpirun may put the output of one rank
# behind what another has not ended yet.
weight_hash() {
    sed -n 's/.*weight hash: \([0-9a-f]\{16\}\).*/\1/p' "$@"
}

# The policies that StarPU has, by name, in $policies.
find_policies() {
    STARPU_SCHED=unknown job 1 "${small[@]}"
    policies=$(sed -n 's/.*; StarPU has //p' err | tr -d ,)
    [ "$(wc -w <<<"$policies")" -ge 20 ] || fail "policies: $(cat err)"
}

# refuses_at_once: for scripts whose jobs are refused.  mpirun would wait a
# second before it kills the ranks that are left.
refuses_at_once() {
    export OMPI_MCA_odls_base_sigkill_timeout=0
}

# scaled SECONDS: a third of TIME_SCALE as long, which is at least 1.
scaled() {
    awk "BEGIN { print $1 * $TIME_SCALE / 3 }"
}

# deadline SECONDS: the option, in $deadline.  The start of a job counts, too.
deadline() {
    deadline=(--distributed-timeout-minutes
        "$(awk "BEGIN { print $(scaled "$1") / 60 }")")
}

# within SECONDS COMMAND...: waits until COMMAND succeeds, TIME_SCALE as long.
within() {
    local end=$((SECONDS + $1 * TIME_SCALE))
    shift
    until "$@" 2>/dev/null; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}
