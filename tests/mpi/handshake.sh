#!/bin/bash
# Ranks that run different programs, with different settings or on different
# data, are told so before they train: one sentence with both values.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
refuses_at_once

program=$(readlink -f "$program")
run=(--model gpt-tiny --seq-length 32 --train-iters 2 --eval-iters 0)

# refuse CODE WORDS -- PROGRAM OPTION...: the last of $ranks ranks, which work
# in the directories one and other, is different.
refuse() {
    local code=$1 words=$2
    shift 3
    # shellcheck disable=SC2086 # several words
    timeout -k 5 $((60 * TIME_SCALE)) $MPIRUN -q -n $((ranks - 1)) -wdir "$dir/one" \
        "$program" "${common[@]}" : -n 1 -wdir "$dir/other" "$@" \
        >out 2>err </dev/null
    rc=$?
    check_refusal "$*" "$code"
    grep -q "^mtlm-dag: rank $((ranks - 1)) $words" err \
        || fail "$*: no \"$words\" in: $(cat err)"
    grep -q iteration out && fail "$*: trains: $(cat out)"
}

# Two texts of the same length, with one letter changed.
text() {
    for i in $(seq 200); do
        printf 'The quick brown fox jumps over document %d.\n' $((i + 1000))
    done
}
mkdir one other
text >one/text
text | sed '150s/fox/fix/' >other/text
for name in one other; do
    (cd $name && "${builddir:-.}/mtlm-preprocess" --input text \
        --output-prefix good --tokenizer-type byte >log) || fail preprocess
done
cp "$program" changed
echo >>changed

layout 2 2
common=("${run[@]}" "${parallel[@]}")
refuse 2 'was started with other settings than rank 0: seed = 7, not seed = 1234' \
    -- "$program" "${common[@]}" --seed 7
refuse 2 'was started .*: window = 2, not window = 1.5' \
    -- "$program" "${common[@]}" --window 2
# Neither rank's layout would fit.
refuse 2 'was started .*: pipeline-model-parallel-size = 3, not ' \
    -- "$program" "${common[@]}" --pipeline-model-parallel-size 3
refuse 2 'runs another program than rank 0: version .*program file' \
    -- "$dir/changed" "${common[@]}"
# What plans depend on, and what the environment may give some ranks only.
STARPU_SCHED=mtlm refuse 2 'was started .*: policy mtlm with MTLM_HOLD=0, not policy mtlm$' \
    -- env MTLM_HOLD=0 "$program" "${common[@]}"
STARPU_SCHED=mtlm MTLM_HOLD=0.1 refuse 2 'was started .*: policy mtlm with MTLM_HOLD=0.2, not policy mtlm with MTLM_HOLD=0.1$' \
    -- env MTLM_HOLD=0.2 "$program" "${common[@]}"
refuse 2 'was started .*: policy prio, not policy prio by default$' \
    -- env STARPU_SCHED=prio "$program" "${common[@]}"
# The same file name, other times.
for name in one other; do
    printf '[stage 0-1]\nforward_ms = 1\nbackward_ms = 1\nweight_ms = %d\n' \
        ${#name} >$name/times.ini
done
common+=(--stage-times times.ini)
refuse 2 'was started with other settings than rank 0: times of 2 stages with hash' \
    -- "$program" "${common[@]}"
# A directory that is only the same by name, with the lock of an earlier job.
mkdir -p other/save
echo 'process 1 on another' >other/save/lock
common=("${run[@]}" "${parallel[@]}" --save save)
refuse 4 'has another --save directory than rank 0: the lock there is of process 1 on another, not ' \
    -- "$program" "${common[@]}"
common=("${run[@]}" "${parallel[@]}" --data-path good_text_document)
refuse 3 'reads other data than rank 0: .* 9201 tokens, hash .*, not .*, hash ' \
    -- "$program" "${common[@]}"
cp one/good* other
# shellcheck disable=SC2086 # several words
timeout -k 5 $((60 * TIME_SCALE)) $MPIRUN -q -n 1 -wdir "$dir/one" "$program" "${common[@]}" \
    : -n $((ranks - 1)) -wdir "$dir/other" "$program" "${common[@]}" \
    >out 2>err || fail "the same data elsewhere: $(cat err)"
(cd other && "${builddir:-.}/mtlm-preprocess" --input text \
    --output-prefix good --tokenizer-type byte >log) || fail preprocess

finish
