/* Messages as tasks of StarPU (struct mtlm_engine_config.tasks).
 *
 * The task holds the message's data as operands, carries the operation's name,
 * and runs on a worker of its own (machine.h): there it hands the message to
 * the communication thread and returns at once, so that no message ever waits
 * for another one.  The policy is told of it by its hooks and
 * push_task_notify(); it does not decide on it: some of StarPU's policies keep
 * tasks of different workers in one queue and stop at the first one that a
 * worker cannot run (modular-eager, modular-random).  The task is
 * not over until the message is: StarPU counts on one more release
 * (starpu_task_end_dep_add), which this worker gives once the thread has said
 * so.  Not the thread itself: policies take the thread that ends a task for
 * one of their workers.
 *
 * While the message is under way the data is not acquired, as it is
 * otherwise: StarPU might evict it, or copy it to where it is wanted next.
 * With one memory, that of the host, there is nowhere to move it to. */

#include "config.h"

#include <stdlib.h>

#include "runtime/base/memory.h"
#include "runtime/comm/engine_private.h"
#include "runtime/comm/policy_nodes.h"
#include "runtime/machine/data.h"
#include "runtime/machine/machine.h"

/* Called when the task is ready, before policies hear of it. */
static void is_ready(void *request)
{
    mtlm_engine_has_data(request);
}

static void hand_over(void *buffers[], void *arg)
{
    (void) buffers;
    mtlm_machine_count_message(1);
    mtlm_engine_handed_over(arg);
}

static void end(void *buffers[], void *arg)
{
    (void) buffers;
    starpu_task_end_dep_release(arg);
    mtlm_machine_count_message(-1);
}

static struct starpu_codelet message_codelet = {
    .where = STARPU_CPU,
    .cpu_funcs = {hand_over},
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "message",
    .color = 0xee6677u,
};

static struct starpu_codelet end_codelet = {
    .where = STARPU_CPU,
    .cpu_funcs = {end},
    .name = "message_end",
    .color = 0xee6677u,
};

static void set_handles(struct starpu_task *task,
                        const struct mtlm_request *request)
{
    const int n = request->n_held;
    const struct mtlm_task_buffers to = mtlm_data_buffers(task, n);

    for (int i = 0; i < n; i++) {
        to.handle[i] = request->held[i];
        to.mode[i] = mtlm_message_mode(&request->message, i);
    }
}

void mtlm_message_task_submit(struct mtlm_request *request)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = &message_codelet;
    task->cl_arg = request;
    task->cl_arg_size = sizeof(*request);
    task->name = request->message.name;
    task->priority = request->message.priority;
    set_handles(task, request);
    task->execute_on_a_specific_worker = 1;
    task->workerid = mtlm_machine_message_worker();
    task->prologue_callback_func = is_ready;
    task->prologue_callback_arg = request;
    starpu_task_end_dep_add(task, 1);
    request->task = task;
    MTLM_CHECK_STARPU(starpu_task_submit(task));
}

void mtlm_message_task_end(struct mtlm_request *request)
{
    struct starpu_task *task = starpu_task_create();

    request->task->cl_arg = NULL; /* the request is about to go */
    task->cl = &end_codelet;
    task->cl_arg = request->task;
    task->cl_arg_size = sizeof(*request->task);
    task->execute_on_a_specific_worker = 1;
    task->workerid = mtlm_machine_message_worker();
    MTLM_CHECK_STARPU(starpu_task_submit(task));
}

const struct mtlm_policy_node *mtlm_message_task_node(
    const struct starpu_task *task)
{
    const struct mtlm_request *request = task->cl_arg;

    return task->cl == &message_codelet && request ? request->message.node
                                                   : NULL;
}
