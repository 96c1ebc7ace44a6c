/* Submits an item of the program as a StarPU task, a message of the engine, or
 * a request to the disk. */

#include "config.h"

#include <stdlib.h>

#include "codelets/codelet.h"
#include "graph/build/stage.h"
#include "graph/run/check.h"
#include "graph/run/message.h"
#include "graph/run/record.h"
#include "graph/run/run_private.h"
#include "graph/run/watch.h"
#include "runtime/base/clock.h"
#include "runtime/disk/io.h"
#include "runtime/machine/color.h"
#include "runtime/machine/data.h"
#include "runtime/machine/machine.h"

/* Returns the number of an item's use of its tensors. */
static int64_t use_of(const struct mtlm_item *item,
                      const struct mtlm_list_submission *submission)
{
    return item->microbatch < 0 ? submission->last_use
                                : submission->first_use + item->microbatch;
}

static struct mtlm_submission node_submission(
    const struct mtlm_item *item, const struct mtlm_list_submission *submission)
{
    return (struct mtlm_submission){use_of(item, submission),
                                    submission->iteration, item->lane};
}

/* Returns a number by which messages of one sender differ. */
static int64_t number_of(const struct mtlm_item *item,
                         const struct mtlm_list_submission *submission)
{
    return item->microbatch < 0
               ? submission->last_use
               : submission->first_microbatch + item->microbatch;
}

/* Returns the number of microbatches of the iteration or validation. */
static int64_t microbatches_of(const struct mtlm_list_submission *submission)
{
    return submission->first + submission->microbatches;
}

static int priority_of(const struct mtlm_run *run, const struct mtlm_item *item,
                       const struct mtlm_list_submission *submission)
{
    return mtlm_priority_base(&run->priority, submission->iteration)
           + item->priority;
}

static struct mtlm_record record_of(
    struct mtlm_run *run, const struct mtlm_item *item,
    const struct mtlm_list_submission *submission)
{
    const struct mtlm_node *node = item->node;
    const bool p2p = mtlm_ops[node->call.kind]->op_class == MTLM_CLASS_P2P;
    struct mtlm_record record = {
        .rank = run->config.rank,
        .worker = -1,
        .lane = node->lane,
        .phase = mtlm_node_pass(node),
        .op = node->call.kind,
        .iteration = submission->iteration,
        .microbatch =
            (int32_t) mtlm_list_submission_microbatch(submission, item),
        .stage = node->stage,
        .layer = node->layer,
        .peer = p2p ? node->call.attr.p2p.peer : -1,
        .group = -1,
        .group_root = -1,
        .priority = priority_of(run, item, submission),
        .job = run->job++,
        .match = -1,
        .submit_ns = submission->record ? mtlm_now_ns() : 0,
        .flops = node->flops,
        .bytes = mtlm_node_bytes(node),
    };

    if (run->recorded)
        mtlm_run_record_node(run->recorded, item, use_of(item, submission),
                             &record);
    return record;
}

static void post_message(struct mtlm_run *run, const struct mtlm_item *item,
                         const struct mtlm_list_submission *submission)
{
    const struct mtlm_node *node = item->node;
    const struct mtlm_submission at = node_submission(item, submission);
    const struct mtlm_program_config *config = &run->program->config;
    const int tags =
        mtlm_stage_tags(config) * mtlm_layout_stages(&config->layout);
    starpu_data_handle_t *handles =
        mtlm_calloc(mtlm_node_n_uses(node), sizeof(*handles));
    struct starpu_data_descr *control =
        mtlm_calloc(mtlm_node_n_uses(node), sizeof(*control));
    struct mtlm_message message = {.name = mtlm_ops[node->call.kind]->name,
                                   .priority =
                                       priority_of(run, item, submission),
                                   .recorded = submission->record,
                                   .record = record_of(run, item, submission)};

    mtlm_run_message_of(&run->data, node, &at, handles, control, &message);
    message.tag += number_of(item, submission) % run->tag_microbatches * tags;
    if (run->config.synthetic)
        message.duration_ns = mtlm_synthetic_ns(run->config.synthetic, item,
                                                submission->iteration);
    message.node =
        mtlm_run_watch_node(run->watch, item, at.use, &message.record,
                            microbatches_of(submission), message.duration_ns);
    mtlm_message_post(run->config.engine, &message);
    free(handles);
    free(control);
}

/* Posts a load or a store. */
static void post_transfer(struct mtlm_run *run, const struct mtlm_item *item,
                          const struct mtlm_list_submission *submission)
{
    const struct mtlm_node *node = item->node;
    const struct mtlm_submission at = node_submission(item, submission);
    const struct mtlm_held held =
        mtlm_held_of(run->held, run->program, node->call.attr.disk.first);
    starpu_data_handle_t *handles = mtlm_held_handles(&held, &run->data, &at);
    struct starpu_data_descr *control =
        mtlm_calloc(mtlm_node_n_uses(node), sizeof(*control));
    struct mtlm_io_request request = {
        .stores = node->call.kind == MTLM_OP_STORE,
        .first = node->call.attr.disk.first
                 + node->call.attr.disk.step * item->microbatch,
        .n = node->call.attr.disk.n,
        .zeros = node->call.attr.disk.zeros,
        .slot = mtlm_run_data_handle(&run->data, node->operand[0], &at),
        .held = handles,
        .n_held = held.n,
        .control = control,
        .n_control = mtlm_run_message_control(&run->data, node, &at, control),
        .recorded = submission->record,
        .record = record_of(run, item, submission)};

    request.node =
        mtlm_run_watch_node(run->watch, item, at.use, &request.record,
                            microbatches_of(submission), 0);
    mtlm_io_post(run->config.io, &request);
    free(handles);
    free(control);
}

static bool is_poisoned(const struct mtlm_run *run,
                        const struct mtlm_item *item,
                        const struct mtlm_list_submission *submission)
{
    return run->poison >= 0 && submission->iteration == run->poison
           && item->node->phase == MTLM_PHASE_FORWARD
           && item->node->call.kind == MTLM_OP_ATTENTION_FWD
           && item->node->layer == 0 && item->microbatch == 0
           && run->program->config.layout.tp_rank == 0
           && run->program->config.layout.dp_rank == 0;
}

static void set_handles(const struct mtlm_run *run,
                        const struct mtlm_node *node,
                        const struct mtlm_submission *at,
                        struct starpu_task *task)
{
    static const enum starpu_data_access_mode modes[] = {
        [MTLM_R] = STARPU_R, [MTLM_W] = STARPU_W, [MTLM_RW] = STARPU_RW};
    const int n = mtlm_node_n_uses(node);
    const struct mtlm_task_buffers to = mtlm_data_buffers(task, n);

    for (int i = 0; i < n; i++) {
        const struct mtlm_use use = mtlm_node_use(node, i);

        to.handle[i] = mtlm_run_data_handle(&run->data, use.tensor, at);
        to.mode[i] = modes[use.access];
    }
}

/* Sets whether the task only sleeps, and how long. */
static void set_sleep(const struct mtlm_run *run, const struct mtlm_item *item,
                      const struct mtlm_list_submission *submission,
                      struct mtlm_task *arg)
{
    const struct mtlm_synthetic *synthetic = run->config.synthetic;

    if (!synthetic || mtlm_synthetic_computes(item->node))
        return;
    arg->sleeps = true;
    arg->sleep_ns = mtlm_synthetic_ns(synthetic, item, submission->iteration);
}

static void submit_task(struct mtlm_run *run, const struct mtlm_item *item,
                        const struct mtlm_list_submission *submission)
{
    const struct mtlm_node *node = item->node;
    const struct mtlm_op *op = mtlm_ops[node->call.kind];
    const struct mtlm_submission at = node_submission(item, submission);
    const struct mtlm_program_config *config = &run->program->config;
    struct starpu_task *task = starpu_task_create();
    struct mtlm_task *arg = mtlm_calloc(1, sizeof(*arg));

    arg->call = &node->call;
    arg->sample =
        submission->first_sample
        + (item->microbatch * config->layout.dp + config->layout.dp_rank)
              * config->micro_batch;
    arg->share = submission->share;
    arg->batch = submission->batch;
    arg->first = mtlm_list_submission_microbatch(submission, item) == 0;
    arg->position = submission->position;
    arg->rows = submission->rows;
    arg->recorder = submission->record ? run->config.recorder : NULL;
    arg->record = record_of(run, item, submission);
    set_sleep(run, item, submission, arg);
    arg->node = mtlm_run_watch_node(run->watch, item, at.use, &arg->record,
                                    microbatches_of(submission), arg->sleep_ns);
    if (item->microbatch >= 0 && node->flops > 0) {
        arg->ended = run->config.done;
        arg->part = node->flops / submission->flops;
    }
    if (is_poisoned(run, item, submission))
        arg->after = mtlm_check_poison;
    if (run->checker)
        mtlm_check_task(run->checker, arg, item);
    task->cl = mtlm_codelet(node->call.kind);
    task->cl_arg = arg;
    task->cl_arg_size = sizeof(*arg);
    task->cl_arg_free = 1;
    task->name = op->name;
    task->color =
        op->op_class == MTLM_CLASS_HOST && node->phase != MTLM_PHASE_SAVE
            ? MTLM_COLOR_HOST
            : mtlm_color_of_phase(node->phase);
    task->priority = priority_of(run, item, submission);
    mtlm_machine_restrict(task, item->lane);
    task->flops = node->flops;
    set_handles(run, node, &at, task);
    if (arg->sleeps) {
        task->prologue_callback_func = mtlm_codelet_task_ready;
        task->prologue_callback_arg = arg;
    }
    if (arg->node) {
        task->epilogue_callback_func = mtlm_codelet_task_done;
        task->epilogue_callback_arg = arg;
    }
    task->callback_func = mtlm_codelet_task_ended;
    task->callback_arg = arg;
    MTLM_CHECK_STARPU(starpu_task_submit(task));
}

void mtlm_run_submit_item(struct mtlm_run *run, const struct mtlm_item *item,
                          const struct mtlm_list_submission *submission)
{
    switch (mtlm_ops[item->node->call.kind]->op_class) {
    case MTLM_CLASS_P2P:
    case MTLM_CLASS_COLLECTIVE:
        post_message(run, item, submission);
        break;
    case MTLM_CLASS_DISK:
        post_transfer(run, item, submission);
        break;
    default:
        submit_task(run, item, submission);
    }
}
