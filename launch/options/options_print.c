/* --print-config: all values in the form of the configuration file. */

#include "config.h"

#include "launch/options/option_value.h"
#include "launch/options/options_layout.h"
#include "launch/options/options_print.h"

/* Returns whether the line is a comment: nobody gave a value.  In a file the
 * value would count as given, and contradict other options or a later change of
 * them. */
static bool is_comment(const struct mtlm_options *options,
                       enum mtlm_option_id option)
{
    /* The preset's or the checkpoint's: given, it would shrink no more. */
    const bool shrinks = option == MTLM_OPT_MICRO_BATCH_SIZE
                         && mtlm_options_micro_batch_is_free(options);

    return shrinks
           || mtlm_options_source(options, option) == MTLM_SOURCE_DEFAULT
           || mtlm_option_value_absent(options, option);
}

static void print_value(const struct mtlm_options *options,
                        enum mtlm_option_id option, FILE *out)
{
    if (mtlm_option_value_absent(options, option))
        return;
    fputc(' ', out);
    mtlm_option_value_write(options, option, out);
}

struct mtlm_options mtlm_options_as_given(const struct mtlm_options *options)
{
    struct mtlm_options given = *options;

    if (options->new_head)
        given.load_dir = options->load_instead;
    return given;
}

void mtlm_options_print(const struct mtlm_options *options, FILE *out)
{
    /* A run that is started again goes on from the --load of the user. */
    const struct mtlm_options given = mtlm_options_as_given(options);
    int group = -1;

    for (int i = 0; i < MTLM_OPTION_COUNT; i++) {
        const struct mtlm_option *o = &mtlm_option_table[i];

        if (!mtlm_option_in_file(i))
            continue;
        if ((int) o->group != group)
            fprintf(out, "%s# %s\n", group < 0 ? "" : "\n",
                    mtlm_option_group_title[o->group]);
        group = o->group;
        fprintf(out, "%s%s =", is_comment(&given, i) ? "# " : "", o->name);
        print_value(&given, i, out);
        fputc('\n', out);
    }
}
