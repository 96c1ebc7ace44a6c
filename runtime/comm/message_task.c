/* Messages as tasks of StarPU (struct mtlm_engine_config.tasks).
 *
 * The task has the message's data as operands and the operation's name.  The
 * task runs on the worker for messages (runtime/machine/machine.h), hands the
 * message to the communication thread and returns at once: no message waits for
 * another.
 *
 * The policy hears of the task through its hooks and push_task_notify(), but
 * does not place the task.  Some of StarPU's policies keep tasks of all workers
 * in one queue, and stop at the first task that a worker cannot run
 * (modular-eager, modular-random).
 *
 * The task ends with the message: StarPU waits for one more release
 * (starpu_task_end_dep_add).  The worker for messages gives the release when
 * the thread asks for it.  The thread cannot: policies take the thread that
 * ends a task for one of their workers.
 *
 * The data is not acquired while the message is in flight.  In general StarPU
 * could evict or copy the data.  With one memory, the host's, StarPU has
 * nowhere to move it. */

#include "config.h"

#include <stdlib.h>

#include "runtime/comm/engine_private.h"
#include "runtime/comm/message_task.h"
#include "runtime/comm/policy_nodes.h"
#include "runtime/machine/data.h"
#include "runtime/machine/machine.h"

/* The task is ready; called before policies hear of the task. */
static void is_ready(void *transfer)
{
    mtlm_engine_has_data(transfer);
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
                        const struct mtlm_transfer *transfer)
{
    const int n = transfer->n_held;
    const struct mtlm_task_buffers to = mtlm_data_buffers(task, n);

    for (int i = 0; i < n; i++) {
        to.handle[i] = transfer->held[i];
        to.mode[i] = mtlm_engine_message_mode(&transfer->message, i);
    }
}

void mtlm_message_task_submit(struct mtlm_transfer *transfer)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = &message_codelet;
    task->cl_arg = transfer;
    task->cl_arg_size = sizeof(*transfer);
    task->name = transfer->message.name;
    task->priority = transfer->message.priority;
    set_handles(task, transfer);
    task->execute_on_a_specific_worker = 1;
    task->workerid = mtlm_machine_message_worker();
    task->prologue_callback_func = is_ready;
    task->prologue_callback_arg = transfer;
    starpu_task_end_dep_add(task, 1);
    transfer->task = task;
    MTLM_CHECK_STARPU(starpu_task_submit(task));
}

void mtlm_message_task_end(struct mtlm_transfer *transfer)
{
    struct starpu_task *task = starpu_task_create();

    transfer->task->cl_arg = NULL; /* the transfer will be freed */
    task->cl = &end_codelet;
    task->cl_arg = transfer->task;
    task->cl_arg_size = sizeof(*transfer->task);
    task->execute_on_a_specific_worker = 1;
    task->workerid = mtlm_machine_message_worker();
    MTLM_CHECK_STARPU(starpu_task_submit(task));
}

const struct mtlm_policy_node *mtlm_message_task_node(
    const struct starpu_task *task)
{
    const struct mtlm_transfer *transfer = task->cl_arg;

    return task->cl == &message_codelet && transfer ? transfer->message.node
                                                    : NULL;
}
