/* Runs a program: submits iterations, validations and checkpoint copies in
 * program order, and reads their results. */

#include "config.h"

#include <stdlib.h>

#include "codelets/control_slots.h"
#include "graph/build/stage.h"
#include "graph/build/version.h"
#include "graph/run/check.h"
#include "graph/run/constant.h"
#include "graph/run/message.h"
#include "graph/run/record.h"
#include "graph/run/run_private.h"
#include "graph/run/watch.h"
#include "runtime/base/memory.h"
#include "runtime/disk/io.h"
#include "runtime/machine/data.h"

static double microbatch_flops(const struct mtlm_items *items)
{
    double flops = 0;

    for (int i = 0; i < items->n; i++)
        if (items->item[i].microbatch == 0)
            flops += items->item[i].node->flops;
    return flops;
}

/* Returns the samples of a microbatch on all data-parallel ranks. */
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
    run->job = config->submitted;
    run->poison = -1;
    run->tag_microbatches =
        mtlm_stage_tag_microbatches(&program->config, config->max_tag);
    run->priority = mtlm_program_priority(program);
    run->ramp = program->config.ramp;
    run->ramp.full = program->config.microbatches * samples_per_microbatch(run);
    run->begin = mtlm_ramp_at(&run->ramp, config->iteration, config->samples);
    run->place = run->begin;
    run->version = run->begin.iteration + MTLM_VERSIONS - 1;
    mtlm_run_data_create(&run->data, program, config->synthetic != NULL,
                         mtlm_engine_node(config->engine) == STARPU_MAIN_RAM);
    run->held = mtlm_held_create(&run->data);
    if (config->recorder) {
        run->recorded = mtlm_run_record_create(program, config->recorder);
        starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    }
    run->watch = mtlm_run_watch_create(program, config->workers);
    return run;
}

void mtlm_run_wait(struct mtlm_run *run)
{
    mtlm_engine_wait(run->config.engine);
    if (run->config.io)
        mtlm_io_wait(run->config.io);
    MTLM_CHECK_STARPU(starpu_task_wait_for_all());
}

void mtlm_run_end_records(struct mtlm_run *run)
{
    if (!run->recorded)
        return;
    mtlm_run_record_destroy(run->recorded);
    run->recorded = NULL;
    run->config.recorder = NULL;
    starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
}

void mtlm_run_destroy(struct mtlm_run *run)
{
    mtlm_run_watch_destroy(run->watch);
    mtlm_run_end_records(run);
    mtlm_held_destroy(run->held, run->program);
    mtlm_run_data_destroy(&run->data);
    free(run);
}

/* Sets the microbatch in StarPU's own traces.  Without a push, the popped
 * number would stay in use. */
static void note_microbatch(const struct mtlm_item *item,
                            const struct mtlm_list_submission *submission)
{
    starpu_iteration_pop();
    starpu_iteration_push(
        (unsigned long) mtlm_list_submission_microbatch(submission, item));
}

/* Returns the items of an iteration; with config.eval_only, those of a batch of
 * a validation. */
static int batch_items(const struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;

    return config->eval_only ? (int64_t) program->eval.n * config->microbatches
                                   / mtlm_program_piece(config)
                             : program->train.n;
}

static bool is_of(const struct mtlm_item *item, const struct mtlm_run *run,
                  const struct mtlm_list_submission *submission)
{
    if (item->microbatch >= 0)
        return !submission->microbatches
               || item->microbatch < submission->microbatches;
    /* The checker reruns microbatches only, which need what the disk has. */
    return !run->checker
           || mtlm_ops[item->node->call.kind]->op_class == MTLM_CLASS_DISK;
}

/* Called between microbatches of a validation.  Waits while many tasks are
 * queued: a validation may be far longer than an iteration, and each queued
 * task takes memory.  The wait cannot deadlock: no microbatch needs a later
 * one. */
static void wait_for_queue(struct mtlm_run *run)
{
    starpu_task_wait_for_n_submitted(2 * batch_items(run->program));
}

/* Returns the index of each microbatch's last item in a validation; with
 * offloaded units, items of other microbatches lie between a microbatch's own.
 * The caller frees the list. */
static int *find_ends(const struct mtlm_program *program)
{
    const struct mtlm_items *items = &program->eval;
    int *end = mtlm_calloc(mtlm_program_piece(&program->config), sizeof(*end));

    for (int i = 0; i < items->n; i++)
        if (items->item[i].microbatch >= 0)
            end[items->item[i].microbatch] = i;
    return end;
}

/* Submits items in program order. */
static void submit_all(struct mtlm_run *run, const struct mtlm_items *items,
                       const struct mtlm_list_submission *submission)
{
    const bool validates = items == &run->program->eval;
    int *end = validates && run->validated ? find_ends(run->program) : NULL;
    int64_t before = -1; /* microbatch of the item submitted last */

    if (run->recorded)
        mtlm_run_record_list(run->recorded,
                             submission->record && !submission->times_only);
    starpu_iteration_push(submission->iteration);
    starpu_iteration_push(0);
    for (int i = 0; i < items->n; i++) {
        const struct mtlm_item *item = &items->item[i];

        if (!is_of(item, run, submission))
            continue;
        if (validates && before >= 0 && item->microbatch != before)
            wait_for_queue(run);
        before = item->microbatch;
        if (run->gradients_seen && item->node->call.kind == MTLM_OP_CONTROL)
            run->gradients_seen(run->gradients_arg);
        note_microbatch(item, submission);
        mtlm_run_submit_item(run, item, submission);
        if (end && item->microbatch >= 0 && end[item->microbatch] == i)
            run->validated(run->validated_arg,
                           submission->first + item->microbatch);
    }
    free(end);
    starpu_iteration_pop();
    starpu_iteration_pop();
    starpu_do_schedule();
}

/* Microbatches are numbered over the whole run, because the numbers distinguish
 * messages.  Uses have the numbers of full iterations, in a batch ramp-up too:
 * an order deals out slots to microbatches of an iteration. */
static struct mtlm_list_submission train_submission(
    struct mtlm_run *run, int64_t iteration, enum mtlm_recording recording)
{
    const int64_t each = samples_per_microbatch(run);
    struct mtlm_ramp_place *place = &run->place;

    if (iteration < place->iteration)
        *place = run->begin;
    while (place->iteration < iteration)
        mtlm_ramp_next(&run->ramp, place);
    return (struct mtlm_list_submission){
        .iteration = iteration,
        .last_use = iteration,
        .first_microbatch = place->samples / each,
        .first_use = iteration * run->program->config.microbatches,
        .first_sample = place->samples,
        .microbatches = place->batch / each,
        .batch = place->batch,
        .share = (double) run->program->config.micro_batch / place->batch,
        .flops = run->train_flops,
        .record = recording != MTLM_RECORDING_NOTHING && run->config.recorder,
        .times_only = recording == MTLM_RECORDING_TIMES};
}

void mtlm_run_wait_for_cycle(struct mtlm_run *run, int64_t iteration)
{
    if (iteration > 0 && iteration % mtlm_priority_cycle(&run->priority) == 0)
        mtlm_run_wait(run);
}

/* Once for each version of the weights; the versions begin equal. */
void mtlm_run_init(struct mtlm_run *run)
{
    const int versions = mtlm_version_count(&run->program->config);

    for (int i = 0; i < versions; i++) {
        const struct mtlm_list_submission submission = {.iteration = i};

        submit_all(run, &run->program->init, &submission);
    }
}

void mtlm_run_iteration(struct mtlm_run *run, int64_t iteration,
                        enum mtlm_recording recording)
{
    const struct mtlm_list_submission submission =
        train_submission(run, iteration, recording);

    mtlm_run_wait_for_cycle(run, iteration);
    if (run->config.plan)
        mtlm_run_message_order(run->config.engine, run->config.plan,
                               submission.microbatches);
    mtlm_run_watch_plan(run->watch, run->config.plan, submission.microbatches);
    run->version = iteration;
    submit_all(run, &run->program->train, &submission);
}

void mtlm_run_validation(struct mtlm_run *run, int64_t iteration, int64_t piece,
                         bool record)
{
    const struct mtlm_program_config *config = &run->program->config;
    const struct mtlm_items *const list = &run->program->eval;
    const int64_t first = piece * mtlm_program_piece(config);
    const struct mtlm_list_submission submission = {
        .iteration = iteration,
        .first = first,
        .first_microbatch = first,
        .first_use = first,
        .first_sample = first * samples_per_microbatch(run),
        .microbatches = config->eval_microbatches - first,
        .last_use = piece,
        .share = config->measure != MTLM_MEASURE_MEANS
                     ? 1
                     : 1.0 / (config->eval_microbatches * config->layout.dp),
        .flops = run->eval_flops,
        .record = record && run->config.recorder};

    if (config->eval_only && piece == 0) {
        mtlm_run_wait(run);
        mtlm_run_fix_constants(run, &list, 1);
    }
    submit_all(run, list, &submission);
}

void mtlm_run_save(struct mtlm_run *run, int64_t iteration, bool record)
{
    const struct mtlm_list_submission submission = {
        .iteration = iteration,
        .last_use = iteration,
        .record = record && run->config.recorder};

    submit_all(run, &run->program->save, &submission);
}

int64_t mtlm_run_submitted(const struct mtlm_run *run)
{
    return run->job;
}

void mtlm_run_report(struct mtlm_run *run, int64_t iteration,
                     double report[MTLM_CONTROL_COUNT])
{
    const struct mtlm_submission at = {.use = iteration};

    mtlm_run_data_read(&run->data, run->program->report, &at, report,
                       MTLM_CONTROL_COUNT * sizeof(*report));
}

double mtlm_run_params_norm(struct mtlm_run *run, int64_t iteration)
{
    const struct mtlm_submission at = {.use = iteration};
    double norm;

    mtlm_run_data_read(&run->data, run->program->params_norm, &at, &norm,
                       sizeof(norm));
    return norm;
}

void mtlm_run_eval_report(struct mtlm_run *run, int64_t piece,
                          double report[MTLM_STATUS_EXTRA])
{
    const struct mtlm_submission at = {.use = piece};

    mtlm_run_data_read(&run->data, run->program->eval_report, &at, report,
                       MTLM_STATUS_EXTRA * sizeof(*report));
}

/* A disk that fails ends the job. */
static void check_disk(int rc, const struct mtlm_error *err)
{
    if (rc < 0)
        mtlm_end_job(err->code, "%s", err->text);
}

void mtlm_run_read(struct mtlm_run *run, const struct mtlm_tensor *tensor,
                   void *memory)
{
    const struct mtlm_submission at = {.iteration = run->version};
    struct mtlm_error err;

    if (tensor->piece < 0) {
        mtlm_run_data_read(&run->data, tensor, &at, memory,
                           mtlm_tensor_bytes(tensor));
        return;
    }
    mtlm_run_wait(run);
    check_disk(mtlm_pieces_get(&run->config.pieces, tensor->piece,
                               tensor->piece_offset, memory,
                               (int64_t) mtlm_tensor_bytes(tensor), &err),
               &err);
}

/* Returns the tensor that the end of a copy on the disk writes. */
static const struct mtlm_tensor *end_of_copy(const struct mtlm_run *run,
                                             const struct mtlm_tensor *tensor)
{
    const struct mtlm_unit *unit = run->program->offloaded.unit;

    while (unit->saved_piece < 0 || tensor->piece < unit->saved_piece
           || tensor->piece >= unit->saved_piece + unit->pieces)
        unit++;
    return unit->saved;
}

const void *mtlm_run_saved(const struct mtlm_run *run,
                           const struct mtlm_tensor *tensor)
{
    if (!mtlm_tensor_is_on_disk(tensor))
        return mtlm_run_data_await(&run->data, tensor);
    mtlm_run_data_await(&run->data, end_of_copy(run, tensor));
    return NULL;
}

void mtlm_run_saved_read(const struct mtlm_run *run,
                         const struct mtlm_tensor *tensor, void *memory)
{
    struct mtlm_error err;

    check_disk(mtlm_pieces_get(&run->config.pieces, tensor->piece,
                               tensor->piece_offset, memory,
                               (int64_t) mtlm_tensor_bytes(tensor), &err),
               &err);
}

void mtlm_run_write(struct mtlm_run *run, const struct mtlm_tensor *tensor,
                    const void *memory)
{
    struct mtlm_error err;

    if (tensor->piece < 0) {
        mtlm_run_data_write(&run->data, tensor, run->version, memory);
        return;
    }
    mtlm_run_wait(run);
    check_disk(mtlm_pieces_put(&run->config.pieces, tensor->piece,
                               tensor->piece_offset, memory,
                               (int64_t) mtlm_tensor_bytes(tensor), &err),
               &err);
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
    const struct mtlm_submission at = {.use = microbatch};

    mtlm_run_data_read(&run->data, tensor, &at, memory,
                       mtlm_tensor_bytes(tensor));
}

void mtlm_run_poison(struct mtlm_run *run, int64_t iteration)
{
    run->poison = iteration;
}

void mtlm_run_find_bad_node(struct mtlm_run *run, int64_t iteration,
                            struct mtlm_bad_node *bad)
{
    const struct mtlm_list_submission submission =
        train_submission(run, iteration, MTLM_RECORDING_NOTHING);

    mtlm_run_wait(run);
    run->checker =
        mtlm_checker_create(mtlm_layout_stages(&run->program->config.layout));
    submit_all(run, &run->program->train, &submission);
    mtlm_run_wait(run);
    mtlm_checker_result(run->checker, bad);
    mtlm_checker_destroy(run->checker);
    run->checker = NULL;
}
