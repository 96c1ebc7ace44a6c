#!/bin/bash
# Every row of hostile.tsv: a command, refused in one sentence with its exit
# status, soon, with nothing left behind.  make check takes every second row, and
# those whose status ends in "!"; HOSTILE=WORD runs the rows that hold WORD.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

PATH=$(cd "${builddir:-.}" && pwd):$PATH
tiny='--model gpt-tiny --train-iters 3'
tiny+=' --eval-iters 0 --seq-length 32'
one="--num-layers 1 --global-batch-size 1"
export tiny one PATH
# No core files.
ulimit -c 0

# The lines of advice behind a lack of memory, argp's pointer to --help, and
# notes about damaged checkpoints.
advice='^(mtlm-[a-z]+: checkpoint skipped: |$|Memory of each rank|their input gradients|stage  |[0-9]|the job is bound|It fits on|No number of|With Adam.s moments on a disk|With fewer layers|Try `|information\.$|  )'

# row STATUS WORDS COMMAND: runs COMMAND in a shell.  WORDS: parts of the
# sentence, separated by " ... ".
row() {
    local status=$1 words=$2 command=$3 left=$2 start=$SECONDS before after
    before=$(find . | sort)
    timeout -k 5 $((60 * TIME_SCALE)) bash -c "$command" \
        >"$dir/out" 2>"$dir/err" </dev/null
    rc=$?
    after=$(find . | sort)
    [ $rc -eq "$status" ] || fail "$command: status $rc, not $status: $(cat "$dir/err")"
    [ "$(grep -vcE "$advice" "$dir/err")" -eq 1 ] \
        || fail "$command: not one sentence: $(cat "$dir/err")"
    grep -qE '^(mtlm-[a-z]+|run): ' "$dir/err" || fail "$command: $(cat "$dir/err")"
    while [ -n "$left" ]; do
        grep -qF -e "${left%% ... *}" "$dir/err" \
            || fail "$command: no \"${left%% ... *}\" in: $(cat "$dir/err")"
        [ "$left" != "${left#* ... }" ] || break
        left=${left#* ... }
    done
    [ -n "$words" ] || fail "$command: the row expects no words"
    [ "$before" = "$after" ] \
        || fail "$command: left behind: $(comm -3 <(echo "$before") <(echo "$after"))"
    [ $((SECONDS - start)) -le $((15 * TIME_SCALE)) ] || fail "$command: took too long"
}

# Copies of saved/, each damaged in one way.
damage_checkpoints() {
    local name one
    for name in cut nomanifest badmanifest flipped noshard; do
        cp -r saved $name
    done
    for one in cut/*/*.safetensors; do truncate -s -100 "$one"; done
    for one in flipped/*/*.safetensors; do
        printf XX | dd of="$one" bs=1 seek=100000 conv=notrunc status=none
    done
    rm nomanifest/*/manifest.json noshard/*/*.safetensors
    for one in badmanifest/*/manifest.json; do echo '{' >"$one"; done
}

# Copies of traced/, likewise.
damage_traces() {
    local name
    for name in badtrace cuttrace nocsv; do
        cp -r traced $name
    done
    echo '{' >badtrace/summary.json
    truncate -s 100 cuttrace/summary.json
    rm nocsv/schedule.csv
}

# Orders of two ranks and two microbatches, each wrong in one way.
write_orders() {
    local last='1F0,1B0,1F1,1B1'
    printf '%s\n' 0F0,0F1,0B0,0B1 $last >order.csv
    printf '%s\n' 0F0,0F1,0B0,0B1 1F0,1B0,1F >cut-cell.csv
    printf '%s\n' 0F0,0F1,0B0,0B1 1F0,1B0,1F1 >cut-row.csv
    printf '%s\n' rank,stage,type 0,0,F >foreign.csv
    printf '%s\n' 0F0,0F1,0I0,0W0,0B1 1F0,1I0,1W0,1B0,1F1,1B1 >dialects.csv
    printf '%s\n' 0F0,0F1,0Q0,0B1 $last >unknown.csv
    printf '%s\n' 0F0,0F1,0B0,0F1,0B1 $last >double.csv
    printf '%s\n' 0F0,0F1,0B1 $last >missing.csv
    printf '%s\n' 0F0,1F1,0B0,0B1 1F0,1B0,0F1,1B1 >other-rank.csv
    printf '%s\n' 0F0,0B0,0F1,0B1 1F0,1F1,1B0,1B1 >stuck.csv
    printf '%s\n' 0F1,0F0,0B1,0B0 1F1,1B1,1F0,1B0 >late.csv
    printf '%s\n' 0.0,0F0,,0B0 0.1,,0F1,,0B1 >lanes.csv
    printf '%s\n' 0.0,0F0,0B0 0F1,0B1 >no-lane.csv
    printf '%s\n' 0F0,0F1,0B0,0B9999 $last >far.csv
    printf '0F0,\0\n' >zero.csv
    : >none.csv
}

# What the rows refer to.
prepare() {
    local name
    for _ in $(seq 300); do echo 'The quick brown fox jumps.'; done >text
    echo 'Few words.' >brief
    mtlm-preprocess --input text --output-prefix good >/dev/null || fail preprocess
    mtlm-preprocess --input brief --output-prefix brief >/dev/null || fail preprocess
    for name in nobin noidx shortbin shortidx badidx emptyidx; do
        cp good_text_document.bin $name.bin
        cp good_text_document.idx $name.idx
    done
    rm nobin.bin noidx.idx
    truncate -s -1 shortbin.bin
    truncate -s -1 shortidx.idx
    truncate -s 0 emptyidx.idx
    printf XXXX | dd of=badidx.idx conv=notrunc status=none
    # shellcheck disable=SC2086 # several words
    mtlm-dag $tiny --num-layers 1 --global-batch-size 1 --train-iters 1 \
        --save saved >/dev/null || fail "a checkpoint to load"
    mtlm-dag $tiny --num-layers 1 --global-batch-size 1 --train-iters 1 \
        --trace traced --metrics metrics >/dev/null || fail "a trace to read"
    damage_checkpoints
    damage_traces
    printf '{"text": "a"}\n{"text": \n' >broken.json
    printf '{"word": "a"}\n' >nokey.jsonl
    printf '{"text": "a b"}\n{"text": "a' >cut.jsonl
    printf 'caf\303\251\ncaf\351 \n' >latin1
    cat >words.json <<'END'
{"normalizer": {"type": "BertNormalizer"},
 "pre_tokenizer": {"type": "BertPreTokenizer"},
 "model": {"type": "WordPiece", "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2,
           "[SEP]": 3, "[MASK]": 4, "fox": 5}}}
END
    : >nodata
    mkdir -p used empty busy locked/lock
    touch used/schedule.csv busy/lock
    write_orders
    ln -s loop loop
}

# Root passes over permissions unless the right is taken.
unprivileged=
[ "$(id -u)" -ne 0 ] || unprivileged='setpriv --inh-caps=-all'
[ "$(id -u)" -ne 0 ] || unprivileged+=' --bounding-set=-dac_override,-dac_read_search'
$unprivileged true 2>/dev/null || unprivileged= # a right that is not there

# Directories of StarPU without write access: refused, unless StarPU measured
# this host there before and the policy keeps no durations.
readonly_homes() {
    local run="mtlm-dag $tiny $one --train-iters 1"
    local home='env -u STARPU_PERF_MODEL_DIR -u XDG_CACHE_HOME STARPU_HOME'
    local denied='Permission denied; STARPU_PERF_MODEL_DIR=DIR names another'
    mkdir -p fresh/.starpu/sampling/bus
    mkdir -p durations/.starpu/sampling/{bus,codelets/45}
    $home=measured $run >"$dir/out" 2>&1 || fail "StarPU measures: $(cat "$dir/out")"
    chmod a-w {fresh,measured}/.starpu/sampling/bus \
        durations/.starpu/sampling/codelets/45
    if $unprivileged touch measured/.starpu/sampling/bus/x 2>/dev/null; then
        echo '# this user writes everywhere: no rows about write access'
    else
        row 4 "in fresh/.starpu/sampling/bus: $denied" \
            "$unprivileged $home=fresh $run"
        row 4 "in measured/.starpu/sampling/bus: $denied" \
            "$unprivileged $home=measured STARPU_BUS_CALIBRATE=1 $run"
        row 4 "in durations/.starpu/sampling/codelets: $denied" \
            "$unprivileged $home=durations STARPU_SCHED=dmda $run"
        $unprivileged $home=measured $run >"$dir/out" 2>&1 \
            || fail "measured, without write access: $(cat "$dir/out")"
    fi
    chmod -R u+w fresh measured durations
}

# A directory without read access is not said to lack a checkpoint.
unreadable_input() {
    mkdir ../sealed
    chmod a-r ../sealed
    if $unprivileged ls ../sealed >/dev/null 2>&1; then
        echo '# this user reads everywhere: no row about read access'
    else
        row 4 '../sealed: Permission denied' \
            "$unprivileged mtlm-convert --input ../sealed --output x"
    fi
    chmod a+r ../sealed
}

mkdir work
cd work || exit 1
prepare
rows=0 ran=0
while IFS=$'\t' read -r status words command; do
    case $status in
    '' | '#'*) continue ;;
    esac
    rows=$((rows + 1))
    full_tier || [ -n "${HOSTILE:-}" ] || [ $((rows % 2)) -eq 1 ] \
        || [ "$status" != "${status%!}" ] || continue
    case $command in
    *"${HOSTILE:-}"*)
        row "${status%!}" "$words" "$command"
        ran=$((ran + 1))
        ;;
    esac
done <"${srcdir:-.}/tests/hostile.tsv"
# The reason is the one of mkdir, whichever that is here.
reason=$(LC_ALL=C mkdir /sys/x 2>&1)
row 4 "in /sys/x: ${reason##*: };" \
    "env -u STARPU_PERF_MODEL_DIR -u XDG_CACHE_HOME STARPU_HOME=/sys/x mtlm-dag $tiny"
readonly_homes
unreadable_input
[ $rows -ge 200 ] || fail "only $rows rows"
[ $ran -gt 0 ] || fail "no row holds ${HOSTILE:-}"
finish
