/* Values that follow from others, and values that must fit each other. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "launch/job/synthetic.h"
#include "launch/options/option.h"
#include "models/text/byte_tokenizer.h"
#include "models/text/mock_dataset.h"

static int check_needed(const struct mtlm_options *options,
                        struct mtlm_error *err)
{
    const int lr = mtlm_option_find("lr");

    for (int i = 0; i < MTLM_OPTION_COUNT; i++)
        if (mtlm_option_needed(i) && options->source[i] == MTLM_SOURCE_DEFAULT
            && !(i == lr && options->eval_only))
            return mtlm_error_set(
                err, MTLM_EXIT_USAGE,
                "--%s is missing; give it, or start from a preset such as "
                "--model gpt-tiny",
                mtlm_option_table[i].name);
    return 0;
}

/* Two options that contradict each other; the one from the stronger source
 * counts. */
static int resolve_query_key_scaling(struct mtlm_options *options,
                                     struct mtlm_error *err)
{
    const bool without = options->no_query_key_scaling;
    unsigned char *yes =
        &options->source[mtlm_option_find("apply-query-key-layer-scaling")];
    unsigned char *no =
        &options->source[mtlm_option_find("no-query-key-layer-scaling")];

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
                              "--bert-no-binary-head is for --model-type bert, "
                              "this model is a gpt");
    if (options->eod_mask_loss && bert)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--eod-mask-loss is for --model-type gpt, a bert "
                              "is not asked for the next token");
    model->binary_head = bert && !options->bert_no_binary_head;
    model->num_token_types = bert ? 2 : 0;
    if (model->tanh_head)
        model->exact_gelu = false; /* as Megatron-LM understands the two */
    if (bert && !mtlm_option_given(options, "vocab-size"))
        model->vocab_size = MTLM_BYTE_BERT_VOCAB_SIZE;
    return resolve_query_key_scaling(options, err);
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

/* A batch that the preset did not foresee may be no multiple of its micro
 * batch. */
static void resolve_batch(struct mtlm_options *options)
{
    const int micro = mtlm_option_source(options, "micro-batch-size");
    const int64_t both =
        common_divisor(options->global_batch_size, options->micro_batch_size);

    if (!mtlm_option_given(options, "global-batch-size")) {
        options->global_batch_size = options->micro_batch_size;
    } else if (micro == MTLM_SOURCE_PRESET
               && options->micro_batch_size > both) {
        mtlm_options_note(options,
                          "micro batch of %" PRId64 " samples: the preset's "
                          "%" PRId64 " do not divide the global batch of "
                          "%" PRId64,
                          both, options->micro_batch_size,
                          options->global_batch_size);
        options->micro_batch_size = both;
    }
}

int64_t mtlm_options_last_iteration(const struct mtlm_options *o, int64_t begin)
{
    const int64_t every = o->exit_interval;
    const int64_t next = every > 0 ? (begin / every + 1) * every : 0;

    return next > 0 && next < o->train_iters ? next : o->train_iters;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void mtlm_options_place_trace(struct mtlm_options *options, int64_t begin)
{
    const int64_t last = mtlm_options_last_iteration(options, begin);
    struct mtlm_range *trace = &options->trace_iterations;

    if (mtlm_option_given(options, "trace-iterations"))
        return;
    trace->last = smaller(begin + 5, last);
    trace->first = smaller(begin + 3, trace->last);
}

int mtlm_options_set_batch(struct mtlm_options *options, int64_t batch,
                           struct mtlm_error *err)
{
    options->global_batch_size = batch;
    if (mtlm_recipe_resolve(options, err) < 0)
        return -1;
    mtlm_options_place_trace(options, 0);
    return mtlm_options_check(options, err);
}

int mtlm_options_resolve(struct mtlm_options *options, struct mtlm_error *err)
{
    struct mtlm_model *model = &options->model;

    if (check_needed(options, err) < 0 || resolve_family(options, err) < 0
        || mtlm_options_open_tokenizer(options, err) < 0)
        return -1;
    if (!mtlm_option_given(options, "ffn-hidden-size"))
        model->ffn_hidden_size = 4 * model->hidden_size;
    if (!mtlm_option_given(options, "max-position-embeddings"))
        model->max_positions = model->seq_length;
    if (!mtlm_option_given(options, "tensor-model-parallel-size"))
        options->tensor_parallel = 1;
    if (!mtlm_option_given(options, "pipeline-model-parallel-size"))
        options->pipeline_parallel = 1;
    /* A loss of nothing says nothing. */
    if (options->cluster_file
        && mtlm_option_source(options, "eval-iters") <= MTLM_SOURCE_PRESET)
        options->eval_iters = 0;
    resolve_batch(options);
    if (mtlm_schedule_resolve(options, err) < 0
        || mtlm_stages_resolve(options, err) < 0)
        return -1;
    if (mtlm_precision_resolve(options, err) < 0)
        return -1;
    if (!options->data_path)
        options->mock_data = true;
    if (mtlm_eval_only_resolve(options, err) < 0)
        return -1;
    if (mtlm_recipe_resolve(options, err) < 0)
        return -1;
    mtlm_options_place_trace(options, 0);
    return 0;
}

static int check_numbers(const struct mtlm_options *o, struct mtlm_error *err)
{
    const bool samples = mtlm_option_given(o, "train-samples");

    if (o->world_size && o->request != MTLM_REQUEST_PLAN)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--world-size is for --dry-run; otherwise mpirun "
                              "says how many ranks there are");
    if (o->global_batch_size % o->micro_batch_size)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--global-batch-size %" PRId64
                              " is not a multiple of --micro-batch-size "
                              "%" PRId64,
                              o->global_batch_size, o->micro_batch_size);
    if (o->trace_iterations.last > o->train_iters)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--trace-iterations %" PRId64 ":%" PRId64 " goes beyond %s%" PRId64
            "%s",
            o->trace_iterations.first, o->trace_iterations.last,
            samples ? "the " : "--train-iters ", o->train_iters,
            samples ? " iterations of --train-samples" : "");
    if (!o->load_dir /* or it may begin anywhere */
        && o->trace_iterations.last > mtlm_options_last_iteration(o, 0))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--trace-iterations %" PRId64 ":%" PRId64
                              " goes beyond --exit-interval %" PRId64,
                              o->trace_iterations.first,
                              o->trace_iterations.last, o->exit_interval);
    if (mtlm_option_given(o, "trace-iterations") && !o->trace_dir
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
    if (o->keep_last == 1)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--keep-last 1 leaves nothing to fall back to; "
                              "give 2 or more, or 0 for all");
    if (o->inject_nan > o->train_iters)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--inject-nan %" PRId64
                              " is beyond --train-iters %" PRId64,
                              o->inject_nan, o->train_iters);
    return 0;
}

/* What the samples of a BERT need. */
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

/* The method is that of whole layers; a file may hold all there is. */
static int check_recompute(const struct mtlm_options *o, struct mtlm_error *err)
{
    static const char *const of_full[] = {"recompute-method",
                                          "recompute-num-layers"};

    for (int i = 0; i < 2; i++)
        if (o->recompute.granularity != MTLM_RECOMPUTE_FULL
            && mtlm_option_source(o, of_full[i]) == MTLM_SOURCE_COMMAND_LINE)
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--%s is for --recompute-granularity full",
                                  of_full[i]);
    return 0;
}

static int check_order(const struct mtlm_options *o, struct mtlm_error *err)
{
    if (o->collective_order == MTLM_ORDER_SLOT
        && (o->transport == MTLM_USE_SERIAL || o->transport == MTLM_USE_NCCL))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--collective-order slot needs --transport mpi: "
                              "with %s, one slot's collective could stand in "
                              "the way of another's",
                              o->transport == MTLM_USE_NCCL ? "nccl"
                                                            : "serial");
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
    if (mtlm_stages_check(options, err) < 0)
        return -1;
    if (options->row_parts > model->seq_length)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--row-parts %" PRId64
                              " is more than the --seq-length %" PRId64
                              " can be cut into",
                              options->row_parts, model->seq_length);
    if (check_recompute(options, err) < 0 || check_order(options, err) < 0
        || mtlm_synthetic_check(options, err) < 0
        || mtlm_recipe_check(options, err) < 0)
        return -1;
    return check_numbers(options, err);
}

/* Whether dp data-parallel ranks can share the samples that an option says. */
static int check_shared(const struct mtlm_options *o, const char *what,
                        int64_t samples, int64_t dp, struct mtlm_error *err)
{
    /* A preset's micro batch makes room (graph/predict/choose.h). */
    const bool free =
        mtlm_option_source(o, "micro-batch-size") <= MTLM_SOURCE_PRESET;

    if (samples % (dp * (free ? 1 : o->micro_batch_size)) == 0)
        return 0;
    if (free)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s %" PRId64 " cannot be shared by %" PRId64
                              " data-parallel ranks",
                              what, samples, dp);
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "%s %" PRId64 " is not a multiple of %" PRId64
        ": --micro-batch-size %" PRId64 " x %" PRId64 " data-parallel ranks",
        what, samples, dp * o->micro_batch_size, o->micro_batch_size, dp);
}

static int check_batches(const struct mtlm_options *o, int64_t dp,
                         struct mtlm_error *err)
{
    if (mtlm_option_given(o, "global-batch-size")
        && check_shared(o, "--global-batch-size", o->global_batch_size, dp, err)
               < 0)
        return -1;
    if (o->ramp.increment == 0)
        return 0;
    return check_shared(o, "--rampup-batch-size: start", o->ramp.start, dp, err)
                       < 0
                   || check_shared(o, "--rampup-batch-size: increment",
                                   o->ramp.increment, dp, err)
                          < 0
               ? -1
               : 0;
}

int mtlm_options_layout_check(const struct mtlm_options *options, int ranks,
                              struct mtlm_error *err)
{
    const int64_t t = options->tensor_parallel;
    const int64_t p = mtlm_options_pipeline_ranks(options);
    char other[96] = "";

    if (ranks % (t * p) == 0)
        return check_batches(options, ranks / (t * p), err);
    if (options->placement == MTLM_PLACEMENT_POLICY)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--tensor-model-parallel-size %" PRId64 " ranks hold a model with "
            "--placement policy, but this job has %d, which is no multiple of "
            "that; start it with mpirun -n %" PRId64,
            t, ranks, ranks < t ? t : ranks / t * t);
    if (ranks % t == 0 && ranks / t <= options->model.num_layers)
        snprintf(other, sizeof(other),
                 " or give --pipeline-model-parallel-size %" PRId64, ranks / t);
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "--tensor-model-parallel-size %" PRId64
        " x --pipeline-model-parallel-size %" PRId64 " = %" PRId64
        " ranks, but this job has %d, which is no multiple of that; start it "
        "with mpirun -n %" PRId64 "%s",
        t, p, t * p, ranks, ranks < t * p ? t * p : ranks / (t * p) * (t * p),
        other);
}
