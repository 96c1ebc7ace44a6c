/* Resolves the type of weights and activations, and the loss scale. */

#include "config.h"

#include <math.h>

#include "launch/options/option_table.h"
#include "launch/options/options_note.h"
#include "launch/options/options_precision.h"

static const enum mtlm_option_id of_scale[] = {
    MTLM_OPT_LOSS_SCALE, MTLM_OPT_INITIAL_LOSS_SCALE, MTLM_OPT_MIN_LOSS_SCALE,
    MTLM_OPT_LOSS_SCALE_WINDOW, MTLM_OPT_HYSTERESIS};

enum { OF_SCALE = sizeof(of_scale) / sizeof(of_scale[0]) };

/* Keeps the type from the stronger source. */
static int resolve_type(struct mtlm_options *o, struct mtlm_error *err)
{
    unsigned char *bf16 = &o->source[MTLM_OPT_BF16];
    unsigned char *fp16 = &o->source[MTLM_OPT_FP16];

    if (!o->bf16 || !o->fp16)
        return 0;
    if (*bf16 == *fp16)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--bf16 and --fp16 contradict each other; give "
                              "one of them");
    o->bf16 = *bf16 > *fp16;
    o->fp16 = !o->bf16;
    return 0;
}

/* Notes, or refuses, options of the loss scale without fp16. */
static int without_scale(struct mtlm_options *o, struct mtlm_error *err)
{
    for (int i = 0; i < OF_SCALE; i++) {
        if (mtlm_options_source(o, of_scale[i]) != MTLM_SOURCE_COMMAND_LINE)
            continue;
        if (o->bf16 && of_scale[i] == MTLM_OPT_LOSS_SCALE)
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--%s contradicts --bf16, which needs no "
                                  "scale of the loss; leave out one of them",
                                  mtlm_option_name(of_scale[i]));
        mtlm_options_note(o,
                          "--%s changes nothing here: only --fp16 scales the "
                          "loss",
                          mtlm_option_name(of_scale[i]));
    }
    o->scale.dynamic = false;
    return 0;
}

int mtlm_options_precision_resolve(struct mtlm_options *o,
                                   struct mtlm_error *err)
{
    const double given = o->loss_scale;

    if (resolve_type(o, err) < 0)
        return -1;
    o->scale.hysteresis = (int) o->hysteresis;
    o->scale.dynamic = given == 0;
    if (!o->fp16)
        return without_scale(o, err);
    /* A checkpoint's scale rises to a larger least one. */
    if (mtlm_options_source(o, MTLM_OPT_INITIAL_LOSS_SCALE)
        == MTLM_SOURCE_CHECKPOINT)
        o->scale.initial = fmax(o->scale.initial, o->scale.min);
    if (given == 0 && o->scale.min > o->scale.initial)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--min-loss-scale %g is more than "
                              "--initial-loss-scale %g",
                              o->scale.min, o->scale.initial);
    for (int i = 1; i < OF_SCALE && given > 0; i++)
        if (mtlm_options_source(o, of_scale[i]) == MTLM_SOURCE_COMMAND_LINE)
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--%s contradicts --loss-scale %g, which "
                                  "stays as it is; leave out one of them",
                                  mtlm_option_name(of_scale[i]), given);
    return 0;
}

struct mtlm_loss_scale mtlm_options_precision_scale(
    const struct mtlm_options *o)
{
    struct mtlm_loss_scale scale = o->scale;

    if (!o->fp16)
        return (struct mtlm_loss_scale){0};
    if (!scale.dynamic)
        scale.initial = o->loss_scale;
    return scale;
}
