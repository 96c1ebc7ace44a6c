/* --generate and --prompt-file: which options they need, refuse and ignore. */

#include "config.h"

#include "launch/options/option_table.h"
#include "launch/options/options_generate.h"
#include "launch/options/options_prefer.h"
#include "launch/options/options_tokenizer.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

bool mtlm_options_generate_wanted(const struct mtlm_options *options)
{
    return options->generate || options->prompt_file;
}

const char *mtlm_options_generate_name(const struct mtlm_options *options)
{
    return mtlm_option_name(options->generate ? MTLM_OPT_GENERATE
                                              : MTLM_OPT_PROMPT_FILE);
}

/* Refuses options of generation in a job without. */
static int refuse_alone(const struct mtlm_options *o, struct mtlm_error *err)
{
    static const enum mtlm_option_id of_generation[] = {
        MTLM_OPT_MAX_NEW_TOKENS, MTLM_OPT_NUM_SAMPLES, MTLM_OPT_TEMPERATURE,
        MTLM_OPT_TOP_K, MTLM_OPT_TOP_P};

    for (size_t i = 0; i < LENGTH(of_generation); i++)
        if (mtlm_options_source(o, of_generation[i])
            == MTLM_SOURCE_COMMAND_LINE)
            return mtlm_error_set(
                err, MTLM_EXIT_USAGE,
                "--%s is for --generate PROMPT or --prompt-file FILE",
                mtlm_option_name(of_generation[i]));
    return 0;
}

/* Refuses outputs that generation does not have. */
static int refuse_outputs(const struct mtlm_options *o, struct mtlm_error *err)
{
    static const enum mtlm_option_id of_others[] = {
        MTLM_OPT_METRICS, MTLM_OPT_TENSORBOARD_DIR, MTLM_OPT_DUMP_LOGITS,
        MTLM_OPT_WEIGHT_HASH};

    for (size_t i = 0; i < LENGTH(of_others); i++)
        if (mtlm_options_given(o, of_others[i]))
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--%s is not for --%s, which writes nothing "
                                  "but text",
                                  mtlm_option_name(of_others[i]),
                                  mtlm_options_generate_name(o));
    return 0;
}

static int check_contradictions(const struct mtlm_options *o,
                                struct mtlm_error *err)
{
    if (o->generate && o->prompt_file)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--generate and --prompt-file contradict each "
                              "other; give one of them");
    if (o->eval_only)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--eval-only and --%s contradict each other; "
                              "give one of them",
                              mtlm_options_generate_name(o));
    if (o->request == MTLM_REQUEST_PLAN)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--dry-run plans a training; leave out --%s",
                              mtlm_options_generate_name(o));
    if (!o->load_dir)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--%s needs --load DIR, the directory of the "
                              "checkpoint",
                              mtlm_options_generate_name(o));
    return 0;
}

/* Forgets options that the checkpoint, a preset or a file gives a training. */
static void forget_training(struct mtlm_options *o)
{
    static const enum mtlm_option_id of_training[] = {
        MTLM_OPT_GLOBAL_BATCH_SIZE,
        MTLM_OPT_RAMPUP_BATCH_SIZE,
        MTLM_OPT_DATA_PATH,
        MTLM_OPT_DATA_ARGS_PATH,
        MTLM_OPT_TRAIN_DATA_PATH,
        MTLM_OPT_VALID_DATA_PATH,
        MTLM_OPT_TEST_DATA_PATH,
        MTLM_OPT_PER_SPLIT_DATA_ARGS_PATH,
        MTLM_OPT_SAVE,
        MTLM_OPT_SAVE_INTERVAL,
        MTLM_OPT_KEEP_LAST,
        MTLM_OPT_EVAL_ITERS,
        MTLM_OPT_SCHEDULE_FILE};
    /* Not numbers or texts: set back below. */
    static const enum mtlm_option_id of_schedules[] = {
        MTLM_OPT_SCHEDULE,         MTLM_OPT_SCHEDULE_MODE,
        MTLM_OPT_ACT_MEM,          MTLM_OPT_SEQUENCE_PARALLEL,
        MTLM_OPT_COLLECTIVE_ORDER, MTLM_OPT_RECOMPUTE_GRANULARITY};

    const char *name = mtlm_options_generate_name(o);

    mtlm_options_forget_unused(o, of_training, LENGTH(of_training), name);
    for (size_t i = 0; i < LENGTH(of_schedules); i++)
        mtlm_options_note_unused(o, of_schedules[i], name);
    o->schedule = 0;
    o->source[MTLM_OPT_SCHEDULE_MODE] = MTLM_SOURCE_DEFAULT;
    o->recompute = (struct mtlm_recompute){0};
    o->act_mem = 0;
    o->sequence_parallel = false;
    o->summary_text = false;
    o->collective_order = MTLM_ORDER_BY_LEADER;
}

/* Whether a precision is meant for generation.  A file that names prompts is no
 * training's, whichever prompts the command line has. */
static bool is_of_generation(const struct mtlm_options *o,
                             enum mtlm_option_id precision)
{
    const enum mtlm_option_source source = mtlm_options_source(o, precision);

    return source == MTLM_SOURCE_COMMAND_LINE
           || (source == MTLM_SOURCE_CONFIG && o->config_has_prompts);
}

/* A CPU converts whole weights of 16 bits for each token. */
static void use_fp32(struct mtlm_options *o)
{
    if (!is_of_generation(o, MTLM_OPT_BF16))
        o->bf16 = false;
    if (!is_of_generation(o, MTLM_OPT_FP16))
        o->fp16 = false;
}

/* Makes every rank hold the model unless the layout is given. */
static void choose_layout(struct mtlm_options *o)
{
    unsigned char *tensor = &o->source[MTLM_OPT_TENSOR_MODEL_PARALLEL_SIZE];
    unsigned char *pipeline = &o->source[MTLM_OPT_PIPELINE_MODEL_PARALLEL_SIZE];

    if (*tensor != MTLM_SOURCE_DEFAULT || *pipeline != MTLM_SOURCE_DEFAULT)
        return;
    o->tensor_parallel = o->pipeline_parallel = 1;
    *tensor = *pipeline = MTLM_SOURCE_CHECKPOINT;
}

int mtlm_options_generate_prepare(struct mtlm_options *options,
                                  struct mtlm_error *err)
{
    if (!mtlm_options_generate_wanted(options))
        return refuse_alone(options, err);
    if (check_contradictions(options, err) < 0
        || refuse_outputs(options, err) < 0)
        return -1;
    options->eval_only = true;
    forget_training(options);
    use_fp32(options);
    choose_layout(options);
    options->micro_batch_size = 1;
    options->source[MTLM_OPT_MICRO_BATCH_SIZE] = MTLM_SOURCE_CHECKPOINT;
    return 0;
}

int mtlm_options_generate_resolve(struct mtlm_options *options,
                                  struct mtlm_error *err)
{
    const char *name = mtlm_options_generate_name(options);

    if (!mtlm_options_generate_wanted(options))
        return 0;
    if (options->model.family == MTLM_BERT)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--%s is for a gpt; a bert predicts masked "
                              "tokens, not the next one",
                              name);
    return mtlm_options_tokenizer_need_text(options, name, err);
}
