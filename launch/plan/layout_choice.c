/* Layout and micro batch: as the options give them, or chosen. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "codelets/attention/attention.h"
#include "codelets/attention/attention_fused.h"
#include "codelets/note.h"
#include "graph/build/stage.h"
#include "launch/options/options_layout.h"
#include "launch/options/options_note.h"
#include "launch/options/options_precision.h"
#include "launch/options/options_resolve.h"
#include "launch/options/options_stages_wish.h"
#include "launch/plan/layout_choice.h"
#include "launch/plan/schedule_choice.h"
#include "runtime/base/plural.h"
#include "runtime/base/text.h"
#include "runtime/base/units.h"

/* Layouts of up to this many stages list each stage. */
enum { FEW_STAGES = 16 };

struct mtlm_wish mtlm_layout_choice_wish(const struct mtlm_options *options,
                                         int workers)
{
    const struct mtlm_options *o = options;
    struct mtlm_wish wish = {
        .config = {.model = o->model,
                   .layout = {.workers = workers, .placement = o->placement},
                   .ramp = o->ramp,
                   .seed = o->seed,
                   .weight_staleness = (int) o->weight_staleness,
                   .distributed_optimizer = o->distributed_optimizer,
                   .bucket_size = o->ddp_bucket_size,
                   .offload = o->offload == MTLM_OFFLOAD_AUTO
                                  ? MTLM_OFFLOAD_NONE
                                  : o->offload,
                   .row_parts = o->row_parts,
                   .sequence_parallel = o->sequence_parallel,
                   .attention_backend = o->attention_backend,
                   .recompute = o->recompute,
                   .params_norm = o->log_params_norm,
                   .count_zeros = o->log_num_zeros,
                   .skip_nan = o->no_check_for_nan,
                   .eval_only = o->eval_only,
                   .measure = o->task ? o->task->measure : MTLM_MEASURE_MEANS,
                   .loads = !o->load_dir ? MTLM_LOAD_NOTHING
                            : o->finetune || o->no_load_optim || o->eval_only
                                ? MTLM_LOAD_WEIGHTS
                                : MTLM_LOAD_ALL,
                   .value = o->bf16   ? MTLM_BF16
                            : o->fp16 ? MTLM_F16
                                      : MTLM_REAL,
                   .save = !o->save_dir || o->eval_only ? MTLM_SAVE_NOTHING
                           : o->no_save_optim           ? MTLM_SAVE_WEIGHTS
                                                        : MTLM_SAVE_ALL,
                   .loss_scale = mtlm_options_precision_scale(o),
                   .clip = o->clip_grad,
                   .beta1 = o->adam_beta1,
                   .beta2 = o->adam_beta2,
                   .epsilon = o->adam_eps,
                   .lr_schedule = o->lr_schedule},
        .stages = mtlm_options_stages_wish(o),
        .order = o->order,
        .order_microbatches = o->order_microbatches,
        .global_batch = mtlm_options_given(o, MTLM_OPT_GLOBAL_BATCH_SIZE)
                            ? o->global_batch_size
                            : 0,
        .eval_iters = o->eval_iters,
        .layout_free = mtlm_options_layout_is_free(o),
        .window_free =
            !mtlm_options_given(o, MTLM_OPT_WINDOW) && !o->stage_windows,
        /* An order decides the number of microbatches. */
        .micro_batch_free = !o->order && mtlm_options_micro_batch_is_free(o)};

    mtlm_schedule_choice_wish(o, &wish.config);
    wish.config = mtlm_wish_config(&wish, o->tensor_parallel,
                                   mtlm_options_pipeline_ranks(o), 1,
                                   o->micro_batch_size);
    return wish;
}

void mtlm_layout_choice_note_alone(struct mtlm_options *options)
{
    mtlm_options_note(options, "one rank: the options give neither "
                               "--world-size nor a layout");
}

void mtlm_layout_choice_wish_gpus(struct mtlm_wish *wish, bool cudnn)
{
    struct mtlm_program_config *config = &wish->config;

    if (config->row_parts == 0)
        config->row_parts = 1;
    if (cudnn || config->attention_backend != MTLM_ATTENTION_AUTO)
        return;
    config->attention_backend = MTLM_ATTENTION_FLASH;
    if (config->value != MTLM_REAL)
        mtlm_note(MTLM_NOTE_ATTENTION, "own kernels (no cuDNN 9.11)");
}

bool mtlm_layout_choice_finds_cudnn(const struct mtlm_options *options)
{
    return (options->bf16 || options->fp16)
           && options->attention_backend != MTLM_ATTENTION_FLASH
           && mtlm_attention_fused_there();
}

/* Refuses jobs that cuDNN never accepts.  A missing library, or a shape without
 * a kernel, is refused when the first node runs. */
static int check_fused(const struct mtlm_options *o, int64_t d,
                       struct mtlm_error *err)
{
    if (o->attention_backend != MTLM_ATTENTION_FUSED
        || ((o->bf16 || o->fp16) && d % 8 == 0 && o->row_parts <= 1
            && o->model.positions == MTLM_POSITIONS_LEARNED))
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--attention-backend fused takes 16 bits (--bf16 or "
                          "--fp16), heads of a multiple of 8 elements (these "
                          "have %" PRId64 "), samples in one part "
                          "(--row-parts 1) and no ALiBi",
                          d);
}

int mtlm_layout_choice_check_gpus(const struct mtlm_options *options,
                                  struct mtlm_error *err)
{
    const struct mtlm_model *model = &options->model;
    const int64_t d = model->hidden_size / model->num_heads;

    if (d <= MTLM_ATTENTION_GPU_D)
        return check_fused(options, d, err);
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "attention on a GPU: --hidden-size %" PRId64
                          " / --num-attention-heads %" PRId64 " = %" PRId64
                          " elements in a head, at most %d are possible; give "
                          "more heads, or --no-gpu",
                          model->hidden_size, model->num_heads, d,
                          MTLM_ATTENTION_GPU_D);
}

/* Returns the number of consecutive stages, from `stage` on, with equal numbers
 * of layers. */
static int equal_stages(const struct mtlm_layout *layout, int64_t num_layers,
                        int stage, int64_t *layers)
{
    const int stages = mtlm_layout_stages(layout);
    int n = 1;

    *layers = mtlm_layout_layer_count(layout, num_layers, stage);
    while (stage + n < stages
           && mtlm_layout_layer_count(layout, num_layers, stage + n) == *layers)
        n++;
    return n;
}

char *mtlm_layout_choice_stages_text(const struct mtlm_layout *layout,
                                     int64_t num_layers)
{
    const int stages = mtlm_layout_stages(layout);
    struct mtlm_text text;
    FILE *out = mtlm_text_open(&text);

    fprintf(out, "%d", stages);
    if (layout->virtual_stages > 1)
        fprintf(out, ", %d on each rank (placement %s)", layout->virtual_stages,
                mtlm_placement_name(layout->placement));
    fputs(", layers", out);
    for (int k = 0, n; k < stages; k += n) {
        int64_t layers;

        n = equal_stages(layout, num_layers, k, &layers);
        if (stages > FEW_STAGES && n > 1)
            fprintf(out, " %d x %" PRId64, n, layers);
        else
            for (int i = 0; i < n; i++)
                fprintf(out, " %" PRId64, layers);
    }
    return mtlm_text_close(&text);
}

/* Notes why the micro batch is smaller than the one of the preset or the
 * checkpoint. */
static void note_micro_batch(struct mtlm_options *options,
                             const struct mtlm_choice *choice)
{
    const char *origin = mtlm_options_micro_batch_origin(options);
    const int64_t wanted = options->micro_batch_size;

    if (options->global_batch_size % (wanted * choice->dp))
        mtlm_options_note(options,
                          "micro batch of %" PRId64 " sample%s: the %s's "
                          "%" PRId64 " do not divide the %" PRId64
                          " of each of %d data-parallel ranks",
                          choice->micro_batch, mtlm_plural(choice->micro_batch),
                          origin, wanted,
                          options->global_batch_size / choice->dp, choice->dp);
    else
        mtlm_options_note(options,
                          "micro batch of %" PRId64 " sample%s: the %s's "
                          "%" PRId64 " need more memory than available",
                          choice->micro_batch, mtlm_plural(choice->micro_batch),
                          origin, wanted);
}

int mtlm_layout_choice_take(struct mtlm_options *options,
                            struct mtlm_wish *wish,
                            const struct mtlm_choice *choice,
                            struct mtlm_error *err)
{
    if (choice->micro_batch != options->micro_batch_size)
        note_micro_batch(options, choice);
    if (options->sequence_parallel && choice->tp == 1)
        mtlm_options_note(options, "--sequence-parallel: without effect, the "
                                   "tensor-parallel size is 1");
    options->tensor_parallel = choice->tp;
    if (!wish->stages.pipeline)
        options->pipeline_parallel = choice->pp;
    options->micro_batch_size = choice->micro_batch;
    if (!mtlm_options_given(options, MTLM_OPT_GLOBAL_BATCH_SIZE)
        && mtlm_options_set_batch(options, choice->micro_batch * choice->dp,
                                  err)
               < 0)
        return -1;
    wish->global_batch = options->global_batch_size;
    wish->config.lr_schedule = options->lr_schedule;
    wish->config.ramp = options->ramp;
    wish->config.window = choice->window;
    return mtlm_schedule_choice_settle(options, wish, choice, err);
}

/* Returns whether two plans of a layout have the same stages and windows, and
 * follow the same order. */
static bool is_same_plan(const struct mtlm_program_config *a,
                         const struct mtlm_program_config *b)
{
    return a->layout.virtual_stages == b->layout.virtual_stages
           && a->layout.placement == b->layout.placement
           && a->schedule == b->schedule && a->order == b->order
           && a->follow == b->follow && a->times == b->times
           && a->window == b->window && a->act_mem == b->act_mem
           && a->more_gradients == b->more_gradients;
}

bool mtlm_layout_choice_plan_again(const struct mtlm_wish *before,
                                   const struct mtlm_wish *wish,
                                   const struct mtlm_hosts *hosts,
                                   struct mtlm_choice *choice)
{
    struct mtlm_program_config first = mtlm_choice_config(before, choice);
    const struct mtlm_program_config config = mtlm_choice_config(wish, choice);

    first.window = choice->window; /* may have grown with the layout */
    if (is_same_plan(&first, &config))
        return false;
    choice->need = mtlm_choose_need_of(hosts, &config);
    choice->least = false;
    return true;
}

/* Returns the largest number of ranks, up to n, that can train the model. */
static int most_ranks(const struct mtlm_wish *wish, int n)
{
    while (n > 1 && !mtlm_choose_any(wish, n))
        n--;
    return n;
}

/* Refuses rows that sequence parallelism cannot share among the ranks. */
static int check_rows(const struct mtlm_wish *wish,
                      const struct mtlm_choice *choice, struct mtlm_error *err)
{
    const struct mtlm_program_config config = mtlm_choice_config(wish, choice);
    /* One part has all rows of a sample. */
    const bool whole = config.model.seq_length % choice->tp == 0;

    if (mtlm_stage_rows_fit(&config))
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "--sequence-parallel: --tensor-model-parallel-size %d does not divide "
        "the rows of every part of a sample, --seq-length %" PRId64
        " in %d part%s; give another --seq-length%s",
        choice->tp, config.model.seq_length, mtlm_stage_parts(&config),
        mtlm_stage_parts(&config) > 1 ? "s" : "",
        whole ? " or --row-parts" : "");
}

int mtlm_layout_choice_make(const struct mtlm_options *options,
                            const struct mtlm_wish *wish,
                            const struct mtlm_hosts *hosts,
                            struct mtlm_choice *choice,
                            struct mtlm_choices *compared,
                            struct mtlm_error *err)
{
    const struct mtlm_model *model = &options->model;
    const struct mtlm_stage_wish *stages = &wish->stages;
    char each[48] = "";

    if ((compared ? mtlm_choose_comparing(wish, hosts, choice, compared)
                  : mtlm_choose(wish, hosts, choice))
        == 0)
        return check_rows(wish, choice, err);
    if (stages->layers)
        snprintf(each, sizeof(each), " (%d in all)", stages->n);
    else if (stages->virtual_stages > 1)
        snprintf(each, sizeof(each), " (%d on each rank)",
                 stages->virtual_stages);
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "%d ranks cannot train this model together: it has %" PRId64
        " layers for pipeline stages%s, %" PRId64 " attention heads and "
        "--ffn-hidden-size %" PRId64 " for tensor-parallel ranks, and "
        "batches of %" PRId64 " samples in microbatches of %" PRId64
        " for data-parallel ones; %s %d",
        hosts->ranks, model->num_layers, each, model->num_heads,
        model->ffn_hidden_size, options->global_batch_size,
        options->micro_batch_size, mtlm_options_asks_ranks(options),
        most_ranks(wish, hosts->ranks));
}

/* Describes where the memory is needed, and how much is available. */
static void describe_memory(const struct mtlm_choice *choice,
                            const struct mtlm_hosts *hosts, char *text,
                            size_t bytes)
{
    const int here =
        hosts->ranks < hosts->per_host ? hosts->ranks : hosts->per_host;
    const bool alone = hosts->ranks == here;

    if (hosts->gpus)
        snprintf(text, bytes,
                 "on each rank's GPU, and the one with least has %.2f GiB for "
                 "it%s",
                 hosts->available / MTLM_GIB,
                 choice->need <= hosts->unshared
                     ? "; it would be enough if no other process held part of "
                       "it (nvidia-smi names those)"
                     : "");
    else
        snprintf(text, bytes,
                 "on %s machine (%d rank%s), %s has %.2f GiB available",
                 alone ? "this" : "a", here, here > 1 ? "s" : "",
                 alone ? "which" : "and the one with least",
                 hosts->available / MTLM_GIB);
}

int mtlm_layout_choice_check_memory(const struct mtlm_options *options,
                                    const struct mtlm_choice *choice,
                                    const struct mtlm_hosts *hosts,
                                    struct mtlm_error *err)
{
    char where[256];

    if (choice->need <= hosts->available)
        return 0;
    if (isinf(choice->need))
        return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                              "an iteration or a validation of %s has more "
                              "nodes than this version can count; give a "
                              "smaller --global-batch-size or --eval-iters",
                              options->preset ? options->preset : "this model");
    describe_memory(choice, hosts, where, sizeof(where));
    return mtlm_error_set(
        err, MTLM_EXIT_RESOURCE,
        "not enough memory: %s (tensor %d x pipeline %d x data %d, micro batch "
        "%" PRId64 ") needs %s%.2f GiB %s",
        options->preset ? options->preset : "this model", choice->tp,
        choice->pp, choice->dp, choice->micro_batch,
        choice->least ? "at least " : "", choice->need / MTLM_GIB, where);
}
