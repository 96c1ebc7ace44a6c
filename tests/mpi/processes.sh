# shellcheck shell=bash disable=SC2034,SC2154 # variables are the scripts'
# Jobs in the background, their processes and how they end; to be sourced
# after common.sh and layout().

program=$(readlink -f "$program")
job=
pids=()
clean_up() {
    kill -KILL "$job" "${pids[@]}" 2>/dev/null
}
trap 'clean_up; rm -rf "$dir"' EXIT

descendants() {
    local pid
    for pid in $(pgrep -P "$1"); do
        echo "$pid"
        descendants "$pid"
    done
}

# find_ranks: as many as layout() said; their numbers are in pids.
find_ranks() {
    local pid
    pids=()
    for pid in $(descendants "$job"); do
        [ "$(readlink "/proc/$pid/exe")" != "$program" ] || pids+=("$pid")
    done
    [ ${#pids[@]} -eq "$ranks" ]
}

# all_started: all ranks train.
all_started() {
    find_ranks && grep -q '^data:' out
}

# gone PID...: have ended; those that nobody has waited for count too.
gone() {
    local pid
    for pid in "$@"; do
        case $(ps -o state= -p "$pid") in
        '' | Z*) ;;
        *) return 1 ;;
        esac
    done
}

iterated() {
    [ "$(losses out | wc -l)" -ge 3 ]
}

# start COMMAND...: in the background, heeding signals as a terminal's
# foreground does.
start() {
    env --default-signal=INT,TERM,USR1 "$@" >out 2>err </dev/null &
    job=$!
    within 60 all_started || fail "$*: does not start: $(cat out err)"
}

# ended_within SECONDS NAME: the job and every rank; its exit code is in $rc.
# The time counts from this call and is multiplied by TIME_SCALE.
ended_within() {
    local start=$EPOCHREALTIME
    within 60 gone "$job" || fail "$2: does not end"
    kill -KILL "$job" 2>/dev/null
    wait "$job" 2>/dev/null
    rc=$?
    within 60 gone "${pids[@]}" || fail "$2: ranks are left running"
    took=$(awk "BEGIN { print $EPOCHREALTIME - $start }")
    awk "BEGIN { exit !($took <= $1 * $TIME_SCALE) }" || fail "$2: took $took s to end"
    echo "$2: ended after $took s with exit code $rc"
}
