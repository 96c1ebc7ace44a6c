#!/bin/bash
# --simulate-engine starpu: StarPU's policies and policies of users in virtual
# time.  Without mtlm-dag-sim one sentence says what to do.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

srcdir=$(cd "${srcdir:-.}" && pwd)
clusters=$srcdir/launch/clusters
job=(--simulate "$clusters/dgx-a100.ini" --fp16 --world-size 4 --model gpt2-124m
    --pipeline-model-parallel-size 4 --micro-batch-size 1
    --global-batch-size 8 --schedule zb-h1)

# simulate OPTION...: prints the table to out.
simulate() {
    timeout -k 5 $((120 * TIME_SCALE)) "$program" "${job[@]}" \
        --simulate-engine starpu "$@" >out 2>err </dev/null
    rc=$?
}

# refuse CODE WORDS...: the last simulation ended so, with one sentence.
refuse() {
    check_refusal "the simulation" "$@"
}

# A program without mtlm-dag-sim beside it.
mkdir alone
cp "$program" alone/
program=$PWD/alone/mtlm-dag simulate
[ "$rc" -eq 0 ] || refuse 2 'launch/setup --simgrid'
# The variable alone does not choose the engine.
STARPU_SCHED=eager "$program" "${job[@]}" >out 2>err || fail "$(cat err)"
grep -q 'prio stands for STARPU_SCHED=eager; --simulate-engine starpu' out \
    || fail "$(cat out)"

if [ ! -x "$builddir/mtlm-dag-sim" ]; then
    [ "$failures" -eq 0 ] || finish
    echo "no mtlm-dag-sim (launch/setup --simgrid): policies are not run"
    exit 77
fi
# SimGrid does not answer for it.
"$builddir/mtlm-dag-sim" --help >out 2>err && [ ! -s err ] \
    && [ "$(wc -l <out)" -eq 1 ] && grep -q 'is a part of mtlm-dag: ' out \
    || fail "--help: $(cat out err)"
"$builddir/mtlm-dag-sim" >out 2>err
rc=$?
refuse 2 'is a part of mtlm-dag: '
simulate
grep -q 'engine .*StarPU in virtual time, policy prio: [-+]0\.[01]. %' out \
    || fail "prio: $(cat out err)"
cp out first
simulate
cmp -s first out || fail "two runs differ"
grep -v '^engine\|^  policy' first >starpu
STARPU_SCHED=eager simulate --metrics metrics --trace trace
grep -q '"engine": *"starpu"' metrics || fail "metrics: $(cat metrics)"
[ -s trace/schedule.csv ] || fail "no trace"
grep -q '^engine .*policy eager: +[1-9]' out || fail "eager: $(cat out err)"
STARPU_SCHED=first simulate
refuse 2 'STARPU_SCHED=first is no scheduling policy'

# Without ties of equal times, eight stages take the evaluator's time.
for schedule in zb-h1 zb-v; do
    sed 's/^latency_us = .*/latency_us = 10/' "$clusters/uniform.ini" >ties.ini
    timeout -k 5 $((120 * TIME_SCALE)) "$program" --simulate ties.ini \
        --simulate-engine starpu --model gpt-tiny --num-layers 16 \
        --seq-length 32 --tensor-model-parallel-size 1 \
        --pipeline-model-parallel-size 8 --micro-batch-size 1 \
        --global-batch-size 16 --schedule $schedule --jitter 0.001 >out 2>err
    grep -q 'engine .*policy prio: [-+]0\.0. %' out \
        || fail "ties, $schedule: $(grep engine out) $(cat err)"
done

# Policies of users: compiled with the headers of either StarPU.
of() {
    sed -n "s/^$1 = //p" "$builddir/Makefile"
}
mkdir include
ln -s "$srcdir/runtime/include/mtlm" include/mtlm
cp "$srcdir"/runtime/policies/* .
cat >withhold.c <<'END_OF_C'
/* Withholds every W. */
#include <string.h>
#include <starpu.h>
#include <starpu_scheduler.h>
#include <mtlm/policy.h>

MTLM_POLICY_PLUGIN;
static struct starpu_task_list ready;

static void init(unsigned sched_ctx)
{
    (void) sched_ctx;
    starpu_task_list_init(&ready);
    mtlm_policy_watch(&(struct mtlm_policy_watch){.ready = NULL});
}
static int push(struct starpu_task *task)
{
    const struct mtlm_policy_node *node = mtlm_policy_node(task);
    if (!node || node->phase != MTLM_PHASE_WEIGHT)
        starpu_task_list_push_back(&ready, task);
    starpu_push_task_end(task);
    for (unsigned w = 0; w < starpu_worker_get_count(); w++)
        starpu_wake_worker_relax_light(w);
    return 0;
}
static struct starpu_task *pop(unsigned sched_ctx)
{
    struct starpu_task *task;
    (void) sched_ctx;
    for (task = starpu_task_list_begin(&ready); task;
         task = starpu_task_list_next(task))
        if (starpu_worker_can_execute_task_first_impl(
                starpu_worker_get_id_check(), task, NULL)) {
            starpu_task_list_erase(&ready, task);
            return task;
        }
    return NULL;
}
static struct starpu_sched_policy withhold = {.init_sched = init,
    .push_task = push, .pop_task = pop, .policy_name = "withhold",
    .worker_type = STARPU_WORKER_LIST};
struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name)
{
    return strcmp(name, "withhold") == 0 ? &withhold : NULL;
}
END_OF_C
make -s CC="$(of CC)" CPPFLAGS=-Iinclude \
    STARPU_CFLAGS="$(of STARPU_SIMGRID_CFLAGS)" >/dev/null || fail "make"
# shellcheck disable=SC2046 # several words
$(of CC) -shared -fPIC -Iinclude $(of STARPU_SIMGRID_CFLAGS) -o withhold.so \
    withhold.c || fail "withhold.c does not compile"
for policy in smallest home mtlm; do
    STARPU_SCHED_LIB=./policies.so STARPU_SCHED=$policy simulate
    grep -q "^engine .*policy $policy: " out || fail "$policy: $(cat out err)"
done
# Job, blocks, slots and planned order are those of closed forms.
# shellcheck disable=SC2046 # several words
$(of CC) -shared -fPIC -Iinclude $(of STARPU_SIMGRID_CFLAGS) -o facts.so \
    "$srcdir/tests/mpi/policy_facts.c" || fail "policy_facts.c does not compile"
export STARPU_SCHED_LIB=./facts.so
FACTS='1 4 1 1 8 1 1' STARPU_SCHED=facts simulate
grep -q '^engine .*policy facts: ' out || fail "facts: $(cat out err)"
# What a policy prints is seen; and that a library has no stamp.
[ "$(grep -c '^facts hold$' err)" -eq 1 ] || fail "facts says: $(cat err)"
sed '/^MTLM_POLICY_PLUGIN/d' "$srcdir/tests/mpi/policy_facts.c" >bare.c
# shellcheck disable=SC2046 # several words
$(of CC) -shared -fPIC -Iinclude $(of STARPU_SIMGRID_CFLAGS) -o bare.so bare.c \
    || fail "bare.c does not compile"
FACTS='1 4 1 1 8 1 1' STARPU_SCHED=facts STARPU_SCHED_LIB=./bare.so simulate
[ "$(grep -c 'bare.so does not say what it was built for\|^facts hold$' err)" -eq 2 ] \
    || fail "bare says: $(cat err)"
FACTS='2 2 1 1 8 1 1' STARPU_SCHED=facts simulate \
    --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2
grep -q '^engine .*policy facts: ' out || fail "facts: $(cat out err)"
# shellcheck disable=SC2046 # several words
$(of CC) -shared -fPIC -Iinclude $(of STARPU_SIMGRID_CFLAGS) -o mistakes.so \
    "$srcdir/tests/mpi/policy_mistakes.c" || fail "policy_mistakes.c"
for name in twice double; do
    STARPU_SCHED_LIB=./mistakes.so STARPU_SCHED=$name simulate
    refuse 2 "the scheduling policy $name has started " ' of microbatch ' ' twice'
done
for name in astray lost; do
    STARPU_SCHED_LIB=./mistakes.so STARPU_SCHED=$name simulate
    refuse 2 "the scheduling policy $name has given " ', which cannot run the task'
done
# The end waits for no call of mtlm_policy_ask_again().
sed -e 's/"withhold"/"far"/' -e 's/if (!node .*/(void) node;/' \
    -e 's/^    return NULL;/    mtlm_policy_ask_again(starpu_worker_get_id_check(), INT64_MAX);\
&/' withhold.c >far.c
# shellcheck disable=SC2046 # several words
$(of CC) -shared -fPIC -Iinclude $(of STARPU_SIMGRID_CFLAGS) -o far.so far.c \
    || fail "far.c does not compile"
STARPU_SCHED_LIB=./far.so STARPU_SCHED=far simulate
grep -q '^engine .*policy far: ' out || fail "far: $(cat out err)"
STARPU_SCHED_LIB=./withhold.so STARPU_SCHED=withhold simulate
refuse 7 'under policy withhold' 'tasks never run; ready are: ' ', W of microb'
# shellcheck disable=SC2046 # several words
$(of CC) -shared -fPIC -Iinclude $(of STARPU_CFLAGS) -o withhold.so withhold.c \
    || fail "withhold.c does not compile"
STARPU_SCHED_LIB=./withhold.so STARPU_SCHED=withhold simulate
refuse 2 'built for a StarPU that trains'
finish
