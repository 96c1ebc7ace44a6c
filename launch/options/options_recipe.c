/* The course of the training: how long, and how learning rate and weight
 * decay go.  Iterations and samples are two ways to say the same, which must
 * not be mixed; what a weaker source (a preset) says one way makes room for
 * what a stronger one says the other way. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "launch/options/option.h"

#define TRAIN_ITERS "train-iters"
#define TRAIN_SAMPLES "train-samples"
#define DECAY_ITERS "lr-decay-iters"
#define DECAY_SAMPLES "lr-decay-samples"
#define WARMUP_ITERS "lr-warmup-iters"
#define WARMUP_SAMPLES "lr-warmup-samples"
#define WARMUP_FRACTION "lr-warmup-fraction"

/* Options of which one at most can hold. */
static const char *const alternatives[][2] = {
    {TRAIN_ITERS, TRAIN_SAMPLES},
    {DECAY_ITERS, DECAY_SAMPLES},
    {WARMUP_ITERS, WARMUP_SAMPLES},
    {WARMUP_ITERS, WARMUP_FRACTION},
    {WARMUP_SAMPLES, WARMUP_FRACTION},
    {"lr-wsd-decay-iters", "lr-wsd-decay-samples"},
};

/* What goes with --train-iters, and what with --train-samples. */
static const char *const counted[][2] = {
    {DECAY_ITERS, DECAY_SAMPLES},
    {WARMUP_ITERS, WARMUP_SAMPLES},
    {"lr-wsd-decay-iters", "lr-wsd-decay-samples"},
    {NULL, "rampup-batch-size"},
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void forget(struct mtlm_options *options, const char *name)
{
    const int option = mtlm_option_find(name);
    void *field = (char *) options + mtlm_option_table[option].offset;

    if (mtlm_option_table[option].type == MTLM_OPTION_REAL)
        *(double *) field = 0;
    else if (mtlm_option_table[option].type == MTLM_OPTION_TEXT)
        free(*(char **) field), *(char **) field = NULL;
    else if (mtlm_option_table[option].type == MTLM_OPTION_RAMP)
        *(struct mtlm_ramp *) field = (struct mtlm_ramp){0};
    else
        *(int64_t *) field = 0;
    options->source[option] = MTLM_SOURCE_DEFAULT;
}

/* A warm-up of 0 is what none given means, and says nothing against another
 * form of it. */
static bool is_zero(const struct mtlm_options *options, const char *name)
{
    const struct mtlm_option *o = &mtlm_option_table[mtlm_option_find(name)];
    const void *field = (const char *) options + o->offset;

    return o->type == MTLM_OPTION_REAL
               ? *(const double *) field == 0
               : o->type == MTLM_OPTION_INT && *(const int64_t *) field == 0;
}

int mtlm_option_prefer(struct mtlm_options *options, const char *a,
                       const char *b, struct mtlm_error *err)
{
    const int from_a = mtlm_option_source(options, a);
    const int from_b = mtlm_option_source(options, b);

    if (!mtlm_option_given(options, a) || !mtlm_option_given(options, b))
        return 0;
    if (from_a < from_b || (from_a == from_b && is_zero(options, a)))
        forget(options, a);
    else if (from_b < from_a || is_zero(options, b))
        forget(options, b);
    else
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--%s and --%s say the same thing twice; give "
                              "one of them",
                              a, b);
    return 0;
}

static int choose_all(struct mtlm_options *options, struct mtlm_error *err)
{
    for (size_t i = 0; i < LENGTH(alternatives); i++)
        if (mtlm_option_prefer(options, alternatives[i][0], alternatives[i][1],
                               err)
            < 0)
            return -1;
    if (mtlm_option_given(options, TRAIN_ITERS)
        || mtlm_option_given(options, TRAIN_SAMPLES))
        return 0;
    options->train_iters = 1; /* which is not done */
    if (options->eval_only)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--train-iters is missing (or --train-samples); "
                          "give it, or start from a preset such as "
                          "--model gpt-tiny");
}

/* unit: 0 counts in iterations, 1 in samples. */
static int check_unit(struct mtlm_options *options, const char *const pair[2],
                      int unit, struct mtlm_error *err)
{
    static const char *const units[] = {"iterations", "samples"};
    static const char *const train[] = {TRAIN_ITERS, TRAIN_SAMPLES};
    const char *other = pair[!unit], *same = pair[unit];

    if (!other || !mtlm_option_given(options, other))
        return 0;
    if (is_zero(options, other)
        || mtlm_option_source(options, other)
               < mtlm_option_source(options, train[unit])) {
        forget(options, other);
        return 0;
    }
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE, "--%s counts %s and --%s %s; give %s%s%s--%s",
        other, units[!unit], train[unit], units[unit], same ? "--" : "",
        same ? same : "", same ? ", or " : "", train[!unit]);
}

/* The counts in iterations as samples, and the iterations to do. */
static void count_iterations(struct mtlm_options *o)
{
    const int64_t batch = o->global_batch_size;

    o->train_samples = o->train_iters * batch;
    if (!mtlm_option_given(o, DECAY_ITERS))
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
    if (!mtlm_option_given(o, DECAY_SAMPLES))
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
    static const char *const ends[] = {"start-weight-decay",
                                       "end-weight-decay"};
    static const char style[] = "weight-decay-incr-style";

    o->schedule.weight_decay_samples = o->train_samples;
    if (o->schedule.weight_decay_style != MTLM_WEIGHT_DECAY_CONSTANT) {
        for (int i = 0; i < 2; i++)
            if (!mtlm_option_given(o, ends[i]))
                return mtlm_error_set(err, MTLM_EXIT_USAGE, "--%s needs --%s",
                                      style, ends[i]);
        if (mtlm_option_source(o, "weight-decay") == MTLM_SOURCE_COMMAND_LINE)
            mtlm_options_note(o,
                              "--weight-decay is not used where --%s says how "
                              "it goes from --%s to --%s",
                              style, ends[0], ends[1]);
        o->schedule.weight_decay = o->start_weight_decay;
        o->schedule.end_weight_decay = o->end_weight_decay;
        return 0;
    }
    for (int i = 0; i < 2; i++)
        if (mtlm_option_given(o, ends[i]))
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--%s contradicts --%s constant; give "
                                  "--weight-decay, or linear or cosine",
                                  ends[i], style);
    o->schedule.weight_decay = o->schedule.end_weight_decay = o->weight_decay;
    return 0;
}

int mtlm_recipe_resolve(struct mtlm_options *o, struct mtlm_error *err)
{
    struct mtlm_schedule *s = &o->schedule;
    int unit;

    if (choose_all(o, err) < 0)
        return -1;
    unit = mtlm_option_given(o, TRAIN_SAMPLES);
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
    if (mtlm_option_given(o, WARMUP_FRACTION)) {
        s->warmup_samples = o->lr_warmup_fraction * s->decay_samples;
        o->lr_warmup_samples = (int64_t) s->warmup_samples;
    }
    return resolve_weight_decay(o, err);
}

/* How the user would say n samples: "1000 iterations". */
static char *say(const struct mtlm_options *o, double n, char text[48])
{
    const bool samples = mtlm_option_given(o, TRAIN_SAMPLES);

    snprintf(text, 48, "%.10g %s", samples ? n : n / o->global_batch_size,
             samples ? "samples" : "iterations");
    return text;
}

static int check_wsd(const struct mtlm_options *o, struct mtlm_error *err)
{
    const char *unit =
        mtlm_option_given(o, TRAIN_SAMPLES) ? "samples" : "iters";
    char part[48], all[48];

    if (o->schedule.style != MTLM_LR_WSD)
        return 0;
    if (o->schedule.wsd_samples == 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--lr-decay-style WSD needs "
                              "--lr-wsd-decay-%s",
                              unit);
    if (o->schedule.wsd_samples <= o->schedule.decay_samples)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--lr-wsd-decay-%s is %s, the whole decay "
                          "(--lr-decay-%s) only %s",
                          unit, say(o, o->schedule.wsd_samples, part), unit,
                          say(o, o->schedule.decay_samples, all));
}

/* Which option the length of the warm-up follows from, and that of the
 * decay. */
static const char *warmup_option(const struct mtlm_options *o)
{
    return mtlm_option_given(o, WARMUP_FRACTION) ? WARMUP_FRACTION
           : mtlm_option_given(o, TRAIN_SAMPLES) ? WARMUP_SAMPLES
                                                 : WARMUP_ITERS;
}

static const char *decay_option(const struct mtlm_options *o)
{
    const bool samples = mtlm_option_given(o, TRAIN_SAMPLES);
    const char *decay = samples ? DECAY_SAMPLES : DECAY_ITERS;

    return mtlm_option_given(o, decay) ? decay
           : samples                   ? TRAIN_SAMPLES
                                       : TRAIN_ITERS;
}

int mtlm_recipe_check(const struct mtlm_options *o, struct mtlm_error *err)
{
    const struct mtlm_schedule *s = &o->schedule;
    char warmup[48], decay[48];

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
                              warmup_option(o),
                              say(o, s->warmup_samples, warmup),
                              say(o, s->decay_samples, decay), decay_option(o));
    if (s->end_weight_decay < s->weight_decay)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--end-weight-decay %.6g is below "
                              "--start-weight-decay %.6g",
                              s->end_weight_decay, s->weight_decay);
    return check_wsd(o, err);
}
