/* Values that follow from others: calls the resolver of each topic. */

#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "launch/options/option_table.h"
#include "launch/options/options_check.h"
#include "launch/options/options_checkpoint.h"
#include "launch/options/options_data.h"
#include "launch/options/options_eval.h"
#include "launch/options/options_finetune.h"
#include "launch/options/options_generate.h"
#include "launch/options/options_layout.h"
#include "launch/options/options_note.h"
#include "launch/options/options_order.h"
#include "launch/options/options_precision.h"
#include "launch/options/options_recipe.h"
#include "launch/options/options_resolve.h"
#include "launch/options/options_schedule.h"
#include "launch/options/options_simulate.h"
#include "launch/options/options_stages.h"
#include "launch/options/options_synthetic.h"
#include "launch/options/options_task.h"
#include "launch/options/options_times.h"
#include "launch/options/options_tokenizer.h"
#include "launch/options/options_trace.h"
#include "models/text/byte_tokenizer.h"
#include "runtime/base/plural.h"
#include "runtime/comm/launcher.h"

/* For a checkpoint that holds the model alone: samples have the model's length,
 * and an evaluation takes single samples. */
static void resolve_weights_alone(struct mtlm_options *options)
{
    unsigned char *source = options->source;

    if (source[MTLM_OPT_SEQ_LENGTH] == MTLM_SOURCE_DEFAULT
        && source[MTLM_OPT_MAX_POSITION_EMBEDDINGS] == MTLM_SOURCE_CHECKPOINT) {
        options->model.seq_length = options->model.max_positions;
        source[MTLM_OPT_SEQ_LENGTH] = MTLM_SOURCE_CHECKPOINT;
    }
    if (options->eval_only && options->options_path
        && source[MTLM_OPT_MICRO_BATCH_SIZE] == MTLM_SOURCE_DEFAULT) {
        options->micro_batch_size = 1;
        source[MTLM_OPT_MICRO_BATCH_SIZE] = MTLM_SOURCE_CHECKPOINT;
    }
}

/* Returns whether the options need the option.  An evaluation needs no learning
 * rate; what runs nothing needs no recipe and may choose the micro batch. */
static bool needs(const struct mtlm_options *options,
                  enum mtlm_option_id option)
{
    const bool runs = !mtlm_options_simulate_or_plan(options);

    if (option == MTLM_OPT_MICRO_BATCH_SIZE)
        return runs;
    return mtlm_option_needed(option)
           && !(option == MTLM_OPT_LR && (options->eval_only || !runs));
}

/* Returns whether the job needs a directory of --load that is missing, errno
 * set.  A job that saves there begins without: while there is no directory, the
 * paths are compared. */
static bool lacks_load(const struct mtlm_options *o)
{
    const bool begins = o->save_dir && o->load_dir && !o->eval_only
                        && !o->finetune
                        && strcmp(o->save_dir, o->load_dir) == 0;

    return o->load_dir && !begins && access(o->load_dir, F_OK) < 0;
}

/* Refuses the job that lacks the option.  A fine-tuning takes no learning rate
 * from a preset, and the preset that is named here is no BERT. */
static int refuse_missing(const struct mtlm_options *options,
                          enum mtlm_option_id option, struct mtlm_error *err)
{
    const bool preset = !mtlm_options_finetunes(options);
    char why[MTLM_OPTIONS_CHECKPOINT_WHY];

    if (lacks_load(options))
        return mtlm_error_set(err, MTLM_EXIT_INPUT, "--load %s: %s",
                              options->load_dir, strerror(errno));
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE, "--%s is missing%s; give it%s",
        mtlm_option_name(option),
        mtlm_options_checkpoint_why(options, option, why),
        preset ? ", or start from a preset such as --model gpt-tiny" : "");
}

static int check_needed(const struct mtlm_options *options,
                        struct mtlm_error *err)
{
    for (int i = 0; i < MTLM_OPTION_COUNT; i++)
        if (options->source[i] == MTLM_SOURCE_DEFAULT && needs(options, i))
            return refuse_missing(options, i, err);
    return 0;
}

/* Settles two contradicting options: the stronger source counts. */
static int resolve_query_key_scaling(struct mtlm_options *options,
                                     struct mtlm_error *err)
{
    const bool without = options->no_query_key_scaling;
    unsigned char *yes =
        &options->source[MTLM_OPT_APPLY_QUERY_KEY_LAYER_SCALING];
    unsigned char *no = &options->source[MTLM_OPT_NO_QUERY_KEY_LAYER_SCALING];

    if (without && options->model.query_key_scaling && *yes == *no)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--apply-query-key-layer-scaling and "
                              "--no-query-key-layer-scaling contradict each "
                              "other; give one of them");
    if (without && *no > *yes) {
        options->model.query_key_scaling = false;
        *yes = *no;
    }
    options->no_query_key_scaling = false;
    *no = MTLM_SOURCE_DEFAULT;
    return 0;
}

static int resolve_family(struct mtlm_options *options, struct mtlm_error *err)
{
    struct mtlm_model *model = &options->model;
    const bool bert = model->family == MTLM_BERT;

    if (options->bert_no_binary_head && !bert)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--bert-no-binary-head is for --model-type bert; "
                              "this model is a gpt");
    if (options->eod_mask_loss && bert)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--eod-mask-loss is for --model-type gpt; a bert "
                              "does not predict the next token");
    model->binary_head = bert && !options->bert_no_binary_head;
    model->num_token_types = bert ? 2 : 0;
    if (model->tanh_head)
        model->exact_gelu = false; /* as Megatron-LM understands the two */
    if (bert && !mtlm_options_given(options, MTLM_OPT_VOCAB_SIZE))
        model->vocab_size = MTLM_BYTE_BERT_VOCAB_SIZE;
    return resolve_query_key_scaling(options, err);
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

/* Shrinks a micro batch of a preset or a checkpoint to a divisor of the global
 * batch. */
static void resolve_batch(struct mtlm_options *options)
{
    int64_t both;

    if (!mtlm_options_given(options, MTLM_OPT_MICRO_BATCH_SIZE))
        options->micro_batch_size = 1;
    both =
        common_divisor(options->global_batch_size, options->micro_batch_size);
    if (!mtlm_options_given(options, MTLM_OPT_GLOBAL_BATCH_SIZE)) {
        options->global_batch_size = options->micro_batch_size;
    } else if (mtlm_options_micro_batch_is_free(options)
               && options->micro_batch_size > both) {
        mtlm_options_note(
            options,
            "micro batch of %" PRId64 " sample%s: the %s's "
            "%" PRId64 " do not divide the global batch of "
            "%" PRId64,
            both, mtlm_plural(both), mtlm_options_micro_batch_origin(options),
            options->micro_batch_size, options->global_batch_size);
        options->micro_batch_size = both;
    }
}

static void note_idle(struct mtlm_options *options, enum mtlm_option_id option,
                      bool idle, const char *of)
{
    if (idle
        && mtlm_options_source(options, option) == MTLM_SOURCE_COMMAND_LINE)
        mtlm_options_note(options, "--%s changes nothing here: it is for %s",
                          mtlm_option_name(option), of);
}

/* Notes options that are given for nothing. */
static void note_all_idle(struct mtlm_options *o)
{
    const bool gpt = o->model.family == MTLM_GPT;

    note_idle(o, MTLM_OPT_MASK_PROB, gpt, "a bert");
    note_idle(o, MTLM_OPT_SHORT_SEQ_PROB, gpt, "a bert");
    note_idle(o, MTLM_OPT_DUMP_SAMPLES,
              !mtlm_options_given(o, MTLM_OPT_DUMP_FIRST_STEP),
              "--dump-first-step");
    note_idle(o, MTLM_OPT_OFFLOAD,
              o->eval_only && o->offload == MTLM_OFFLOAD_OPTIMIZER,
              "a training; --offload all moves weights");
    note_idle(o, MTLM_OPT_LR_WSD_DECAY_STYLE,
              o->lr_schedule.style != MTLM_LR_WSD, "--lr-decay-style WSD");
}

int mtlm_options_resolve(struct mtlm_options *options, struct mtlm_error *err)
{
    struct mtlm_model *model = &options->model;

    if (mtlm_options_simulate_resolve(options, err) < 0
        || mtlm_options_generate_prepare(options, err) < 0
        || mtlm_options_task_prepare(options, err) < 0)
        return -1;
    resolve_weights_alone(options);
    if (check_needed(options, err) < 0 || resolve_family(options, err) < 0
        || mtlm_options_tokenizer_open(options, err) < 0
        || mtlm_options_generate_resolve(options, err) < 0
        || mtlm_options_task_resolve(options, err) < 0)
        return -1;
    if (!mtlm_options_given(options, MTLM_OPT_FFN_HIDDEN_SIZE))
        model->ffn_hidden_size = 4 * model->hidden_size;
    if (!mtlm_options_given(options, MTLM_OPT_MAX_POSITION_EMBEDDINGS))
        model->max_positions = model->seq_length;
    if (!mtlm_options_given(options, MTLM_OPT_TENSOR_MODEL_PARALLEL_SIZE))
        options->tensor_parallel = 1;
    if (!mtlm_options_given(options, MTLM_OPT_PIPELINE_MODEL_PARALLEL_SIZE))
        options->pipeline_parallel = 1;
    /* Synthetic runs and simulations compute no loss: no evaluation. */
    if ((options->cluster_file || options->simulate_file)
        && mtlm_options_source(options, MTLM_OPT_EVAL_ITERS)
               <= MTLM_SOURCE_PRESET)
        options->eval_iters = 0;
    /* mpirun gives its ranks pseudo terminals even where its own output is a
     * file.  Asks before MPI starts: MPI then sets the launcher's variables for
     * a lone process, too. */
    options->launched = mtlm_launcher_rank() >= 0;
    resolve_batch(options);
    if (mtlm_options_order_resolve(options, err) < 0
        || mtlm_options_schedule_resolve(options, err) < 0
        || mtlm_options_times_resolve(options, err) < 0
        || mtlm_options_synthetic_resolve(options, err) < 0
        || mtlm_options_stages_resolve(options, err) < 0)
        return -1;
    if (mtlm_options_precision_resolve(options, err) < 0)
        return -1;
    if (mtlm_options_data_resolve(options, err) < 0)
        return -1;
    if (mtlm_options_eval_resolve(options, err) < 0)
        return -1;
    if (mtlm_options_recipe_resolve(options, err) < 0)
        return -1;
    note_all_idle(options);
    mtlm_options_trace_place(options, 0);
    return 0;
}

int mtlm_options_set_batch(struct mtlm_options *options, int64_t batch,
                           struct mtlm_error *err)
{
    options->global_batch_size = batch;
    if (mtlm_options_recipe_resolve(options, err) < 0)
        return -1;
    mtlm_options_trace_place(options, 0);
    return mtlm_options_check(options, err);
}
