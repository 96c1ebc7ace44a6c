# Shared by the scripts of launch/: messages, the cache directory, long
# steps with visible progress.  Sourced, never run.

# All scripts speak to a log that a mail can carry: no translations.
export LC_ALL=C
unset CDPATH # cd would print, and go elsewhere

say() {
    printf '%s\n' "$*"
}

warn() {
    printf '%s: warning: %s\n' "$PROGRAM" "$*" >&2
}

die() {
    printf '%s: %s\n' "$PROGRAM" "$*" >&2
    exit 1
}

# Where StarPU, the sample text and the logs live.
cache_dir() {
    if [ -n "${XDG_CACHE_HOME:-}" ]; then
        printf '%s\n' "$XDG_CACHE_HOME/mtlm-dag"
    elif [ -n "${HOME:-}" ]; then
        printf '%s\n' "$HOME/.cache/mtlm-dag"
    else
        die "neither XDG_CACHE_HOME nor HOME is set: there is no place" \
            "for the cache directory"
    fi
}

# The same for a text of help, which needs no such place.
cache_dir_shown() {
    (cache_dir) 2>/dev/null || printf '%s\n' "\$XDG_CACHE_HOME/mtlm-dag"
}

# Sets CACHE and makes the directory.
cache_open() {
    CACHE=$(cache_dir)
    case $CACHE in
    *[[:space:]]*) die "the cache directory '$CACHE' has a space in its" \
        "name, which StarPU's build does not support: set XDG_CACHE_HOME" ;;
    /*) ;;
    *) die "the cache directory '$CACHE' is no absolute path: set" \
        "XDG_CACHE_HOME to one" ;;
    esac
    mkdir -p "$CACHE/log" 2>/dev/null && [ -w "$CACHE/log" ] \
        || die "cannot write to the cache directory $CACHE:" \
            "set XDG_CACHE_HOME to a directory of yours"
}

# lock_take DESCRIPTOR WORDS: takes the lock of the file that is open there.  Where
# another process holds the lock, says WORDS and waits.  Fails on a file system
# without locks.
lock_take() {
    local rc=0
    flock -n "$1" || rc=$?
    if [ "$rc" -eq 1 ]; then
        say "  $2: waiting for it ..."
        rc=0
        flock "$1" || rc=$?
    fi
    return "$rc"
}

# cache_lock NAME WORDS: takes the lock of this name in the cache on descriptor 9,
# or ends the script: two that write there would harm all later set-ups.
cache_lock() {
    exec 9>"$CACHE/$1"
    lock_take 9 "$2" || die "$CACHE is on a file system without locks:" \
        "set XDG_CACHE_HOME to a local directory"
}

# result_lock DIR WORDS: takes the lock of what is open in DIR on descriptor 8, for
# the rest of the script.  Without locks a warning will do: the results are the
# caller's alone.
result_lock() {
    lock_take 8 "$2" || warn "$1 is on a file system without locks:" \
        "start no second launch/$PROGRAM there"
}

cache_unlock() {
    exec 9>&-
}

# Builds are bounded by the processors that this process may use.
jobs_default() {
    nproc 2>/dev/null || echo 2
}

# Ends the script unless JOBS, of the option --jobs, is a number that make takes.
jobs_check() {
    [[ $JOBS =~ ^[1-9][0-9]{0,3}$ ]] \
        || die "--jobs=$JOBS: a number from 1 to 9999 is needed"
}

# The place of the CUDA toolkit.
cuda_home() {
    printf '%s\n' "${CUDA_HOME:-/usr/local/cuda}"
}

# cuda_has LIBRARY: whether the toolkit has a file of this name.
cuda_has() {
    local home
    home=$(cuda_home)
    compgen -G "$home/lib*/$1" >/dev/null \
        || compgen -G "$home/lib/*-linux-gnu/$1" >/dev/null
}

# Prints the version of the toolkit as the library counts it: 13000 is 13.0.
cuda_version() {
    sed -n 's/^#define CUDART_VERSION *//p' \
        "$(cuda_home)/include/cuda_runtime_api.h" 2>/dev/null || true
}

# Whether this machine has a CUDA toolkit that we compile with, and the libraries
# that we link.
cuda_there() {
    local home version
    home=$(cuda_home)
    version=$(cuda_version)
    [ -x "$home/bin/nvcc" ] && [ -e "$home/include/cublasLt.h" ] \
        && [ "${version:-0}" -ge 13000 ] && cuda_has libcudart.so
}

# cuda_of_tree DIR: the place and the version of the toolkit that DIR was
# configured with, as configure wrote them; nothing without CUDA.
cuda_of_tree() {
    sed -n 's/^#define CUDA_TOOLKIT "\(.*\)"$/\1/p' "$1/config.h" 2>/dev/null \
        || true
}

# cuda_known DIR: whether DIR, if it has CUDA, was configured with the toolkit
# that is there now.
cuda_known() {
    local known
    known=$(cuda_of_tree "$1")
    [ -n "$known" ] && cuda_there || return 0
    [ "$(readlink -m "${known% *}") ${known##* }" \
        = "$(readlink -m "$(cuda_home)") $(cuda_version)" ]
}

# cuda_archs_known DIR: whether DIR, if it has CUDA, was configured for the GPU
# architectures that CUDA_ARCHS names, if it names any.  As above, a tree whose
# toolkit is gone stays as it is.
cuda_archs_known() {
    [ -z "${CUDA_ARCHS:-}" ] || [ -z "$(cuda_of_tree "$1")" ] || ! cuda_there \
        || grep -qsxF "#define CUDA_ARCHS \"$CUDA_ARCHS\"" "$1/config.h"
}

# step TEXT LOG COMMAND...: runs COMMAND with its output in LOG (appended),
# prints one line with the time it took, and a sign of life every 20 seconds.
# Ends the script, with the end of the log on the screen, when it fails.
# STEP_COUNT, when set, is a command whose output says how far it has come;
# with STEP_MAY_FAIL set the script goes on after a failure.
step() {
    local text=$1 log=$2 start=$SECONDS rc=0
    shift 2
    printf '  %s ...\n' "$text"
    # It must not hold the locks of the script (descriptors 8 and 9), nor have its
    # trap: one that is killed as soon as it starts would run the trap.
    trap - EXIT
    step_ticker "$text" "$start" 8>&- 9>&- &
    TICKER=$!
    at_end "$AT_END"
    printf '\n== %s: %s\n' "$text" "$*" >>"$log"
    "$@" >>"$log" 2>&1 </dev/null || rc=$?
    step_quiet
    if [ "$rc" -ne 0 ] && [ -n "${STEP_MAY_FAIL:-}" ]; then
        printf '  %s: failed, going on (see %s)\n' "$text" "$log"
        return 0
    fi
    if [ "$rc" -ne 0 ]; then
        printf '  %s failed after %d s; the end of %s:\n' \
            "$text" "$((SECONDS - start))" "$log" >&2
        tail -n 25 "$log" | sed 's/^/    | /' >&2
        die "${STEP_HINT:-$text failed (exit $rc), see $log}"
    fi
    printf '  %s: done in %d s\n' "$text" "$((SECONDS - start))"
}

step_ticker() {
    local text=$1 start=$2
    # Our standard output must not stay open for as long as it sleeps, nor
    # must it go on when the script was killed.
    while sleep 20 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
        printf '  %s: %d s%s\n' "$text" "$((SECONDS - start))" \
            "${STEP_COUNT:+, $($STEP_COUNT)}"
    done
}

step_quiet() {
    if [ -n "${TICKER:-}" ]; then
        kill "$TICKER" 2>/dev/null || true
        wait "$TICKER" 2>/dev/null || true
        TICKER=
    fi
}

# at_end COMMAND: what the script does last, behind step_quiet.
at_end() {
    AT_END=$1
    trap 'step_quiet; eval "$AT_END"' EXIT
}
at_end :

# Runs a command as root: directly, or through sudo.  apt needs to know of a proxy,
# and sudo drops the variables.
as_root() {
    local name
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
        return
    fi
    for name in http_proxy https_proxy no_proxy; do
        [ -z "${!name:-}" ] || set -- "$name=${!name}" "$@"
    done
    sudo -- env "$@"
}
