#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "codelets/codelet.h"
#include "graph/check.h"
#include "graph/priority.h"
#include "graph/stage.h"
#include "graph/submit.h"
#include "graph/submit_data.h"
#include "graph/submit_message.h"
#include "graph/submit_record.h"
#include "graph/submit_watch.h"
#include "runtime/clock.h"
#include "runtime/color.h"
#include "runtime/data.h"
#include "runtime/machine.h"

struct mtlm_run {
    struct mtlm_run_config config;
    const struct mtlm_program *program;
    struct mtlm_priority priority;
    struct mtlm_ramp ramp;
    struct mtlm_ramp_place begin; /* of the first iteration */
    struct mtlm_ramp_place place; /* of the iteration submitted last */
    struct mtlm_run_data data;
    int64_t job;
    struct mtlm_run_record *recorded; /* NULL without a recorder */
    struct mtlm_run_watch *watch;     /* NULL: no policy wants to know */
    int64_t tag_microbatches;         /* that tags tell apart */
    int64_t poison;                   /* iteration, -1: none */
    double train_flops, eval_flops;   /* of this rank's microbatch */
    void (*gradients_seen)(void *arg);
    void *gradients_arg;
    void (*validated)(void *arg, int64_t microbatch);
    void *validated_arg;
    struct mtlm_checker *checker; /* while looking for a bad node */
};

/* Which iteration of what an item is submitted for. */
struct pass {
    int64_t iteration;
    int64_t first_microbatch; /* number, over the run, of microbatch 0 */
    int64_t first_sample;     /* of the iteration */
    int64_t microbatches;     /* of the iteration; 0: all that there are */
    int64_t batch;            /* samples of the iteration, over all ranks */
    double share;             /* of a microbatch in the losses */
    double flops;             /* of a microbatch on this rank */
    bool record;
};

static double microbatch_flops(const struct mtlm_items *items)
{
    double flops = 0;

    for (int i = 0; i < items->n; i++)
        if (items->item[i].microbatch == 0)
            flops += items->item[i].node->flops;
    return flops;
}

/* Samples of all ranks that make a microbatch each. */
static int64_t samples_per_microbatch(const struct mtlm_run *run)
{
    const struct mtlm_program_config *config = &run->program->config;

    return config->micro_batch * config->layout.dp;
}

struct mtlm_run *mtlm_run_create(const struct mtlm_run_config *config)
{
    const struct mtlm_program *program = config->program;
    struct mtlm_run *run = mtlm_calloc(1, sizeof(*run));

    run->config = *config;
    run->program = program;
    run->train_flops = microbatch_flops(&program->train);
    run->eval_flops = microbatch_flops(&program->eval);
    run->poison = -1;
    run->tag_microbatches =
        mtlm_stage_tag_microbatches(&program->config, config->max_tag);
    run->priority = mtlm_program_priority(program);
    run->ramp = program->config.ramp;
    run->ramp.full = program->config.microbatches * samples_per_microbatch(run);
    run->begin = mtlm_ramp_at(&run->ramp, config->iteration, config->samples);
    run->place = run->begin;
    mtlm_run_data_create(&run->data, program, config->synthetic != NULL,
                         mtlm_engine_node(config->engine) == STARPU_MAIN_RAM);
    if (config->recorder) {
        run->recorded = mtlm_run_record_create(program, config->recorder);
        starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    }
    run->watch = mtlm_run_watch_create(program);
    return run;
}

void mtlm_run_wait(struct mtlm_run *run)
{
    mtlm_engine_wait(run->config.engine);
    MTLM_CHECK_STARPU(starpu_task_wait_for_all());
}

void mtlm_run_destroy(struct mtlm_run *run)
{
    mtlm_run_watch_destroy(run->watch);
    mtlm_run_record_destroy(run->recorded);
    mtlm_run_data_destroy(&run->data);
    free(run);
}

/* Number of the use of its tensors that an item is. */
static int64_t use_of(const struct mtlm_item *item, const struct pass *pass)
{
    return item->microbatch < 0 ? pass->iteration
                                : pass->first_microbatch + item->microbatch;
}

static int priority_of(const struct mtlm_run *run, const struct mtlm_item *item,
                       const struct pass *pass)
{
    return mtlm_priority_base(&run->priority, pass->iteration) + item->priority;
}

static struct mtlm_record record_of(struct mtlm_run *run,
                                    const struct mtlm_item *item,
                                    const struct pass *pass)
{
    const struct mtlm_node *node = item->node;
    const bool p2p = mtlm_ops[node->call.kind]->op_class == MTLM_CLASS_P2P;
    struct mtlm_record record = {
        .rank = run->config.rank,
        .worker = -1,
        .lane = node->lane,
        .phase = node->phase,
        .op = node->call.kind,
        .iteration = pass->iteration,
        .microbatch = item->microbatch,
        .stage = node->stage,
        .layer = node->layer,
        .peer = p2p ? node->call.attr.p2p.peer : -1,
        .group = -1,
        .group_root = -1,
        .priority = priority_of(run, item, pass),
        .job = run->job++,
        .match = -1,
        .submit_ns = pass->record ? mtlm_now_ns() : 0,
        .flops = node->flops,
        .bytes = node->bytes,
    };

    if (run->recorded)
        mtlm_run_record_node(run->recorded, item, use_of(item, pass), &record);
    return record;
}

static void post(struct mtlm_run *run, const struct mtlm_item *item,
                 const struct pass *pass)
{
    const struct mtlm_node *node = item->node;
    const int64_t use = use_of(item, pass);
    const struct mtlm_program_config *config = &run->program->config;
    const int tags =
        mtlm_stage_tags(config) * mtlm_layout_stages(&config->layout);
    starpu_data_handle_t *handles =
        mtlm_calloc(mtlm_node_n_uses(node), sizeof(*handles));
    struct mtlm_message message = {.name = mtlm_ops[node->call.kind]->name,
                                   .priority = priority_of(run, item, pass),
                                   .recorded = pass->record,
                                   .record = record_of(run, item, pass)};

    mtlm_message_of(&run->data, node, use, handles, &message);
    message.slot = item->microbatch < 0 || !run->config.slots
                       ? -1
                       : use % run->config.slots;
    message.tag += use % run->tag_microbatches * tags;
    if (run->config.synthetic)
        message.duration_ns =
            mtlm_synthetic_ns(run->config.synthetic, item, pass->iteration);
    message.node = mtlm_run_watch_node(run->watch, item, use, &message.record,
                                       message.duration_ns);
    mtlm_engine_post(run->config.engine, &message);
    free(handles);
}

static bool is_poisoned(const struct mtlm_run *run,
                        const struct mtlm_item *item, const struct pass *pass)
{
    return run->poison >= 0 && pass->iteration == run->poison
           && item->node->phase == MTLM_PHASE_FORWARD
           && item->node->call.kind == MTLM_OP_ATTENTION_FWD
           && item->node->layer == 0 && item->microbatch == 0
           && run->program->config.layout.tp_rank == 0
           && run->program->config.layout.dp_rank == 0;
}

static void set_handles(const struct mtlm_run *run,
                        const struct mtlm_node *node, int64_t number,
                        struct starpu_task *task)
{
    static const enum starpu_data_access_mode modes[] = {
        [MTLM_R] = STARPU_R, [MTLM_W] = STARPU_W, [MTLM_RW] = STARPU_RW};
    const int n = mtlm_node_n_uses(node);
    starpu_data_handle_t *handle = task->handles;
    enum starpu_data_access_mode *mode = task->modes;

    if (n > STARPU_NMAXBUFS) { /* StarPU frees them */
        handle = task->dyn_handles = mtlm_calloc(n, sizeof(*handle));
        mode = task->dyn_modes = mtlm_calloc(n, sizeof(*mode));
    }
    task->nbuffers = n;
    for (int i = 0; i < n; i++) {
        const struct mtlm_use use = mtlm_node_use(node, i);

        handle[i] = mtlm_run_data_handle(&run->data, use.tensor, number);
        mode[i] = modes[use.access];
    }
}

/* Whether the task only sleeps, and how long. */
static void pretend(const struct mtlm_run *run, const struct mtlm_item *item,
                    const struct pass *pass, struct mtlm_task *arg)
{
    const struct mtlm_synthetic *synthetic = run->config.synthetic;

    if (!synthetic || mtlm_synthetic_computes(item->node))
        return;
    arg->sleeps = true;
    arg->sleep_ns = mtlm_synthetic_ns(synthetic, item, pass->iteration);
}

static void submit(struct mtlm_run *run, const struct mtlm_item *item,
                   const struct pass *pass)
{
    const struct mtlm_node *node = item->node;
    const struct mtlm_op *op = mtlm_ops[node->call.kind];
    const int64_t use = use_of(item, pass);
    const struct mtlm_program_config *config = &run->program->config;
    struct starpu_task *task = starpu_task_create();
    struct mtlm_task *arg = mtlm_calloc(1, sizeof(*arg));

    arg->call = &node->call;
    arg->sample =
        pass->first_sample
        + (item->microbatch * config->layout.dp + config->layout.dp_rank)
              * config->micro_batch;
    arg->share = pass->share;
    arg->batch = pass->batch;
    arg->recorder = pass->record ? run->config.recorder : NULL;
    arg->record = record_of(run, item, pass);
    pretend(run, item, pass, arg);
    arg->node =
        mtlm_run_watch_node(run->watch, item, use, &arg->record, arg->sleep_ns);
    if (item->microbatch >= 0 && node->flops > 0) {
        arg->ended = run->config.done;
        arg->part = node->flops / pass->flops;
    }
    if (is_poisoned(run, item, pass))
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
            : mtlm_phase_color(node->phase);
    task->priority = priority_of(run, item, pass);
    mtlm_machine_restrict(task);
    task->flops = node->flops;
    set_handles(run, node, use, task);
    if (arg->sleeps) {
        task->prologue_callback_func = mtlm_task_ready;
        task->prologue_callback_arg = arg;
    }
    if (arg->node) {
        task->epilogue_callback_func = mtlm_task_done;
        task->epilogue_callback_arg = arg;
    }
    task->callback_func = mtlm_task_ended;
    task->callback_arg = arg;
    MTLM_CHECK_STARPU(starpu_task_submit(task));
}

static bool is_message(const struct mtlm_item *item)
{
    const enum mtlm_op_class class = mtlm_ops[item->node->call.kind]->op_class;

    return class == MTLM_CLASS_P2P || class == MTLM_CLASS_COLLECTIVE;
}

/* For StarPU's own traces.  To take a number away leaves its value behind. */
static void note_microbatch(const struct mtlm_item *item)
{
    starpu_iteration_pop();
    starpu_iteration_push((unsigned long) item->microbatch);
}

/* Of an iteration or, where there are none, of a validation's batch. */
static int batch_items(const struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;

    return config->eval_only ? (int64_t) program->eval.n * config->microbatches
                                   / config->eval_microbatches
                             : program->train.n;
}

/* Submits items in program order. */
static void submit_all(struct mtlm_run *run, const struct mtlm_items *items,
                       const struct pass *pass)
{
    if (run->recorded)
        mtlm_run_record_pass(run->recorded, pass->record);
    starpu_iteration_push(pass->iteration);
    starpu_iteration_push(0);
    for (int i = 0; i < items->n; i++) {
        const struct mtlm_item *item = &items->item[i];
        const bool next_microbatch =
            i > 0 && item->microbatch != items->item[i - 1].microbatch;

        if (next_microbatch && items == &run->program->eval && run->validated)
            run->validated(run->validated_arg, items->item[i - 1].microbatch);
        /* A validation may be far longer than an iteration, and each waiting
         * task takes memory.  Earlier microbatches never need later ones, so
         * ranks that wait here do not wait for each other. */
        if (next_microbatch && items == &run->program->eval)
            starpu_task_wait_for_n_submitted(2 * batch_items(run->program));
        if (pass->microbatches && item->microbatch >= pass->microbatches)
            continue;
        if (run->checker && item->microbatch < 0)
            continue; /* only the microbatches run again */
        if (run->gradients_seen && item->node->call.kind == MTLM_OP_CONTROL)
            run->gradients_seen(run->gradients_arg);
        note_microbatch(item);
        if (is_message(item))
            post(run, item, pass);
        else
            submit(run, item, pass);
    }
    starpu_iteration_pop();
    starpu_iteration_pop();
    starpu_do_schedule();
}

/* Microbatches are numbered over the whole run, whatever their number in an
 * iteration: the numbers tell slots and messages apart. */
static struct pass train_pass(struct mtlm_run *run, int64_t iteration,
                              bool record)
{
    const int64_t each = samples_per_microbatch(run);
    struct mtlm_ramp_place *place = &run->place;

    if (iteration < place->iteration)
        *place = run->begin;
    while (place->iteration < iteration)
        mtlm_ramp_next(&run->ramp, place);
    return (struct pass){.iteration = iteration,
                         .first_microbatch = place->samples / each,
                         .first_sample = place->samples,
                         .microbatches = place->batch / each,
                         .batch = place->batch,
                         .share = (double) run->program->config.micro_batch
                                  / place->batch,
                         .flops = run->train_flops,
                         .record = record && run->config.recorder};
}

void mtlm_run_init(struct mtlm_run *run)
{
    const struct pass pass = {0};

    submit_all(run, &run->program->init, &pass);
}

void mtlm_run_iteration(struct mtlm_run *run, int64_t iteration, bool record)
{
    const struct pass pass = train_pass(run, iteration, record);

    /* Priorities start over: nothing older may be left (priority.h). */
    if (iteration > 0 && iteration % mtlm_priority_cycle(&run->priority) == 0)
        mtlm_run_wait(run);
    if (run->config.plan)
        mtlm_message_order(run->config.engine, run->config.plan,
                           pass.microbatches);
    submit_all(run, &run->program->train, &pass);
}

void mtlm_run_validation(struct mtlm_run *run, int64_t iteration, bool record)
{
    const struct mtlm_program_config *config = &run->program->config;
    const struct pass pass = {
        .iteration = iteration,
        .share = 1.0 / (config->eval_microbatches * config->layout.dp),
        .flops = run->eval_flops,
        .record = record && run->config.recorder};

    submit_all(run, &run->program->eval, &pass);
}

void mtlm_run_save(struct mtlm_run *run, int64_t iteration, bool record)
{
    const struct pass pass = {.iteration = iteration,
                              .record = record && run->config.recorder};

    submit_all(run, &run->program->save, &pass);
}

int64_t mtlm_run_submitted(const struct mtlm_run *run)
{
    return run->job;
}

void mtlm_run_report(struct mtlm_run *run, int64_t iteration,
                     double report[MTLM_CONTROL_COUNT])
{
    mtlm_run_data_read(&run->data, run->program->report, iteration, report,
                       MTLM_CONTROL_COUNT * sizeof(*report));
}

double mtlm_run_params_norm(struct mtlm_run *run, int64_t iteration)
{
    double norm;

    mtlm_run_data_read(&run->data, run->program->params_norm, iteration, &norm,
                       sizeof(norm));
    return norm;
}

void mtlm_run_eval_report(struct mtlm_run *run,
                          double report[MTLM_STATUS_EXTRA])
{
    mtlm_run_data_read(&run->data, run->program->eval_report, 0, report,
                       MTLM_STATUS_EXTRA * sizeof(*report));
}

void mtlm_run_read(struct mtlm_run *run, const struct mtlm_tensor *tensor,
                   void *memory)
{
    mtlm_run_data_read(&run->data, tensor, 0, memory,
                       mtlm_tensor_bytes(tensor));
}

const void *mtlm_run_saved(const struct mtlm_run *run,
                           const struct mtlm_tensor *tensor)
{
    return mtlm_run_data_await(&run->data, tensor);
}

void mtlm_run_write(struct mtlm_run *run, const struct mtlm_tensor *tensor,
                    const void *memory)
{
    mtlm_run_data_write(&run->data, tensor, memory);
}

void mtlm_run_on_gradients(struct mtlm_run *run, void (*seen)(void *arg),
                           void *arg)
{
    run->gradients_seen = seen;
    run->gradients_arg = arg;
}

void mtlm_run_on_validated(struct mtlm_run *run,
                           void (*seen)(void *arg, int64_t microbatch),
                           void *arg)
{
    run->validated = seen;
    run->validated_arg = arg;
}

void mtlm_run_read_microbatch(struct mtlm_run *run,
                              const struct mtlm_tensor *tensor,
                              int64_t microbatch, void *memory)
{
    mtlm_run_data_read(&run->data, tensor, microbatch, memory,
                       mtlm_tensor_bytes(tensor));
}

void mtlm_run_poison(struct mtlm_run *run, int64_t iteration)
{
    run->poison = iteration;
}

void mtlm_run_find_bad_node(struct mtlm_run *run, int64_t iteration,
                            struct mtlm_bad_node *bad)
{
    const struct pass pass = train_pass(run, iteration, false);

    mtlm_run_wait(run);
    run->checker =
        mtlm_checker_create(mtlm_layout_stages(&run->program->config.layout));
    submit_all(run, &run->program->train, &pass);
    mtlm_run_wait(run);
    mtlm_checker_result(run->checker, bad);
    mtlm_checker_destroy(run->checker);
    run->checker = NULL;
}
