/* Which options of a checkpoint give way to the options of the job. */

#include "config.h"

#include "launch/options/option_table.h"
#include "launch/options/options_settled.h"

/* Groups: an option that is given keeps out the others of its group.  NONE
 * ends a group.  A static loss scale contradicts each option of a dynamic one;
 * these go together. */
#define NONE MTLM_OPTION_COUNT
static const enum mtlm_option_id together[][8] = {
    {MTLM_OPT_DATA_PATH, MTLM_OPT_DATA_ARGS_PATH, MTLM_OPT_TRAIN_DATA_PATH,
     MTLM_OPT_VALID_DATA_PATH, MTLM_OPT_TEST_DATA_PATH,
     MTLM_OPT_PER_SPLIT_DATA_ARGS_PATH, MTLM_OPT_MOCK_DATA, NONE},
    {MTLM_OPT_TOKENIZER_TYPE, MTLM_OPT_VOCAB_FILE, MTLM_OPT_MERGE_FILE,
     MTLM_OPT_TOKENIZER_MODEL, NONE},
    {MTLM_OPT_BF16, MTLM_OPT_FP16, NONE},
    {MTLM_OPT_LOSS_SCALE, MTLM_OPT_INITIAL_LOSS_SCALE, NONE},
    {MTLM_OPT_LOSS_SCALE, MTLM_OPT_MIN_LOSS_SCALE, NONE},
    {MTLM_OPT_LOSS_SCALE, MTLM_OPT_LOSS_SCALE_WINDOW, NONE},
    {MTLM_OPT_LOSS_SCALE, MTLM_OPT_HYSTERESIS, NONE},
    {MTLM_OPT_APPLY_QUERY_KEY_LAYER_SCALING,
     MTLM_OPT_NO_QUERY_KEY_LAYER_SCALING, NONE},
};

enum { GROUPS = sizeof(together) / sizeof(together[0]) };

/* Whether another source than the checkpoint gives the option. */
static bool is_from_elsewhere(const struct mtlm_options *o,
                              enum mtlm_option_id option)
{
    return mtlm_options_source(o, option) > MTLM_SOURCE_CHECKPOINT;
}

/* Whether the user gives a constant weight decay, which needs no course.  That
 * of a preset stood beside the course in the saved run, too. */
static bool is_decay_constant(const struct mtlm_options *o)
{
    return mtlm_options_source(o, MTLM_OPT_WEIGHT_DECAY) > MTLM_SOURCE_PRESET
           || (is_from_elsewhere(o, MTLM_OPT_WEIGHT_DECAY_INCR_STYLE)
               && o->lr_schedule.weight_decay_style
                      == MTLM_WEIGHT_DECAY_CONSTANT);
}

static bool is_of_decay_course(enum mtlm_option_id option)
{
    return option == MTLM_OPT_WEIGHT_DECAY_INCR_STYLE
           || option == MTLM_OPT_START_WEIGHT_DECAY
           || option == MTLM_OPT_END_WEIGHT_DECAY;
}

bool mtlm_options_settled(const struct mtlm_options *o,
                          enum mtlm_option_id option)
{
    if (is_from_elsewhere(o, option))
        return true;
    for (int g = 0; g < GROUPS; g++) {
        bool member = false, given = false;

        for (int i = 0; together[g][i] != NONE; i++) {
            member = member || together[g][i] == option;
            given = given || is_from_elsewhere(o, together[g][i]);
        }
        if (member && given)
            return true;
    }
    return is_of_decay_course(option) && is_decay_constant(o);
}
