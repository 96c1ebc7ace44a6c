/* Takes back options that are given and do not count. */

#include "config.h"

#include <stdlib.h>

#include "launch/options/option_table.h"
#include "launch/options/options_note.h"
#include "launch/options/options_prefer.h"

void mtlm_options_forget(struct mtlm_options *options,
                         enum mtlm_option_id option)
{
    const enum mtlm_option_type type = mtlm_option_table[option].type;
    void *field = mtlm_option_field(options, option);

    if (type == MTLM_OPTION_REAL)
        *(double *) field = 0;
    else if (mtlm_option_owns_text(option))
        free(*(char **) field), *(char **) field = NULL;
    else if (type == MTLM_OPTION_FLAG)
        *(bool *) field = false;
    else if (type == MTLM_OPTION_RAMP)
        *(struct mtlm_ramp *) field = (struct mtlm_ramp){0};
    else
        *(int64_t *) field = 0;
    options->source[option] = MTLM_SOURCE_DEFAULT;
}

void mtlm_options_note_unused(struct mtlm_options *options,
                              enum mtlm_option_id option, const char *name)
{
    if (mtlm_options_source(options, option) == MTLM_SOURCE_COMMAND_LINE)
        mtlm_options_note(options, "--%s has no effect with --%s",
                          mtlm_option_name(option), name);
}

void mtlm_options_forget_unused(struct mtlm_options *options,
                                const enum mtlm_option_id *option, size_t n,
                                const char *name)
{
    for (size_t i = 0; i < n; i++) {
        mtlm_options_note_unused(options, option[i], name);
        mtlm_options_forget(options, option[i]);
    }
}

bool mtlm_options_is_zero(const struct mtlm_options *options,
                          enum mtlm_option_id option)
{
    const enum mtlm_option_type type = mtlm_option_table[option].type;
    const void *field = mtlm_option_value(options, option);

    return type == MTLM_OPTION_REAL
               ? *(const double *) field == 0
               : type == MTLM_OPTION_INT && *(const int64_t *) field == 0;
}

int mtlm_options_prefer(struct mtlm_options *options, enum mtlm_option_id a,
                        enum mtlm_option_id b, struct mtlm_error *err)
{
    const int from_a = mtlm_options_source(options, a);
    const int from_b = mtlm_options_source(options, b);

    if (!mtlm_options_given(options, a) || !mtlm_options_given(options, b))
        return 0;
    if (from_a < from_b
        || (from_a == from_b && mtlm_options_is_zero(options, a)))
        mtlm_options_forget(options, a);
    else if (from_b < from_a || mtlm_options_is_zero(options, b))
        mtlm_options_forget(options, b);
    else
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--%s and --%s say the same thing twice; give "
                              "one of them",
                              mtlm_option_name(a), mtlm_option_name(b));
    return 0;
}
