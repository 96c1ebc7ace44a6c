/* Fine-tuning: which options a task needs, refuses and ignores. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "launch/options/option_table.h"
#include "launch/options/options_finetune.h"
#include "launch/options/options_note.h"
#include "launch/options/options_prefer.h"
#include "launch/options/options_task_files.h"
#include "models/weights/checkpoint_dir.h"
#include "runtime/base/memory.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Batches of an evaluation in plans, before the data is read: enough for all
 * slots. */
enum { PLANNED_BATCHES = 1000 };

bool mtlm_options_finetunes(const struct mtlm_options *options)
{
    return options->task && options->task->open;
}

/* ---- before the checkpoint ---- */

/* Whether dir has a checkpoint: 1 or 0; -1: dir cannot be read. */
static int has_checkpoint(const char *dir, struct mtlm_error *err)
{
    struct mtlm_checkpoint_id id;

    return dir ? mtlm_checkpoint_dir_newest(dir, NULL, &id, err) : 0;
}

int mtlm_options_finetune_begin(struct mtlm_options *options,
                                struct mtlm_error *err)
{
    const struct mtlm_task_entry *task =
        options->task_name ? mtlm_task_find(options->task_name) : NULL;
    int found;

    if (!options->pretrained_dir)
        return 0;
    if (!task || !task->open)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--pretrained-checkpoint is for --task mnli, "
                              "qqp, race or squad");
    found = has_checkpoint(options->load_dir, err);
    if (found < 0)
        return -1;
    if (found > 0) {
        mtlm_options_note(options,
                          "--pretrained-checkpoint is not used: --load %s has "
                          "a checkpoint to continue",
                          options->load_dir);
        return 0;
    }
    found = has_checkpoint(options->pretrained_dir, err);
    if (found == 0)
        mtlm_error_set(err, MTLM_EXIT_INPUT,
                       "--pretrained-checkpoint %s: there is no checkpoint",
                       options->pretrained_dir);
    if (found <= 0)
        return -1;
    options->load_instead = options->load_dir;
    options->load_dir = mtlm_strdup(options->pretrained_dir);
    options->source[MTLM_OPT_LOAD] = MTLM_SOURCE_COMMAND_LINE;
    options->finetune = options->new_head = true;
    return 0;
}

int mtlm_options_finetune_compare(const struct mtlm_options *options,
                                  const char *stored, const char *path,
                                  struct mtlm_error *err)
{
    const struct mtlm_task_entry *before =
        stored ? mtlm_task_find(stored) : NULL;
    const struct mtlm_task_entry *now =
        options->task_name ? mtlm_task_find(options->task_name) : NULL;

    if (!now || !now->open || before == now || options->new_head
        || (!before && options->finetune))
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "%s has %s%s, this job has --task %s; "
                          "--pretrained-checkpoint DIR "
                          "takes the body and a new head",
                          path,
                          before ? "the head of --task " : "no head of a task",
                          before ? before->name : "", now->name);
}

/* ---- what follows from the options ---- */

/* Refuses options of other jobs. */
static int refuse_others(const struct mtlm_options *o, struct mtlm_error *err)
{
    static const struct {
        enum mtlm_option_id option;
        const char *job; /* that takes the option; NULL: one without epochs */
    } of_others[] = {
        {MTLM_OPT_TRAIN_ITERS, NULL},
        {MTLM_OPT_TRAIN_SAMPLES, NULL},
        {MTLM_OPT_RAMPUP_BATCH_SIZE, NULL},
        {MTLM_OPT_OVERLAPPING_EVAL, "--task wikitext103"},
        {MTLM_OPT_STRICT_LAMBADA, "--task lambada"},
        {MTLM_OPT_SYNTHETIC, "a pretraining"},
    };

    for (size_t i = 0; i < LENGTH(of_others); i++) {
        const char *name = mtlm_option_name(of_others[i].option);
        const char *job = of_others[i].job;

        if (mtlm_options_source(o, of_others[i].option)
            != MTLM_SOURCE_COMMAND_LINE)
            continue;
        return job ? mtlm_error_set(err, MTLM_EXIT_USAGE, "--%s is for %s",
                                    name, job)
                   : mtlm_error_set(err, MTLM_EXIT_USAGE,
                                    "--%s is not for --task %s, which counts "
                                    "--epochs",
                                    name, o->task->name);
    }
    return 0;
}

static int check_given(const struct mtlm_options *o, struct mtlm_error *err)
{
    if (refuse_others(o, err) < 0)
        return -1;
    if (!o->train_data && !o->eval_only)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--task %s needs --train-data FILE...; mtlm-dag "
                              "--task %s --help says where to get it",
                              o->task->name, o->task->name);
    return mtlm_options_task_files_check(o, MTLM_OPT_TRAIN_DATA, err) < 0
                   || mtlm_options_task_files_check(o, MTLM_OPT_VALID_DATA, err)
                          < 0
               ? -1
               : 0;
}

/* Forgets the course of a pretraining, which a preset or a checkpoint gave, and
 * its data. */
static void forget_pretraining(struct mtlm_options *o)
{
    static const enum mtlm_option_id of_pretraining[] = {
        MTLM_OPT_TRAIN_ITERS,
        MTLM_OPT_TRAIN_SAMPLES,
        MTLM_OPT_RAMPUP_BATCH_SIZE,
        MTLM_OPT_DATA_PATH,
        MTLM_OPT_DATA_ARGS_PATH,
        MTLM_OPT_TRAIN_DATA_PATH,
        MTLM_OPT_VALID_DATA_PATH,
        MTLM_OPT_TEST_DATA_PATH,
        MTLM_OPT_PER_SPLIT_DATA_ARGS_PATH,
        MTLM_OPT_MOCK_DATA,
        MTLM_OPT_EVAL_ITERS,
        MTLM_OPT_EVAL_INTERVAL};
    static const enum mtlm_option_id of_course[] = {
        MTLM_OPT_LR_DECAY_ITERS, MTLM_OPT_LR_DECAY_SAMPLES,
        MTLM_OPT_LR_WARMUP_ITERS, MTLM_OPT_LR_WARMUP_SAMPLES,
        MTLM_OPT_LR_WARMUP_FRACTION};

    mtlm_options_forget_unused(o, of_pretraining, LENGTH(of_pretraining),
                               "task");
    for (size_t i = 0; i < LENGTH(of_course); i++)
        if (mtlm_options_source(o, of_course[i]) == MTLM_SOURCE_PRESET)
            mtlm_options_forget(o, of_course[i]);
    if (mtlm_options_source(o, MTLM_OPT_LR) == MTLM_SOURCE_PRESET)
        o->source[MTLM_OPT_LR] = MTLM_SOURCE_DEFAULT;
}

int mtlm_options_finetune_prepare(struct mtlm_options *options,
                                  struct mtlm_error *err)
{
    if (check_given(options, err) < 0)
        return -1;
    forget_pretraining(options);
    options->eval_iters = PLANNED_BATCHES;
    options->eval_interval = 1;
    return 0;
}

void mtlm_options_finetune_set_head(struct mtlm_model *model,
                                    const struct mtlm_task_entry *task)
{
    if (!task->open)
        return;
    model->head = task->head;
    model->classes = task->classes;
    model->binary_head = false;
}

int mtlm_options_finetune_resolve(struct mtlm_options *options,
                                  struct mtlm_error *err)
{
    const struct mtlm_task_entry *task = options->task;

    /* The words of an answer come from WordPiece's tokens, not from bytes. */
    if (!options->tokenizer || !options->tokenizer->bert
        || (task->head == MTLM_HEAD_SPAN && options->tokenizer->text))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--task %s needs the WordPiece vocabulary of the "
                              "model: give --vocab-file or --tokenizer-model",
                              task->name);
    mtlm_options_finetune_set_head(&options->model, task);
    return 0;
}

int mtlm_options_finetune_check(const struct mtlm_options *options,
                                struct mtlm_error *err)
{
    const int64_t choices = mtlm_model_choices(&options->model);

    if (options->micro_batch_size % choices == 0)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--micro-batch-size %" PRId64
                          " cuts a question of --task %s, which is %" PRId64
                          " samples; give a multiple of %" PRId64,
                          options->micro_batch_size, options->task->name,
                          choices, choices);
}
