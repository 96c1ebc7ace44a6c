/* --simulate: which options go with a simulation. */

#include "config.h"

#include <stddef.h>
#include <string.h>

#include "graph/predict/profile.h"
#include "launch/options/options_simulate.h"

bool mtlm_options_published_order(const struct mtlm_options *options)
{
    return options->profile && !(options->ours & MTLM_OURS_OVERLAP);
}

bool mtlm_options_simulate_or_plan(const struct mtlm_options *options)
{
    return options->request == MTLM_REQUEST_PLAN
           || options->request == MTLM_REQUEST_SIMULATE;
}

/* Refuses what is another program than a simulated training. */
static int check_contradictions(const struct mtlm_options *o,
                                struct mtlm_error *err)
{
    const char *other = o->request == MTLM_REQUEST_PLAN ? "dry-run"
                        : o->cluster_file               ? "synthetic"
                        : o->eval_only                  ? "eval-only"
                        : o->task_name                  ? "task"
                        : o->generate                   ? "generate"
                        : o->prompt_file                ? "prompt-file"
                                                        : NULL;

    if (!other)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--simulate predicts a training and contradicts "
                          "--%s; give one of them",
                          other);
}

/* The ending of the file says the format. */
static int check_graph_out(const struct mtlm_options *o, struct mtlm_error *err)
{
    const char *ending = o->graph_out ? strrchr(o->graph_out, '.') : NULL;

    if (!o->graph_out
        || (ending
            && (strcmp(ending, ".rec") == 0 || strcmp(ending, ".et") == 0)))
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--graph-out is '%.200s', its name must end in .rec "
                          "or .et",
                          o->graph_out);
}

/* Refuses what changes durations of a run, or needs a run. */
static int check_effects(const struct mtlm_options *o, struct mtlm_error *err)
{
    if (o->slow_rank.speed > 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--simulate lets one rank stand for its group; "
                              "--slow-rank is for --synthetic, and --jitter "
                              "0,rank=R:TIMES slows a rank here");
    if (o->stretch != 1)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--simulate takes the times of the file; "
                              "--stretch is for --synthetic");
    if (o->pack_weights == MTLM_PACKING_YES)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--simulate packs no weights; leave "
                              "--pack-weights yes out");
    if (o->transport == MTLM_USE_SERIAL
        && o->simulate_engine == MTLM_ENGINE_STARPU)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--transport serial lets collectives take turns, "
                              "and --simulate-engine starpu does not; leave "
                              "one of them out");
    if (o->tensorboard_dir)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--tensorboard-dir needs a run, and --simulate "
                              "runs nothing");
    if (mtlm_options_given(o, MTLM_OPT_TRACE_ITERATIONS))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--simulate has one iteration; "
                              "--trace-microbatches chooses a part for "
                              "--trace DIR");
    if (o->trace_microbatches.last > 0 && !o->trace_dir)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--trace-microbatches is for --trace DIR");
    return check_graph_out(o, err);
}

const struct mtlm_schedule *mtlm_options_simulate_schedule(
    const struct mtlm_options *options, const struct mtlm_schedule *schedule,
    int virtual_stages)
{
    return options->profile && !mtlm_options_given(options, MTLM_OPT_SCHEDULE)
                   && virtual_stages > 1
               ? mtlm_schedule_find("interleaved")
               : schedule;
}

/* Refuses options that choose another order than that of published code. */
static int check_order(const struct mtlm_options *o, struct mtlm_error *err)
{
    const char *other = o->schedule_file ? "schedule-file"
                        : mtlm_options_given(o, MTLM_OPT_SCHEDULE_MODE)
                            ? "schedule-mode"
                            : NULL;

    if (!mtlm_options_published_order(o))
        return 0;
    if (other)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--as follows the order of its schedule; leave "
                              "out --%s",
                              other);
    if (o->simulate_engine == MTLM_ENGINE_STARPU)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--as follows a fixed order, and "
                              "--simulate-engine starpu lets a policy choose; "
                              "leave one of them out");
    return 0;
}

/* Published code follows the order of its schedule.  A file has an order of its
 * own, with B and W apart. */
static int resolve_profile(struct mtlm_options *o, struct mtlm_error *err)
{
    const bool interleaved =
        o->virtual_stages > 1
        || mtlm_options_given(o,
                              MTLM_OPT_NUM_LAYERS_PER_VIRTUAL_PIPELINE_STAGE);

    o->profile = mtlm_profile_find(o->as);
    if (!o->profile)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--as is '%.40s', it must be 2019, 2019-unoverlapped, "
            "v1.0, 2020-09, 2021, 2021-unscattered, 2021-unfused, 2022 or "
            "deepspeed",
            o->as);
    if (check_order(o, err) < 0)
        return -1;
    if (!mtlm_options_given(o, MTLM_OPT_SCHEDULE) && !o->schedule_file)
        o->schedule = mtlm_options_simulate_schedule(
                          o, mtlm_schedule_find("1f1b"), interleaved ? 2 : 1)
                      - mtlm_schedules;
    return 0;
}

int mtlm_options_simulate_resolve(struct mtlm_options *options,
                                  struct mtlm_error *err)
{
    struct mtlm_options *o = options;
    const char *alone = o->as                            ? "as"
                        : o->ignore_memory               ? "ignore-memory"
                        : o->trace_microbatches.last > 0 ? "trace-microbatches"
                        : o->simulate_engine != MTLM_ENGINE_EVALUATOR
                            ? "simulate-engine"
                        : o->graph_out ? "graph-out"
                                       : NULL;

    if (!o->simulate_file && alone)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--%s is for --simulate CLUSTER.ini", alone);
    if (!o->as && o->ours != MTLM_OURS_NOTHING)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--ours replaces parts of published code and is "
                              "for --as");
    if (!o->simulate_file)
        return 0;
    if (o->as && resolve_profile(o, err) < 0)
        return -1;
    if (check_contradictions(o, err) < 0 || check_effects(o, err) < 0)
        return -1;
    if (o->request == MTLM_REQUEST_NONE)
        o->request = MTLM_REQUEST_SIMULATE;
    return 0;
}
