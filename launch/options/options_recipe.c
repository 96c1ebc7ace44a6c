/* The course of the training: length, learning rate and weight decay.
 * Iterations and samples are two units of one length and do not mix.  A value
 * from a weaker source, such as a preset, gives way to a value in the other
 * unit from a stronger source. */

#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "launch/options/option_table.h"
#include "launch/options/options_checkpoint.h"
#include "launch/options/options_finetune.h"
#include "launch/options/options_note.h"
#include "launch/options/options_prefer.h"
#include "launch/options/options_recipe.h"
#include "launch/options/options_simulate.h"

/* Pairs of options; at most one of a pair takes effect. */
static const enum mtlm_option_id alternatives[][2] = {
    {MTLM_OPT_TRAIN_ITERS, MTLM_OPT_TRAIN_SAMPLES},
    {MTLM_OPT_LR_DECAY_ITERS, MTLM_OPT_LR_DECAY_SAMPLES},
    {MTLM_OPT_LR_WARMUP_ITERS, MTLM_OPT_LR_WARMUP_SAMPLES},
    {MTLM_OPT_LR_WARMUP_ITERS, MTLM_OPT_LR_WARMUP_FRACTION},
    {MTLM_OPT_LR_WARMUP_SAMPLES, MTLM_OPT_LR_WARMUP_FRACTION},
    {MTLM_OPT_LR_WSD_DECAY_ITERS, MTLM_OPT_LR_WSD_DECAY_SAMPLES},
};

/* Stands for no option. */
#define NONE MTLM_OPTION_COUNT

/* Pairs of options: counts in iterations (--train-iters) and in samples
 * (--train-samples). */
static const enum mtlm_option_id counted[][2] = {
    {MTLM_OPT_LR_DECAY_ITERS, MTLM_OPT_LR_DECAY_SAMPLES},
    {MTLM_OPT_LR_WARMUP_ITERS, MTLM_OPT_LR_WARMUP_SAMPLES},
    {MTLM_OPT_LR_WSD_DECAY_ITERS, MTLM_OPT_LR_WSD_DECAY_SAMPLES},
    {NONE, MTLM_OPT_RAMPUP_BATCH_SIZE},
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

bool mtlm_options_recipe_has_length(const struct mtlm_options *o)
{
    return mtlm_options_given(o, MTLM_OPT_TRAIN_ITERS)
           || mtlm_options_given(o, MTLM_OPT_TRAIN_SAMPLES);
}

const char *mtlm_options_recipe_length(const struct mtlm_options *o,
                                       char text[MTLM_OPTIONS_RECIPE_LENGTH])
{
    const bool samples = mtlm_options_given(o, MTLM_OPT_TRAIN_SAMPLES);

    if (samples || mtlm_options_finetunes(o))
        snprintf(text, MTLM_OPTIONS_RECIPE_LENGTH,
                 "the %" PRId64 " iterations of --%s", o->train_iters,
                 samples ? "train-samples" : "epochs");
    else
        snprintf(text, MTLM_OPTIONS_RECIPE_LENGTH, "--train-iters %" PRId64,
                 o->train_iters);
    return text;
}

static int choose_all(struct mtlm_options *options, struct mtlm_error *err)
{
    char why[MTLM_OPTIONS_CHECKPOINT_WHY];

    for (size_t i = 0; i < LENGTH(alternatives); i++)
        if (mtlm_options_prefer(options, alternatives[i][0], alternatives[i][1],
                                err)
            < 0)
            return -1;
    if (mtlm_options_recipe_has_length(options))
        return 0;
    options->train_iters = 1; /* the iteration never runs */
    if (options->eval_only || mtlm_options_simulate_or_plan(options)
        || mtlm_options_finetunes(options)) /* epochs are counted later */
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "--train-iters is missing (or --train-samples)%s; "
        "give it, or start from a preset such as "
        "--model gpt-tiny",
        mtlm_options_checkpoint_why(options, MTLM_OPT_TRAIN_ITERS, why));
}

/* Tells of a warm-up or a ramp of a preset or a checkpoint that the job does
 * without; same: the option that would give one, or NONE. */
static void note_forgotten(struct mtlm_options *options,
                           enum mtlm_option_id other, enum mtlm_option_id same,
                           enum mtlm_option_id train)
{
    static const char *const whose[] = {[MTLM_SOURCE_CHECKPOINT] =
                                            "the checkpoint",
                                        [MTLM_SOURCE_PRESET] = "the preset",
                                        [MTLM_SOURCE_CONFIG] = "--config"};
    const bool ramp = other == MTLM_OPT_RAMPUP_BATCH_SIZE;
    const bool warmup = other == MTLM_OPT_LR_WARMUP_ITERS
                        || other == MTLM_OPT_LR_WARMUP_SAMPLES;

    if ((!ramp && !warmup) || options->eval_only
        || mtlm_options_simulate_or_plan(options)
        || mtlm_options_is_zero(options, other)
        || (warmup && mtlm_options_given(options, same)))
        return;
    mtlm_options_note(options, "--%s of %s is not used with --%s%s%s",
                      mtlm_option_name(other),
                      whose[mtlm_options_source(options, other)],
                      mtlm_option_name(train), warmup ? "; give --" : "",
                      warmup ? mtlm_option_name(same) : "");
}

/* Refuses an option of the other unit; unit: 0 for iterations, 1 for
 * samples. */
static int check_unit(struct mtlm_options *options,
                      const enum mtlm_option_id pair[2], int unit,
                      struct mtlm_error *err)
{
    static const char *const units[] = {"iterations", "samples"};
    static const enum mtlm_option_id train[] = {MTLM_OPT_TRAIN_ITERS,
                                                MTLM_OPT_TRAIN_SAMPLES};
    const enum mtlm_option_id other = pair[!unit], same = pair[unit];
    const bool paired = same != NONE;

    if (other == NONE || !mtlm_options_given(options, other))
        return 0;
    if (mtlm_options_is_zero(options, other)
        || mtlm_options_source(options, other)
               < mtlm_options_source(options, train[unit])) {
        note_forgotten(options, other, same, train[unit]);
        /* No warm-up is none in either unit. */
        if (paired && mtlm_options_is_zero(options, other)
            && !mtlm_options_given(options, same))
            options->source[same] = options->source[other];
        mtlm_options_forget(options, other);
        return 0;
    }
    if (mtlm_options_finetunes(options) && paired)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--%s counts %s, and --task %s counts %s of --epochs; give --%s%s",
            mtlm_option_name(other), units[!unit], options->task->name,
            units[unit], mtlm_option_name(same),
            other == MTLM_OPT_LR_WARMUP_SAMPLES ? " or --lr-warmup-fraction"
                                                : "");
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE, "--%s counts %s and --%s %s; give %s%s%s--%s",
        mtlm_option_name(other), units[!unit], mtlm_option_name(train[unit]),
        units[unit], paired ? "--" : "", paired ? mtlm_option_name(same) : "",
        paired ? ", or " : "", mtlm_option_name(train[!unit]));
}

/* Converts counts in iterations to counts in samples. */
static void count_iterations(struct mtlm_options *o)
{
    const int64_t batch = o->global_batch_size;

    o->train_samples = o->train_iters * batch;
    if (!mtlm_options_given(o, MTLM_OPT_LR_DECAY_ITERS))
        o->lr_decay_iters = o->train_iters;
    o->lr_decay_samples = o->lr_decay_iters * batch;
    o->lr_warmup_samples = o->lr_warmup_iters * batch;
    o->lr_wsd_decay_samples = o->lr_wsd_decay_iters * batch;
}

static int count_samples(struct mtlm_options *o, struct mtlm_error *err)
{
    o->train_iters =
        mtlm_ramp_iterations(&o->ramp, o->train_samples, 1000000000);
    if (o->train_iters == 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--train-samples %" PRId64
                              " does not make one iteration of "
                              "--global-batch-size %" PRId64,
                              o->train_samples, o->global_batch_size);
    if (!mtlm_options_given(o, MTLM_OPT_LR_DECAY_SAMPLES))
        o->lr_decay_samples = o->train_samples;
    return 0;
}

static int check_ramp(const struct mtlm_options *o, struct mtlm_error *err)
{
    const int64_t each = o->micro_batch_size;
    const struct mtlm_ramp *ramp = &o->ramp;

    if (ramp->increment == 0)
        return 0;
    if (ramp->start >= ramp->full)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--rampup-batch-size starts at %" PRId64
                              ", which is not below --global-batch-size "
                              "%" PRId64,
                              ramp->start, ramp->full);
    if ((ramp->full - ramp->start) % ramp->increment)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--rampup-batch-size does not get from %" PRId64
                              " to --global-batch-size %" PRId64
                              " in steps of %" PRId64,
                              ramp->start, ramp->full, ramp->increment);
    if (ramp->start % each || ramp->increment % each)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--rampup-batch-size: start %" PRId64
                              " and increment %" PRId64
                              " must be multiples of --micro-batch-size "
                              "%" PRId64,
                              ramp->start, ramp->increment, each);
    return 0;
}

static int resolve_weight_decay(struct mtlm_options *o, struct mtlm_error *err)
{
    static const enum mtlm_option_id ends[] = {MTLM_OPT_START_WEIGHT_DECAY,
                                               MTLM_OPT_END_WEIGHT_DECAY};

    o->lr_schedule.weight_decay_samples = o->train_samples;
    if (o->lr_schedule.weight_decay_style != MTLM_WEIGHT_DECAY_CONSTANT) {
        for (int i = 0; i < 2; i++)
            if (!mtlm_options_given(o, ends[i]))
                return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                      "--weight-decay-incr-style needs --%s",
                                      mtlm_option_name(ends[i]));
        if (mtlm_options_source(o, MTLM_OPT_WEIGHT_DECAY)
            == MTLM_SOURCE_COMMAND_LINE)
            mtlm_options_note(
                o, "--weight-decay is not used: --weight-decay-incr-style "
                   "takes --start-weight-decay and --end-weight-decay");
        o->lr_schedule.weight_decay = o->start_weight_decay;
        o->lr_schedule.end_weight_decay = o->end_weight_decay;
        return 0;
    }
    for (int i = 0; i < 2; i++)
        if (mtlm_options_given(o, ends[i]))
            return mtlm_error_set(
                err, MTLM_EXIT_USAGE,
                "--%s contradicts --weight-decay-incr-style constant; give "
                "--weight-decay, or linear or cosine",
                mtlm_option_name(ends[i]));
    o->lr_schedule.weight_decay = o->lr_schedule.end_weight_decay =
        o->weight_decay;
    return 0;
}

int mtlm_options_recipe_resolve(struct mtlm_options *o, struct mtlm_error *err)
{
    struct mtlm_lr_schedule *s = &o->lr_schedule;
    int unit;

    if (choose_all(o, err) < 0)
        return -1;
    unit = mtlm_options_given(o, MTLM_OPT_TRAIN_SAMPLES);
    for (size_t i = 0; i < LENGTH(counted); i++)
        if (check_unit(o, counted[i], unit, err) < 0)
            return -1;
    o->ramp.full = o->global_batch_size;
    if (check_ramp(o, err) < 0)
        return -1;
    if (unit == 0)
        count_iterations(o);
    else if (count_samples(o, err) < 0)
        return -1;
    if (o->lr_wsd_decay_samples > 0 && s->style != MTLM_LR_WSD)
        mtlm_options_note(o,
                          "--lr-wsd-decay-%s is not used without "
                          "--lr-decay-style WSD",
                          unit ? "samples" : "iters");
    s->decay_samples = o->lr_decay_samples;
    s->wsd_samples = o->lr_wsd_decay_samples;
    s->warmup_samples = o->lr_warmup_samples;
    if (mtlm_options_given(o, MTLM_OPT_LR_WARMUP_FRACTION)) {
        s->warmup_samples = o->lr_warmup_fraction * s->decay_samples;
        o->lr_warmup_samples = (int64_t) s->warmup_samples;
    }
    return resolve_weight_decay(o, err);
}

/* Returns whether the options say how long the training is, and how fast it
 * learns. */
static bool has_recipe(const struct mtlm_options *o)
{
    return mtlm_options_given(o, MTLM_OPT_LR)
           && mtlm_options_recipe_has_length(o);
}

/* n samples in the user's unit: "1000 iterations". */
static char *format_samples(const struct mtlm_options *o, double n,
                            char text[48])
{
    const bool samples = mtlm_options_given(o, MTLM_OPT_TRAIN_SAMPLES);

    snprintf(text, 48, "%.10g %s", samples ? n : n / o->global_batch_size,
             samples ? "samples" : "iterations");
    return text;
}

static int check_wsd(const struct mtlm_options *o, struct mtlm_error *err)
{
    const char *unit =
        mtlm_options_given(o, MTLM_OPT_TRAIN_SAMPLES) ? "samples" : "iters";
    char part[48], all[48];

    if (o->lr_schedule.style != MTLM_LR_WSD)
        return 0;
    if (o->lr_schedule.wsd_samples == 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--lr-decay-style WSD needs "
                              "--lr-wsd-decay-%s",
                              unit);
    if (o->lr_schedule.wsd_samples <= o->lr_schedule.decay_samples)
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "--lr-wsd-decay-%s is %s, the whole decay "
        "(--lr-decay-%s) only %s",
        unit, format_samples(o, o->lr_schedule.wsd_samples, part), unit,
        format_samples(o, o->lr_schedule.decay_samples, all));
}

/* The options that set the length of the warm-up and of the decay. */
static enum mtlm_option_id warmup_option(const struct mtlm_options *o)
{
    return mtlm_options_given(o, MTLM_OPT_LR_WARMUP_FRACTION)
               ? MTLM_OPT_LR_WARMUP_FRACTION
           : mtlm_options_given(o, MTLM_OPT_TRAIN_SAMPLES)
               ? MTLM_OPT_LR_WARMUP_SAMPLES
               : MTLM_OPT_LR_WARMUP_ITERS;
}

static enum mtlm_option_id decay_option(const struct mtlm_options *o)
{
    const bool samples = mtlm_options_given(o, MTLM_OPT_TRAIN_SAMPLES);
    const enum mtlm_option_id decay =
        samples ? MTLM_OPT_LR_DECAY_SAMPLES : MTLM_OPT_LR_DECAY_ITERS;

    return mtlm_options_given(o, decay) ? decay
           : samples                    ? MTLM_OPT_TRAIN_SAMPLES
                                        : MTLM_OPT_TRAIN_ITERS;
}

int mtlm_options_recipe_check(const struct mtlm_options *o,
                              struct mtlm_error *err)
{
    const struct mtlm_lr_schedule *s = &o->lr_schedule;
    char warmup[48], decay[48];

    if ((mtlm_options_simulate_or_plan(o) || mtlm_options_finetunes(o))
        && !has_recipe(o))
        return 0;
    if (s->min_lr > s->lr)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--min-lr %.6g is above --lr %.6g", s->min_lr,
                              s->lr);
    if (s->warmup_init > s->lr)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--lr-warmup-init %.6g is above --lr %.6g",
                              s->warmup_init, s->lr);
    if (s->warmup_samples >= s->decay_samples)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--%s: the warm-up of %s is not shorter than the "
                              "decay, which ends after %s (--%s)",
                              mtlm_option_name(warmup_option(o)),
                              format_samples(o, s->warmup_samples, warmup),
                              format_samples(o, s->decay_samples, decay),
                              mtlm_option_name(decay_option(o)));
    if (s->end_weight_decay < s->weight_decay)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--end-weight-decay %.6g is below "
                              "--start-weight-decay %.6g",
                              s->end_weight_decay, s->weight_decay);
    return check_wsd(o, err);
}
