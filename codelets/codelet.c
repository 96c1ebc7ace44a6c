/* Makes the StarPU codelets from the table of operations.  No other .c file of
 * codelets/ uses StarPU. */

#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "codelets/codelet.h"
#include "codelets/value.h"
#include "runtime/base/clock.h"
#include "runtime/comm/activity.h"
#include "runtime/comm/policy_nodes.h"
#include "runtime/machine/data.h"
#include "runtime/machine/policy_guard.h"
#if HAVE_CUDA
#include "runtime/machine/cuda_device.h"
#endif

static struct starpu_perfmodel models[MTLM_OP_COUNT];
static struct starpu_codelet codelets[MTLM_OP_COUNT];
static struct mtlm_scratch scratch[STARPU_NMAXWORKERS];
static struct mtlm_scratch wide[STARPU_NMAXWORKERS];
/* Monotonic time at the zero of StarPU's clock, which counts from its start. */
static int64_t clock_zero_ns;

static int64_t starpu_ns(const struct timespec *t)
{
    return clock_zero_ns + (int64_t) t->tv_sec * 1000000000 + t->tv_nsec;
}

static void gather_operands(void *ptr[], void *buffers[],
                            const struct mtlm_call *call)
{
    void *operand[MTLM_MAX_POINTERS];
    const int n = mtlm_call_n_operands(call);

    for (int i = 0; i < n; i++)
        operand[i] = (void *) STARPU_VECTOR_GET_PTR(buffers[i]);
    mtlm_call_spread(call, operand, ptr);
}

/* Records StarPU's own times: the times of a GPU's task are known only now. */
static void record_task(const struct mtlm_task *task)
{
    const struct starpu_profiling_task_info *info =
        starpu_task_get_current()->profiling_info;
    struct mtlm_record r = task->record;

    if (!info)
        return; /* submitted before profiling was on */
    r.worker = info->workerid;
    r.ready_ns = starpu_ns(&info->push_start_time);
    /* clock_zero_ns is exact to about a microsecond. */
    if (r.submit_ns > r.ready_ns)
        r.submit_ns = r.ready_ns;
    r.start_ns = starpu_ns(&info->start_time);
    r.end_ns = starpu_ns(&info->end_time);
    mtlm_recorder_add(task->recorder, &r);
}

void mtlm_codelet_task_ended(void *arg)
{
    const struct mtlm_task *task = arg;

    mtlm_activity_task_end();
    if (task->recorder)
        record_task(task);
    if (task->ended)
        task->ended(task->part);
}

void mtlm_codelet_task_done(void *arg)
{
    struct mtlm_task *task = arg;

    mtlm_policy_nodes_ended(task->node);
    task->node = NULL;
}

static const struct mtlm_policy_node *node_of(const struct starpu_task *task)
{
    const struct starpu_codelet *cl = task->cl;
    const bool ours = cl >= codelets && cl < codelets + MTLM_OP_COUNT;

    return ours ? ((const struct mtlm_task *) task->cl_arg)->node : NULL;
}

/* Tells threads apart. */
static _Thread_local char here;

static bool about_task(const struct starpu_task *task,
                       struct mtlm_policy_node *about)
{
    const struct starpu_codelet *cl = task->cl;
    const struct mtlm_record *r;

    if (cl < codelets || cl >= codelets + MTLM_OP_COUNT)
        return false;
    r = &((const struct mtlm_task *) task->cl_arg)->record;
    *about = (struct mtlm_policy_node){.name = cl->name,
                                       .phase = r->phase,
                                       .iteration = r->iteration,
                                       .microbatch = r->microbatch,
                                       .stage = r->stage,
                                       .priority = r->priority};
    return true;
}

void mtlm_codelet_task_ready(void *arg)
{
    struct mtlm_task *task = arg;

    task->ready_ns = mtlm_now_ns();
    task->ready_by = &here;
}

/* A sleeping task begins at the planned end of its worker's last task, or when
 * it becomes ready, whichever is later; at most LATE_NS before now.  So late
 * wake-ups and the runtime's own work do not add up, as on a device whose host
 * runs ahead.  A task that its own worker made ready begins at the planned end.
 * A policy that watches nodes may let a worker wait on purpose, from the
 * worker's wake-up on.  That wait counts, unless it is shorter than
 * LATE_HELD_NS. */
enum { LATE_NS = 100000000, LATE_HELD_NS = 1000000 };

/* The planned end of the worker's last task, and when the worker woke up. */
static _Thread_local int64_t last_ns, woke_ns;

static int64_t begin_ns(const struct mtlm_task *task)
{
    const int64_t now = mtlm_now_ns();
    const bool follows = task->ready_by == &here || task->ready_ns < last_ns;
    const int64_t idle = now - (follows ? woke_ns : task->ready_ns);
    int64_t begin = follows ? last_ns : task->ready_ns;

    if (task->node && idle > LATE_HELD_NS)
        begin += idle;
    return begin <= now && now - begin < LATE_NS ? begin : now;
}

/* Sleeps until the task is to end, without using a processor. */
static void sleep_until_end(const struct mtlm_task *task)
{
    static _Thread_local bool exact;
    const int64_t until = begin_ns(task) + task->sleep_ns;
    const struct timespec t = {until / 1000000000, until % 1000000000};

    if (!exact) /* else the system wakes it 50 us late, to save power */
        exact = prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) == 0;
    while (until > mtlm_now_ns()
           && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL)
                  == EINTR)
        ;
    last_ns = until;
    woke_ns = mtlm_now_ns();
}

static void begin_task(const struct mtlm_task *task)
{
    mtlm_activity_task_begin();
    if (task->node)
        mtlm_policy_nodes_started(task->node);
}

static struct mtlm_context context_of(const struct mtlm_task *task, int worker)
{
    return (struct mtlm_context){.sample = task->sample,
                                 .share = task->share,
                                 .batch = task->batch,
                                 .first = task->first,
                                 .position = task->position,
                                 .rows = task->rows,
                                 .scratch = &scratch[worker]};
}

static void run_cpu(void *buffers[], void *arg)
{
    const struct mtlm_task *task = arg;
    const int worker = starpu_worker_get_id_check();
    struct mtlm_context context = context_of(task, worker);
    void *ptr[MTLM_MAX_POINTERS];

    context.wide = &wide[worker];
    begin_task(task);
    if (task->sleeps) {
        sleep_until_end(task);
        return;
    }
    gather_operands(ptr, buffers, task->call);
    mtlm_value_run_cpu(ptr, task->call, &context);
    last_ns = woke_ns = mtlm_now_ns();
    if (task->after)
        task->after(task, ptr);
}

#if HAVE_CUDA
/* Calls task->after on host copies of the operands, and writes them back:
 * `after` may change values.  Only nodes of microbatches have `after`; these
 * have one call. */
static void look_at_operands(const struct mtlm_task *task,
                             const struct mtlm_device *device,
                             void *const there[])
{
    const struct mtlm_op *op = mtlm_ops[task->call->kind];
    void *host[MTLM_MAX_OPERANDS];
    size_t bytes[MTLM_MAX_OPERANDS];

    for (int i = 0; i < op->n_operands; i++) {
        bytes[i] = mtlm_shape_elems(&task->call->shape[i])
                   * mtlm_dtype_bytes(mtlm_call_dtype(task->call, i));
        host[i] = mtlm_calloc(1, bytes[i] + 1);
        mtlm_cuda_device_read(device, host[i], there[i], bytes[i]);
    }
    task->after(task, host);
    for (int i = 0; i < op->n_operands; i++) {
        if (op->access[i] != MTLM_R)
            mtlm_cuda_device_write(device, there[i], host[i], bytes[i]);
        free(host[i]);
    }
}

static void run_cuda(void *buffers[], void *arg)
{
    const struct mtlm_task *task = arg;
    const int worker = starpu_worker_get_id_check();
    struct mtlm_context context = context_of(task, worker);
    void *ptr[MTLM_MAX_POINTERS];

    context.device = mtlm_cuda_device(worker);
    begin_task(task);
    gather_operands(ptr, buffers, task->call);
    mtlm_call_run_cuda(ptr, task->call, &context);
    if (task->after)
        look_at_operands(task, context.device, ptr);
}
#endif

/* Calls of one operation on the same shapes share a performance history;
 * attributes such as a dropout seed must not tell them apart. */
static uint32_t footprint(struct starpu_task *task)
{
    const struct mtlm_task *t = task->cl_arg;
    const struct mtlm_op *op = mtlm_ops[t->call->kind];
    uint32_t hash = t->call->value | (uint32_t) t->call->packed << 8;

    for (const struct mtlm_call *call = t->call; call; call = call->next)
        for (int i = 0; i < op->n_operands; i++) {
            const struct mtlm_shape *shape = &call->shape[i];

            hash = starpu_hash_crc32c_be_n(
                shape->dim, shape->rank * sizeof(shape->dim[0]), hash);
        }
    return hash;
}

/* Returns the modelled duration of a task of a synthetic run, for policies that
 * weigh durations.  A history would mix modelled and measured durations. */
static double modelled_us(struct starpu_task *task,
                          struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
    const struct mtlm_task *t = task->cl_arg;
    const double least = 1e-3; /* StarPU takes 0 for "not known" */

    (void) arch, (void) nimpl;
    return fmax(1e-3 * t->sleep_ns, least);
}

static void make_codelet(enum mtlm_op_kind kind, bool synthetic)
{
    const struct mtlm_op *op = mtlm_ops[kind];
    struct starpu_codelet *cl = &codelets[kind];

    starpu_codelet_init(cl);
    models[kind] = (struct starpu_perfmodel){.type = STARPU_HISTORY_BASED,
                                             .symbol = op->name,
                                             .footprint = footprint};
    if (synthetic)
        models[kind] =
            (struct starpu_perfmodel){.type = STARPU_PER_ARCH,
                                      .symbol = op->name,
                                      .arch_cost_function = modelled_us};
    cl->name = op->name;
    cl->model = &models[kind];
    /* A node may have further handles, which only order nodes. */
    cl->nbuffers = STARPU_VARIABLE_NBUFFERS;
    if (op->cpu)
        cl->cpu_funcs[0] = run_cpu;
    if (op->cpu_fetches) { /* the nodes of all other operands are 0 */
        cl->specific_nodes = 1;
        cl->nodes[0] = (int) mtlm_data_home();
    }
#if HAVE_CUDA
    if (op->cuda) {
        cl->cuda_funcs[0] = run_cuda;
        cl->cuda_flags[0] = STARPU_CUDA_ASYNC;
        /* Results must not depend on which kind of worker was free. */
        if (starpu_cuda_worker_get_count() > 0)
            cl->where = STARPU_CUDA;
    }
#endif
}

/* Keeps the fastest of many reads of both clocks: an interruption makes a read
 * slow and inexact. */
static int64_t find_clock_zero(void)
{
    int64_t zero = 0, least = INT64_MAX;

    for (int i = 0; i < 100; i++) {
        const int64_t before = mtlm_now_ns();
        const double starpu_us = starpu_timing_now();
        const int64_t took = mtlm_now_ns() - before;

        if (took >= least)
            continue;
        least = took;
        zero = before + took / 2 - llround(1000 * starpu_us);
    }
    return zero;
}

void mtlm_codelets_start(bool synthetic)
{
    clock_zero_ns = find_clock_zero();
    for (int kind = 0; kind < MTLM_OP_COUNT; kind++)
        make_codelet(kind, synthetic);
    mtlm_policy_nodes_find_task(node_of);
    mtlm_policy_guard_describe(about_task);
}

void mtlm_codelets_stop(void)
{
    for (int i = 0; i < STARPU_NMAXWORKERS; i++) {
        mtlm_scratch_free(&scratch[i]);
        mtlm_scratch_free(&wide[i]);
    }
}

struct starpu_codelet *mtlm_codelet(enum mtlm_op_kind kind)
{
    return &codelets[kind];
}
