#!/bin/bash
# Scheduling policies of users: libraries compiled against what is installed,
# and nothing else of this tree, that the program takes without being changed;
# the policy mtlm of perf/policies/ is one. The weights are the same bit for
# bit. A library that cannot be what was meant is refused in one sentence.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
refuses_at_once

# of NAME: a variable of the Makefile.
of() {
    sed -n "s/^$1 = //p" "$builddir/Makefile"
}

# compile NAME: a library of NAME.c.
compile() {
    # shellcheck disable=SC2046 # several words
    $(of CC) -shared -fPIC -I"$dir/usr/include" $(of STARPU_CFLAGS) "${@:2}" \
        -o "$1.so" "$1.c" || fail "$1.c does not compile"
}

# refuse WORDS...: the job with these variables is refused by one sentence that
# has these words.
refuse() {
    job 2 "${run[@]}" "${parallel[@]}"
    check_refusal "$*" 2 "$@"
}

make -s -C "$builddir" install-mtlmincludeHEADERS DESTDIR="$dir" \
    mtlmincludedir=/usr/include/mtlm >/dev/null || fail "make install"
run=("${small[@]}" --train-iters 2 --weight-hash)
layout 1 2
well 2 "${run[@]}" "${parallel[@]}"
want=$(weight_hash out)
[ -n "$want" ] || fail "no hash"

# The task that became ready last comes first.
cat >last.c <<'END'
#include <string.h>
#include <starpu.h>
#include <starpu_scheduler.h>
#include <mtlm/policy.h>

MTLM_POLICY_PLUGIN;
static starpu_pthread_mutex_t mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;
static struct starpu_task_list ready;

static void init(unsigned sched_ctx)
{
    (void) sched_ctx;
    starpu_task_list_init(&ready);
}
static int push(struct starpu_task *task)
{
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    starpu_task_list_push_front(&ready, task);
    starpu_push_task_end(task);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    return 0;
}
static struct starpu_task *pop(unsigned sched_ctx)
{
    struct starpu_task *task = NULL;
    (void) sched_ctx;
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    if (!starpu_task_list_empty(&ready))
        task = starpu_task_list_pop_front(&ready);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    return task;
}
static struct starpu_sched_policy last = {.init_sched = init,
    .push_task = push, .pop_task = pop, .policy_name = "last"};
struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name)
{
    return strcmp(name, "last") == 0 ? &last : NULL;
}
END
compile last -Wall -Wextra -Werror
export STARPU_SCHED=last STARPU_SCHED_LIB=./last.so
well 2 "${run[@]}" "${parallel[@]}" --trace trace --trace-iterations 1:2
[ "$(weight_hash out)" = "$want" ] || fail "last: other weights: $(cat err)"
[ -s err ] && fail "last: $(cat err)"
grep -q '^machine: .*, policy last of ./last.so,' out || fail "$(cat out)"
grep -q '"policy": *"last"' trace/summary.json || fail "summary.json"
grep -q 'policy last' trace/schedule.svg || fail "schedule.svg"

# Ranks may have different numbers of workers; each learns its own.
sed -e 's/"last"/"told"/' -e 's/^static struct starpu_sched_policy last = {/\
static void deinit(unsigned sched_ctx)\
{\
    (void) sched_ctx;\
    printf("told %d of %u\\n", mtlm_policy_job(0).workers,\
           starpu_cpu_worker_get_count());\
}\
&.deinit_sched = deinit, /' last.c >told.c
compile told -Wall -Wextra -Werror
# shellcheck disable=SC2086 # several words
STARPU_SCHED=told STARPU_SCHED_LIB=./told.so timeout -k 5 $((60 * TIME_SCALE)) \
    $MPIRUN -q -n 1 -x STARPU_NCPU=2 "$program" "${run[@]}" "${parallel[@]}" \
    : -n 1 -x STARPU_NCPU=1 "$program" "${run[@]}" "${parallel[@]}" \
    >out 2>err </dev/null || fail "told: exit code $?: $(cat err)"
[ "$(grep '^told ' out | sort | tr '\n' ' ')" = 'told 1 of 1 told 2 of 2 ' ] \
    || fail "told: $(cat out)"

# A policy that keeps a ready task ends the job, with the name of the task.
sed -e 's/"last"/"keep"/' -e 's/\(struct starpu_task \*task = NULL;\)/\1\
    static int n;\
    if (__atomic_add_fetch(\&n, 1, __ATOMIC_SEQ_CST) > 2000) return NULL;/' \
    -e 's/^\( *\)starpu_task_list_init/\1mtlm_policy_watch(\&(struct mtlm_policy_watch){0});\
&/' last.c >keep.c
compile keep
deadline 3
STARPU_SCHED=keep STARPU_SCHED_LIB=./keep.so job 2 "${run[@]}" "${parallel[@]}" \
    --train-iters 100000 "${deadline[@]}"
[ "$rc" -eq 7 ] || fail "keep: exit code $rc: $(cat err)"
grep -q 'policy keep has withheld [a-z_]*, [^,]*, stage [0-9]' err \
    || fail "keep: $(cat err)"

# Mistakes.
STARPU_SCHED=first refuse 'STARPU_SCHED=first is no' 'StarPU has' prio
STARPU_SCHED='' refuse ./last.so 'not which' STARPU_SCHED=
STARPU_SCHED_LIB=./none.so refuse ./none.so 'No such file'
STARPU_SCHED_LIB=last.so refuse last.so 'cannot be loaded' ./
STARPU_SCHED_LIB=./last.c refuse ./last.c 'cannot be loaded' 'ELF header'
echo 'int nothing;' >bare.c
compile bare
STARPU_SCHED_LIB=./bare.so refuse 'no library of scheduling policies' \
    starpu_get_sched_lib_policy
stamp='const struct mtlm_policy_stamp mtlm_policy_stamp'
sed "s/^MTLM_POLICY_PLUGIN/$stamp = {MTLM_POLICY_VERSION, 1, 3, 10}/" last.c \
    >old.c
compile old
STARPU_SCHED_LIB=./old.so refuse 'built for StarPU 1.3.10, this is 1.'
sed "s/^MTLM_POLICY_PLUGIN/$stamp = {1}/" last.c >other.c
compile other
STARPU_SCHED_LIB=./other.so refuse 'version 1 of mtlm/policy.h' 'with 2' \
    'other fields' 'another clock' 'compile the library again'
sizes='sizeof(struct starpu_sched_policy), sizeof(struct starpu_task)'
starpu='STARPU_MAJOR_VERSION, STARPU_MINOR_VERSION, STARPU_RELEASE_VERSION'
sed "s/^MTLM_POLICY_PLUGIN/$stamp = {MTLM_POLICY_VERSION, $starpu, $sizes, 1}/" \
    last.c >virtual.c
compile virtual
STARPU_SCHED_LIB=./virtual.so refuse 'built for StarPU with SimGrid'
sed '/^MTLM_POLICY_PLUGIN/d' last.c >bare.c
compile bare
STARPU_SCHED_LIB=./bare.so well 2 "${run[@]}" "${parallel[@]}"
[ "$(grep -c 'does not say what it was built for' err)" -eq 1 ] \
    || fail "bare: $(cat err)"
[ "$(weight_hash out)" = "$want" ] || fail "bare: other weights"
# With or without a stamp: what needs another StarPU was built for it.
mkdir other
echo 'int nothing;' >starpu.c
$(of CC) -shared -fPIC -Wl,-soname,libstarpu-1.3.so.8 starpu.c \
    -o other/libstarpu-1.3.so.8
for name in bare last; do
    cp $name.c foreign.c
    compile foreign -Wl,--no-as-needed other/libstarpu-1.3.so.8 \
        -Wl,-rpath,"$dir/other"
    STARPU_SCHED_LIB=./foreign.so refuse ./foreign.so \
        'built for another StarPU' other/libstarpu-1.3.so.8 libstarpu-1.4
done
rm -r other
STARPU_SCHED_LIB=./foreign.so refuse 'cannot be loaded' libstarpu-1.3.so.8
# One rank that the variable did not reach.
unset STARPU_SCHED STARPU_SCHED_LIB
# shellcheck disable=SC2086 # several words
timeout -k 5 $((60 * TIME_SCALE)) $MPIRUN -q -n 1 "$program" "${run[@]}" "${parallel[@]}" \
    : -n 1 env STARPU_SCHED=ws "$program" "${run[@]}" "${parallel[@]}" \
    >out 2>err </dev/null
rc=$?
[ $rc -eq 2 ] || fail "different policies: exit code $rc"
grep -q 'rank 1 was .*: policy ws, not policy prio' err || fail "$(cat err)"

# The policies of runtime/policies/, by their own Makefile.
cp "$srcdir"/runtime/policies/* .
make -s PREFIX="$dir/usr" CC="$(of CC)" STARPU_CFLAGS="$(of STARPU_CFLAGS)" \
    CFLAGS='-O2 -Wall -Wextra -Werror' >log 2>&1 || fail "Makefile: $(cat log)"
layout 2 2
well 4 "${run[@]}" "${parallel[@]}"
want=$(weight_hash out)
for policy in mtlm smallest home; do
    STARPU_SCHED=$policy STARPU_SCHED_LIB=./policies.so \
        well 4 "${run[@]}" "${parallel[@]}"
    grep -q "policy $policy of ./policies.so," out || fail "$(cat out)"
    [ "$(weight_hash out)" = "$want" ] || fail "$policy: other weights"
done
# Where nothing else says so, a stage runs where the policy wants it to, and
# what stands for messages is no worker for stages.
# at_home RANKS WORKERS OPTION...
at_home() {
    STARPU_SCHED=home STARPU_SCHED_LIB=./policies.so well "$1" "${run[@]}" \
        --pipeline-model-parallel-size 4 --placement policy --workers "$2" \
        "${@:3}" --trace placed
    awk -F, -v workers="$2" 'NR > 1 && $8 >= 0 && $9 ~ /^[FBW]$/ {
                 away += $2 != $6 % workers
                 stages += !seen[$6]++
             }
             END { exit stages != 4 || away > 0 }' \
        placed/schedule.csv || fail "home, $*: stages on other workers"
    rm -r placed
}
at_home 1 4
at_home 2 2 --tensor-model-parallel-size 2 --comm-node task
# What mtlm/policy.h tells is what StarPU and the messages do.
cp "$srcdir/tests/mpi/policy_seen.c" seen.c
compile seen -Wall -Wextra -Werror
for node in acquire task; do
    STARPU_SCHED=seen STARPU_SCHED_LIB=./seen.so \
        well 4 "${run[@]}" "${parallel[@]}" --workers 2 --comm-node $node
    [ "$(grep -c "^seen .* messages $node" out)" -eq 4 ] \
        || fail "seen, $node: $(cat out err)"
    [ "$(weight_hash out)" = "$want" ] || fail "seen, $node: other weights"
done

# Job, blocks, slots and the planned order are those of closed forms.
cp "$srcdir/tests/mpi/policy_facts.c" facts.c
compile facts -Wall -Wextra -Werror
# facts "T P D V M ITERATIONS PLANNED" OPTION...
facts() {
    FACTS=$1 STARPU_SCHED=facts STARPU_SCHED_LIB=./facts.so \
        well 2 "${run[@]}" --schedule zb-h1 "${@:2}"
    [ "$(grep -c '^facts hold$' out)" -eq 2 ] || fail "facts, $*: $(cat out err)"
}
facts '1 2 1 1 4 2 0' --pipeline-model-parallel-size 2
facts '2 1 1 1 4 2 1' --tensor-model-parallel-size 2 --collective-order plan

STARPU_SCHED=mtlm well 4 "${run[@]}" "${parallel[@]}"
grep -q 'policy mtlm,' out || fail "$(cat out)"
[ "$(weight_hash out)" = "$want" ] || fail "mtlm: other weights"

finish
