/* A sender announces its message, and the receiver's policy "mtlm" holds a
 * worker for the message.  The message ends the wait, or time does. */

#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/comm/policy_nodes.h"
#include "runtime/machine/data.h"
#include "support.h"

enum { SENDER, RECEIVER };

static const int64_t ms = 1000000;

static double value, go;
static starpu_data_handle_t data_handle, go_handle;
static atomic_int started; /* tasks */

/* ---- tasks with nodes ---- */

struct job {
    struct mtlm_policy_node *node;
    struct mtlm_policy_times times;
    int place; /* in the order of starts, from 1 */
};

/* Adds a node.  Nodes 2, 102, 202, ... wait for the node before. */
static void add_node(struct job *job, enum mtlm_policy_kind kind,
                     enum mtlm_phase phase, int number, int priority,
                     int64_t modelled_ns)
{
    const struct mtlm_policy_node about = {.kind = kind,
                                           .phase = phase,
                                           .name = "test",
                                           .job = number,
                                           .microbatch = number / 100,
                                           .priority = priority};
    const int64_t before = number - 1;

    job->node = mtlm_policy_nodes_add(&about, &before, number % 100 == 2,
                                      &job->times, modelled_ns);
}

static void run_job(void *buffers[], void *arg)
{
    struct job *job = arg;

    (void) buffers;
    mtlm_policy_nodes_started(job->node);
    job->place = ++started;
}

static void end_job(void *arg)
{
    mtlm_policy_nodes_ended(((struct job *) arg)->node);
}

static struct starpu_codelet reads = {
    .cpu_funcs = {run_job}, .nbuffers = 1, .modes = {STARPU_R}};
static struct starpu_codelet alone = {.cpu_funcs = {run_job}};

static const struct mtlm_policy_node *node_of(const struct starpu_task *task)
{
    return task->cl == &reads || task->cl == &alone
               ? ((struct job *) task->cl_arg)->node
               : NULL;
}

static void submit(struct starpu_codelet *codelet, struct job *job,
                   starpu_data_handle_t handle)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = codelet;
    task->cl_arg = job;
    task->cl_arg_size = sizeof(*job);
    task->priority = job->node->priority;
    task->handles[0] = handle;
    task->epilogue_callback_func = end_job;
    task->epilogue_callback_arg = job;
    MTLM_CHECK_STARPU(starpu_task_submit(task));
}

static void post(enum mtlm_message_kind kind, starpu_data_handle_t handle,
                 int tag, struct mtlm_policy_node *node)
{
    mtlm_message_post(engine, &(struct mtlm_message){.kind = kind,
                                                     .handle = &handle,
                                                     .n_handles = 1,
                                                     .count = 1,
                                                     .dtype = MTLM_F64,
                                                     .peer = !rank,
                                                     .tag = tag,
                                                     .node = node});
}

/* ---- the two sides ---- */

/* first: the number before those of nodes, a multiple of 100; the tag of the
 * message, which is new: an announcement that comes before the last message of
 * its tag has ended is lost. */

/* A pass, modelled with lead_ns, that ends when the receiver says so, and its
 * message. */
static void send_pass(int first, int64_t lead_ns)
{
    struct job pass = {0}, send = {0};

    starpu_data_acquire(data_handle, STARPU_W);
    add_node(&pass, MTLM_POLICY_TASK, MTLM_PHASE_FORWARD, first + 1, 0,
             lead_ns);
    add_node(&send, MTLM_POLICY_SEND, MTLM_PHASE_FORWARD, first + 2, 0, 0);
    post(MTLM_SEND, data_handle, first, send.node);
    mtlm_policy_nodes_started(pass.node);
    post(MTLM_RECV, go_handle, first + 1, NULL);
    settle(go_handle);
    mtlm_policy_nodes_ended(pass.node);
    starpu_data_release(data_handle);
    mtlm_engine_wait(engine);
}

/* A task behind the message, and a ready one of lower priority that takes
 * ready_ns, in that phase.  late: the message is sent after the ready task
 * only.  Returns whether the task behind the message ran first. */
static bool receive_pass(int first, enum mtlm_phase phase, int64_t ready_ns,
                         bool late)
{
    struct job receive = {0}, behind = {0}, ready = {0};

    add_node(&receive, MTLM_POLICY_RECEIVE, MTLM_PHASE_FORWARD, first + 1, 0,
             0);
    add_node(&behind, MTLM_POLICY_TASK, MTLM_PHASE_FORWARD, first + 2, 2, ms);
    post(MTLM_RECV, data_handle, first, receive.node);
    submit(&reads, &behind, data_handle);
    while (mtlm_policy_end_ns(receive.node) < 0)
        usleep(1000);
    add_node(&ready, MTLM_POLICY_TASK, phase, first + 11, 1, ready_ns);
    submit(&alone, &ready, NULL);
    if (late)
        while (ready.place == 0)
            usleep(1000);
    else
        usleep(100000); /* without the announcement, the ready task starts */
    post(MTLM_SEND, go_handle, first + 1, NULL);
    MTLM_CHECK_STARPU(starpu_task_wait_for_all());
    mtlm_engine_wait(engine);
    return behind.place < ready.place;
}

/* The sender's models are right within the patience of the receiver's worker:
 * a quarter of the ready task. */
static void test_the_message_ends_the_wait(void)
{
    if (rank == SENDER)
        send_pass(100, 100 * ms);
    else
        expect(receive_pass(100, MTLM_PHASE_WEIGHT, 400000 * ms, false),
               "the worker did not wait for the announced message");
}

/* The message never comes before the worker takes the other task. */
static void test_time_ends_the_wait(void)
{
    if (rank == SENDER)
        send_pass(200, 10 * ms);
    else
        expect(!receive_pass(200, MTLM_PHASE_WEIGHT, 400 * ms, true),
               "the late message came first");
}

/* The patience of a worker beside a task of so many ms ends after the test: one
 * that waits in vain ends the test. */
enum { LONGER = 40000000 };

/* Without advice to wait, nobody waits. */
static void test_no_wait_without_advice(void)
{
    mtlm_policy_nodes_advise(&(struct mtlm_policy_advice){0});
    if (rank == SENDER)
        send_pass(300, 100 * ms);
    else
        expect(!receive_pass(300, MTLM_PHASE_WEIGHT, LONGER * ms, true),
               "the worker waited against the advice");
}

/* A worker leaves B for another task if the places in an order say so. */
static void test_only_orders_leave_backward(void)
{
    for (int leaves = 0; leaves <= 1; leaves++) {
        const int first = 400 + 100 * leaves;

        mtlm_policy_nodes_advise(&(struct mtlm_policy_advice){
            .share = .25, .leaves_backward = leaves});
        if (rank == SENDER)
            send_pass(first, 100 * ms);
        else
            expect(
                receive_pass(first, MTLM_PHASE_BACKWARD, LONGER * ms, !leaves)
                    == leaves,
                "leaves_backward is %d", leaves);
    }
}

int main(int argc, char **argv)
{
    setenv("STARPU_SCHED", "mtlm", 1);
    unsetenv("MTLM_HOLD");
    setup(&argc, &argv, 1, 1, 60);
    mtlm_policy_nodes_find_task(node_of);
    mtlm_policy_nodes_advise(&(struct mtlm_policy_advice){.share = .25});
    data_handle = mtlm_data_register(&value, 1, MTLM_F64, "data");
    go_handle = mtlm_data_register(&go, 1, MTLM_F64, "go");
    start_engine(MTLM_ORDER_BY_LEADER, 0, NULL);
    test_the_message_ends_the_wait();
    test_time_ends_the_wait();
    test_no_wait_without_advice();
    test_only_orders_leave_backward();
    stop_engine();
    starpu_data_unregister(data_handle);
    starpu_data_unregister(go_handle);
    return finish();
}
