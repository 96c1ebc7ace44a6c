/* The virtual stages that options ask for: number per rank, and layers of
 * each. */

#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch/options/option_table.h"
#include "launch/options/options_layout.h"
#include "launch/options/options_prefer.h"
#include "launch/options/options_stages.h"
#include "launch/options/options_stages_wish.h"
#include "runtime/base/memory.h"

enum { MOST_STAGES = 32768, MOST_LAYERS = 32768 };

/* Returns whether each stage between the first and the last has a layer.  Those
 * two have the embedding and the output layer. */
static bool fills_middle(const struct mtlm_options *options)
{
    for (int i = 1; i + 1 < options->n_layers_of_stage; i++)
        if (options->layers_of_stage[i] < 1)
            return false;
    return true;
}

/* Reads the whole numbers of options->stage_layers. */
static int read_list(struct mtlm_options *options, struct mtlm_error *err)
{
    const char *at = options->stage_layers;

    options->layers_of_stage =
        mtlm_calloc(strlen(at) + 1, sizeof(*options->layers_of_stage));
    for (int n = 0; n < MOST_STAGES; n++) {
        char *end;
        const long layers = strtol(at, &end, 10);

        if (end == at || !isdigit((unsigned char) end[-1]) || layers < 0
            || layers > MOST_LAYERS)
            break;
        options->layers_of_stage[n] = layers;
        options->n_layers_of_stage = n + 1;
        end += strspn(end, " ");
        if (!*end && fills_middle(options))
            return 0;
        if (*end != ',')
            break;
        at = end + 1;
    }
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--stage-layers is '%.56s', it must be whole numbers "
                          "from 1 on, such as 3,3,4,2; the first and the last "
                          "may be 0",
                          options->stage_layers);
}

static int check_sum(const struct mtlm_options *options, struct mtlm_error *err)
{
    int64_t sum = 0;

    for (int i = 0; i < options->n_layers_of_stage; i++)
        sum += options->layers_of_stage[i];
    if (sum == options->model.num_layers)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--stage-layers %.56s: together %" PRId64
                          " layers, and --num-layers says %" PRId64,
                          options->stage_layers, sum,
                          options->model.num_layers);
}

int mtlm_options_stages_resolve(struct mtlm_options *options,
                                struct mtlm_error *err)
{
    if (mtlm_options_prefer(options,
                            MTLM_OPT_NUM_VIRTUAL_STAGES_PER_PIPELINE_RANK,
                            MTLM_OPT_NUM_LAYERS_PER_VIRTUAL_PIPELINE_STAGE, err)
            < 0
        || mtlm_options_prefer(options, MTLM_OPT_STAGE_LAYERS,
                               MTLM_OPT_NUM_LAYERS_PER_VIRTUAL_PIPELINE_STAGE,
                               err)
               < 0)
        return -1;
    if (!options->stage_layers)
        return 0;
    return read_list(options, err) < 0 ? -1 : check_sum(options, err);
}

static int refuse_list(const struct mtlm_options *o, int64_t p,
                       struct mtlm_error *err)
{
    if (o->placement == MTLM_PLACEMENT_POLICY)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--stage-layers names %d stages, and with --placement "
            "policy --pipeline-model-parallel-size says %" PRId64,
            o->n_layers_of_stage, p);
    if (o->virtual_stages)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--stage-layers names %d stages, and "
            "--pipeline-model-parallel-size %" PRId64
            " x --num-virtual-stages-per-pipeline-rank %" PRId64
            " are %" PRId64,
            o->n_layers_of_stage, p, o->virtual_stages, p * o->virtual_stages);
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "--stage-layers names %d stages, which is no multiple of "
        "--pipeline-model-parallel-size %" PRId64,
        o->n_layers_of_stage, p);
}

/* Checks placement policy: options give the number of stages, not the stages
 * per rank. */
static int check_policy(const struct mtlm_options *o, struct mtlm_error *err)
{
    if (o->placement != MTLM_PLACEMENT_POLICY)
        return 0;
    if (!mtlm_options_given(o, MTLM_OPT_PIPELINE_MODEL_PARALLEL_SIZE))
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--placement policy needs --pipeline-model-parallel-size, the "
            "number of stages on a rank");
    if (o->virtual_stages > 1 || o->layers_per_stage)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--%s sets the stages of each rank; with --placement policy "
            "--pipeline-model-parallel-size %" PRId64
            " says how many there are",
            mtlm_option_name(
                o->layers_per_stage
                    ? MTLM_OPT_NUM_LAYERS_PER_VIRTUAL_PIPELINE_STAGE
                    : MTLM_OPT_NUM_VIRTUAL_STAGES_PER_PIPELINE_RANK),
            o->pipeline_parallel);
    return 0;
}

/* Refuses stages that no pipeline could hold. */
static int check_any(const struct mtlm_options *o,
                     const struct mtlm_stage_wish *wish, struct mtlm_error *err)
{
    if (wish->layers && wish->virtual_stages
        && wish->n % wish->virtual_stages != 0)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--stage-layers names %d stages, which is no "
            "multiple of --num-virtual-stages-per-pipeline-rank %d",
            wish->n, wish->virtual_stages);
    if (!wish->layers && wish->virtual_stages > o->model.num_layers)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--num-layers %" PRId64
            " cannot fill --num-virtual-stages-per-pipeline-rank %d stages",
            o->model.num_layers, wish->virtual_stages);
    return 0;
}

int mtlm_options_stages_check(const struct mtlm_options *options,
                              struct mtlm_error *err)
{
    const struct mtlm_stage_wish wish = mtlm_options_stages_wish(options);
    const int64_t layers = options->model.num_layers;
    const int64_t p = options->pipeline_parallel;

    if (check_policy(options, err) < 0)
        return -1;
    if (mtlm_options_layout_is_free(options))
        return check_any(options, &wish, err);
    if (mtlm_stage_wish_chunks(&wish, layers,
                               mtlm_options_pipeline_ranks(options))
        > 0)
        return 0;
    if (wish.layers)
        return refuse_list(options, p, err);
    if (wish.layers_per_stage && p <= layers)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--num-layers %" PRId64 " cannot fill the stages that "
            "--pipeline-model-parallel-size %" PRId64
            " and --num-layers-per-virtual-pipeline-stage %" PRId64 " make",
            layers, p, wish.layers_per_stage);
    if (wish.virtual_stages > 1)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--num-layers %" PRId64
            " cannot fill --pipeline-model-parallel-size %" PRId64
            " x --num-virtual-stages-per-pipeline-rank %d = %" PRId64 " stages",
            layers, p, wish.virtual_stages, p * wish.virtual_stages);
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--num-layers %" PRId64
                          " cannot fill --pipeline-model-parallel-size %" PRId64
                          " stages",
                          layers, p);
}

bool mtlm_options_stages_given(const struct mtlm_options *o)
{
    return mtlm_options_given(o, MTLM_OPT_NUM_VIRTUAL_STAGES_PER_PIPELINE_RANK)
           || mtlm_options_given(o,
                                 MTLM_OPT_NUM_LAYERS_PER_VIRTUAL_PIPELINE_STAGE)
           || mtlm_options_given(o, MTLM_OPT_STAGE_LAYERS);
}
