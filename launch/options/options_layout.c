/* The layout that the options give, or leave to launch/plan/layout_choice.h. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "launch/options/options_layout.h"
#include "launch/options/options_stages_wish.h"

bool mtlm_options_layout_is_free(const struct mtlm_options *options)
{
    return !mtlm_options_given(options, MTLM_OPT_TENSOR_MODEL_PARALLEL_SIZE)
           && !mtlm_options_given(options,
                                  MTLM_OPT_PIPELINE_MODEL_PARALLEL_SIZE);
}

bool mtlm_options_micro_batch_is_free(const struct mtlm_options *options)
{
    return mtlm_options_source(options, MTLM_OPT_MICRO_BATCH_SIZE)
           <= MTLM_SOURCE_PRESET;
}

const char *mtlm_options_micro_batch_origin(const struct mtlm_options *options)
{
    return mtlm_options_source(options, MTLM_OPT_MICRO_BATCH_SIZE)
                   == MTLM_SOURCE_CHECKPOINT
               ? "checkpoint"
               : "preset";
}

int64_t mtlm_options_pipeline_ranks(const struct mtlm_options *options)
{
    return options->placement == MTLM_PLACEMENT_POLICY
               ? 1
               : options->pipeline_parallel;
}

/* Refuses samples that dp data-parallel ranks cannot share; what: names the
 * option. */
static int check_shared(const struct mtlm_options *o, const char *what,
                        int64_t samples, int64_t dp, struct mtlm_error *err)
{
    /* A micro batch that is free may shrink to a question of a task
     * (graph/predict/choose.h). */
    const bool free = mtlm_options_micro_batch_is_free(o);
    const int64_t choices = mtlm_model_choices(&o->model);

    if (samples % (dp * (free ? choices : o->micro_batch_size)) == 0)
        return 0;
    if (free && choices > 1)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s %" PRId64 " cannot be shared by %" PRId64
                              " data-parallel ranks: a question of the task is "
                              "%" PRId64 " samples",
                              what, samples, dp, choices);
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
    if (mtlm_options_given(o, MTLM_OPT_GLOBAL_BATCH_SIZE)
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

const char *mtlm_options_asks_ranks(const struct mtlm_options *options)
{
    return options->world_size || options->request == MTLM_REQUEST_SIMULATE
               ? "give --world-size"
               : "start with mpirun -n";
}

int mtlm_options_layout_check(const struct mtlm_options *options, int ranks,
                              struct mtlm_error *err)
{
    const int64_t t = options->tensor_parallel;
    const int64_t p = mtlm_options_pipeline_ranks(options);
    const struct mtlm_stage_wish stages = mtlm_options_stages_wish(options);
    char other[96] = "";

    if (ranks % (t * p) == 0)
        return check_batches(options, ranks / (t * p), err);
    if (options->placement == MTLM_PLACEMENT_POLICY)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--tensor-model-parallel-size %" PRId64
            " ranks hold a model with --placement policy, but this job has %d, "
            "which is not a multiple; %s %" PRId64,
            t, ranks, mtlm_options_asks_ranks(options),
            ranks < t ? t : ranks / t * t);
    if (ranks % t == 0
        && ranks / t
               <= mtlm_stage_wish_most_ranks(&stages, options->model.num_layers)
        && !options->schedule_file)
        snprintf(other, sizeof(other),
                 " or give --pipeline-model-parallel-size %" PRId64, ranks / t);
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "--tensor-model-parallel-size %" PRId64
        " x --pipeline-model-parallel-size %" PRId64 " = %" PRId64
        " ranks, but this job has %d, which is not a multiple; %s %" PRId64
        "%s",
        t, p, t * p, ranks, mtlm_options_asks_ranks(options),
        ranks < t * p ? t * p : ranks / (t * p) * (t * p), other);
}
