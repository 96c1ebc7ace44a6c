/* --task: which options a task needs, refuses and ignores. */

#include "config.h"

#include <inttypes.h>

#include "launch/options/option_table.h"
#include "launch/options/options_finetune.h"
#include "launch/options/options_generate.h"
#include "launch/options/options_prefer.h"
#include "launch/options/options_task.h"
#include "launch/options/options_task_files.h"
#include "launch/options/options_tokenizer.h"
#include "launch/options/suggest.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Batches in plans, before the data is read: enough for all slots. */
enum { PLANNED_BATCHES = 1000 };

int mtlm_options_task_find(struct mtlm_options *options, const char *name,
                           struct mtlm_error *err)
{
    struct mtlm_suggest nearest = {.name = name};
    char known[128] = "";

    options->task = mtlm_task_find(name);
    if (options->task)
        return 0;
    for (int i = 0, n = 0; mtlm_tasks[i]; i++) {
        mtlm_suggest_offer(&nearest, mtlm_tasks[i]->name);
        n += snprintf(known + n, sizeof(known) - n, "%s%s", i ? ", " : "",
                      mtlm_tasks[i]->name);
    }
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE, "unknown task '%.60s'; %s%s%s", name,
        nearest.best ? "did you mean " : "the tasks are ",
        nearest.best ? nearest.best : known, nearest.best ? "?" : "");
}

/* Refuses options of tasks in a job without. */
static int refuse_alone(const struct mtlm_options *o, struct mtlm_error *err)
{
    static const enum mtlm_option_id of_tasks[] = {
        MTLM_OPT_VALID_DATA,       MTLM_OPT_TRAIN_DATA,
        MTLM_OPT_EPOCHS,           MTLM_OPT_PRETRAINED_CHECKPOINT,
        MTLM_OPT_KEEP_LAST_BATCH,  MTLM_OPT_PREDICTIONS,
        MTLM_OPT_OVERLAPPING_EVAL, MTLM_OPT_STRICT_LAMBADA};

    for (size_t i = 0; i < LENGTH(of_tasks); i++)
        if (mtlm_options_source(o, of_tasks[i]) == MTLM_SOURCE_COMMAND_LINE)
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--%s is for --task NAME",
                                  mtlm_option_name(of_tasks[i]));
    return 0;
}

/* Refuses outputs that a task does not have. */
static int refuse_outputs(const struct mtlm_options *o, struct mtlm_error *err)
{
    static const enum mtlm_option_id of_others[] = {
        MTLM_OPT_METRICS, MTLM_OPT_TENSORBOARD_DIR, MTLM_OPT_WEIGHT_HASH};

    for (size_t i = 0; i < LENGTH(of_others); i++)
        if (mtlm_options_given(o, of_others[i]))
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--%s is not for --task, which prints its "
                                  "result",
                                  mtlm_option_name(of_others[i]));
    return 0;
}

/* The value of a file may be for another task. */
static bool overlap_is_wanted(const struct mtlm_options *o)
{
    return mtlm_options_source(o, MTLM_OPT_OVERLAPPING_EVAL)
           == MTLM_SOURCE_COMMAND_LINE;
}

/* Refuses what contradicts any task. */
static int check_common(const struct mtlm_options *o, struct mtlm_error *err)
{
    if (mtlm_options_generate_wanted(o))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--task and --%s contradict each other; give one "
                              "of them",
                              mtlm_options_generate_name(o));
    if (!o->valid_data)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--task %s needs --valid-data FILE; mtlm-dag "
                              "--task %s --help says where to get it",
                              o->task->name, o->task->name);
    return 0;
}

/* Refuses what contradicts an evaluation alone. */
static int check_contradictions(const struct mtlm_options *o,
                                struct mtlm_error *err)
{
    static const enum mtlm_option_id of_training[] = {
        MTLM_OPT_TRAIN_DATA, MTLM_OPT_EPOCHS, MTLM_OPT_KEEP_LAST_BATCH,
        MTLM_OPT_PREDICTIONS};

    if (!o->load_dir)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--task needs --load DIR, the directory of the "
                              "checkpoint");
    for (size_t i = 0; i < LENGTH(of_training); i++)
        if (mtlm_options_source(o, of_training[i]) == MTLM_SOURCE_COMMAND_LINE)
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--%s is not for --task %s, which does not "
                                  "train",
                                  mtlm_option_name(of_training[i]),
                                  o->task->name);
    if (o->strict_lambada && o->task != &mtlm_task_lambada)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--strict-lambada is for --task lambada");
    if (overlap_is_wanted(o) && o->task != &mtlm_task_wikitext103)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--overlapping-eval is for --task wikitext103");
    return 0;
}

/* Forgets what the checkpoint, a preset or a file gives a training, and says so
 * where the command gave it. */
static void forget_training(struct mtlm_options *o)
{
    static const enum mtlm_option_id of_training[] = {
        MTLM_OPT_GLOBAL_BATCH_SIZE, MTLM_OPT_RAMPUP_BATCH_SIZE,
        MTLM_OPT_DATA_PATH,         MTLM_OPT_DATA_ARGS_PATH,
        MTLM_OPT_TRAIN_DATA_PATH,   MTLM_OPT_VALID_DATA_PATH,
        MTLM_OPT_TEST_DATA_PATH,    MTLM_OPT_PER_SPLIT_DATA_ARGS_PATH,
        MTLM_OPT_MOCK_DATA,         MTLM_OPT_SAVE,
        MTLM_OPT_SAVE_INTERVAL,     MTLM_OPT_KEEP_LAST,
        MTLM_OPT_EVAL_ITERS,        MTLM_OPT_SCHEDULE_FILE};

    mtlm_options_forget_unused(o, of_training, LENGTH(of_training), "task");
    o->source[MTLM_OPT_SCHEDULE_MODE] = MTLM_SOURCE_DEFAULT;
    o->eval_iters = PLANNED_BATCHES;
}

int mtlm_options_task_prepare(struct mtlm_options *options,
                              struct mtlm_error *err)
{
    if (!options->task_name)
        return refuse_alone(options, err);
    if (mtlm_options_task_find(options, options->task_name, err) < 0
        || check_common(options, err) < 0)
        return -1;
    if (mtlm_options_finetunes(options))
        return mtlm_options_finetune_prepare(options, err);
    if (check_contradictions(options, err) < 0
        || mtlm_options_task_files_check_one(options, err) < 0
        || refuse_outputs(options, err) < 0)
        return -1;
    options->eval_only = true;
    forget_training(options);
    return 0;
}

/* A window has at most seq_length predictions to score. */
static int settle_overlap(struct mtlm_options *o, struct mtlm_error *err)
{
    const int64_t s = o->model.seq_length;

    if (o->overlapping_eval <= s)
        return 0;
    if (overlap_is_wanted(o))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--overlapping-eval %" PRId64
                              " is more than the --seq-length %" PRId64,
                              o->overlapping_eval, s);
    o->overlapping_eval = s;
    return 0;
}

int mtlm_options_task_resolve(struct mtlm_options *options,
                              struct mtlm_error *err)
{
    const struct mtlm_task_entry *task = options->task;

    if (!task)
        return 0;
    if (options->model.family != task->family)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--task %s is for a %s; this model is a %s",
                              task->name, mtlm_model_family_name(task->family),
                              mtlm_model_family_name(options->model.family));
    if (mtlm_options_finetunes(options))
        return mtlm_options_finetune_resolve(options, err);
    if (task->family == MTLM_GPT
        && mtlm_options_tokenizer_need_text(options, "task", err) < 0)
        return -1;
    return settle_overlap(options, err);
}
