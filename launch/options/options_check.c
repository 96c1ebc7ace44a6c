/* Checks values that depend on each other. */

#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "launch/options/option_table.h"
#include "launch/options/options_bound.h"
#include "launch/options/options_check.h"
#include "launch/options/options_finetune.h"
#include "launch/options/options_offload.h"
#include "launch/options/options_recipe.h"
#include "launch/options/options_replan.h"
#include "launch/options/options_simulate.h"
#include "launch/options/options_stages.h"
#include "launch/options/options_staleness.h"
#include "launch/options/options_synthetic.h"
#include "launch/options/options_trace.h"
#include "models/text/byte_tokenizer.h"
#include "models/text/mock_dataset.h"

/* Refuses iterations that the training does not reach.  While its length is
 * unknown, any number is right. */
static int check_reach(const struct mtlm_options *o, struct mtlm_error *err)
{
    const struct mtlm_range *trace = &o->trace_iterations;
    char length[MTLM_OPTIONS_RECIPE_LENGTH];

    if (!mtlm_options_recipe_has_length(o))
        return 0;
    /* Of a loaded run, other batches may have taken some of the samples: its
     * last iteration is known later (launch/checkpoint/job_checkpoint.h). */
    if (!(o->load_dir && mtlm_options_given(o, MTLM_OPT_TRAIN_SAMPLES))
        && trace->last > o->train_iters)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--trace-iterations %" PRId64 ":%" PRId64 " goes beyond %s",
            trace->first, trace->last, mtlm_options_recipe_length(o, length));
    if (!o->load_dir /* a loaded run may begin at any iteration */
        && trace->last > mtlm_options_last_iteration(o, 0))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--trace-iterations %" PRId64 ":%" PRId64
                              " goes beyond --exit-interval %" PRId64,
                              trace->first, trace->last, o->exit_interval);
    if (o->inject_nan > o->train_iters)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE, "--inject-nan %" PRId64 " is beyond %s",
            o->inject_nan, mtlm_options_recipe_length(o, length));
    return 0;
}

static int check_numbers(const struct mtlm_options *o, struct mtlm_error *err)
{
    if (o->world_size && !mtlm_options_simulate_or_plan(o))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--world-size is for --dry-run and --simulate; "
                              "in a run mpirun sets the number of ranks");
    if (o->global_batch_size % o->micro_batch_size)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--global-batch-size %" PRId64
                              " is not a multiple of --micro-batch-size "
                              "%" PRId64,
                              o->global_batch_size, o->micro_batch_size);
    if (check_reach(o, err) < 0)
        return -1;
    if (mtlm_options_given(o, MTLM_OPT_TRACE_ITERATIONS) && !o->trace_dir
        && !o->cluster_file)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--trace-iterations is for --trace DIR or "
                              "--synthetic");
    if (o->save_interval > 0 && !o->save_dir)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--save-interval %" PRId64 " needs --save DIR",
                              o->save_interval);
    if (!o->save_dir && !o->eval_only && (o->keep_last || o->no_save_optim))
        return mtlm_error_set(err, MTLM_EXIT_USAGE, "--%s needs --save DIR",
                              o->keep_last ? "keep-last" : "no-save-optim");
    if (!o->load_dir && (o->no_load_optim || o->no_load_rng || o->finetune))
        return mtlm_error_set(err, MTLM_EXIT_USAGE, "--%s needs --load DIR",
                              o->finetune        ? "finetune"
                              : o->no_load_optim ? "no-load-optim"
                                                 : "no-load-rng");
    if (o->load_best && (!o->load_dir || (!o->eval_only && !o->finetune)))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--load-best needs --load DIR and --eval-only or "
                              "--finetune; a run continues from the newest "
                              "checkpoint");
    if (o->keep_last == 1)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--keep-last 1 leaves nothing to fall back to; "
                              "give 2 or more, or 0 for all");
    return 0;
}

/* Refuses sizes that BERT samples cannot have. */
static int check_bert(const struct mtlm_options *o, struct mtlm_error *err)
{
    const struct mtlm_model *model = &o->model;

    if (model->family != MTLM_BERT)
        return 0;
    if (model->seq_length < MTLM_BERT_SHORTEST)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--seq-length %" PRId64
                              " is too short for a bert, which needs %d tokens",
                              model->seq_length, MTLM_BERT_SHORTEST);
    if (model->vocab_size < MTLM_MOCK_BERT_VOCAB)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--vocab-size %" PRId64
                              " is too small for a bert, which needs %d tokens",
                              model->vocab_size, MTLM_MOCK_BERT_VOCAB);
    if (o->mask_prob * model->seq_length < 1)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--mask-prob %g of --seq-length %" PRId64
                              " is less than a token, and a bert predicts at "
                              "least one of each sample; give %.2g or more",
                              o->mask_prob, model->seq_length,
                              ceil(100.0 / model->seq_length) / 100);
    if (!o->mock_data && !o->tokenizer
        && model->vocab_size != MTLM_BYTE_BERT_VOCAB_SIZE)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--vocab-size %" PRId64
            ": without --vocab-file a bert learns from bytes, a vocabulary of "
            "%d; --mock-data needs no text",
            model->vocab_size, MTLM_BYTE_BERT_VOCAB_SIZE);
    return 0;
}

static int check_divides(const char *name, int64_t value, int64_t t,
                         struct mtlm_error *err)
{
    if (value % t == 0)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "%s %" PRId64 " is not a multiple of "
                          "--tensor-model-parallel-size %" PRId64,
                          name, value, t);
}

/* Refuses a method for whole layers without --recompute-granularity full, and
 * more layers than the model has.  A configuration file may hold what another
 * granularity does not use. */
static int check_recompute(const struct mtlm_options *o, struct mtlm_error *err)
{
    static const enum mtlm_option_id of_full[] = {
        MTLM_OPT_RECOMPUTE_METHOD, MTLM_OPT_RECOMPUTE_NUM_LAYERS};

    for (int i = 0; i < 2; i++)
        if (o->recompute.granularity != MTLM_RECOMPUTE_FULL
            && mtlm_options_source(o, of_full[i]) == MTLM_SOURCE_COMMAND_LINE)
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--%s is for --recompute-granularity full",
                                  mtlm_option_name(of_full[i]));
    if (o->recompute.granularity == MTLM_RECOMPUTE_FULL
        && o->recompute.num_layers > o->model.num_layers)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--recompute-num-layers %" PRId64
                              " is more than the --num-layers %" PRId64
                              " of the model",
                              o->recompute.num_layers, o->model.num_layers);
    return 0;
}

int mtlm_options_check(const struct mtlm_options *options,
                       struct mtlm_error *err)
{
    const struct mtlm_model *model = &options->model;
    const int64_t t = options->tensor_parallel;

    if (mtlm_model_check(model, err) < 0 || check_bert(options, err) < 0
        || check_divides("--num-attention-heads", model->num_heads, t, err) < 0
        || check_divides("--ffn-hidden-size", model->ffn_hidden_size, t, err)
               < 0)
        return -1;
    if (mtlm_options_stages_check(options, err) < 0)
        return -1;
    if (options->row_parts > model->seq_length)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--row-parts %" PRId64
                              " is more than the --seq-length %" PRId64
                              " can be cut into",
                              options->row_parts, model->seq_length);
    if (check_recompute(options, err) < 0
        || mtlm_options_synthetic_check(options, err) < 0
        || mtlm_options_bound_check(options, err) < 0
        || mtlm_options_replan_check(options, err) < 0
        || mtlm_options_offload_check(options, err) < 0
        || mtlm_options_staleness_check(options, err) < 0
        || mtlm_options_finetune_check(options, err) < 0
        || mtlm_options_recipe_check(options, err) < 0)
        return -1;
    return check_numbers(options, err);
}
