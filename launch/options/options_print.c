/* --print-config: all values in the form of the configuration file. */

#include "config.h"

#include "launch/options/option_value.h"
#include "launch/options/options_print.h"

/* Returns whether the line is a comment: nobody gave a value.  In a file the
 * value would count as given, and contradict other options or a later change of
 * them. */
static bool is_comment(const struct mtlm_options *options,
                       enum mtlm_option_id option)
{
    /* --pretrained-checkpoint gives --load that value. */
    const bool follows = option == MTLM_OPT_LOAD && options->new_head;

    return follows
           || mtlm_options_source(options, option) == MTLM_SOURCE_DEFAULT
           || mtlm_option_value_absent(options, option);
}

void mtlm_options_print(const struct mtlm_options *options, FILE *out)
{
    int group = -1;

    for (int i = 0; i < MTLM_OPTION_COUNT; i++) {
        const struct mtlm_option *o = &mtlm_option_table[i];

        if (!mtlm_option_in_file(i))
            continue;
        if ((int) o->group != group)
            fprintf(out, "%s# %s\n", group < 0 ? "" : "\n",
                    mtlm_option_group_title[o->group]);
        group = o->group;
        fprintf(out, "%s%s =", is_comment(options, i) ? "# " : "", o->name);
        if (!mtlm_option_value_absent(options, i)) {
            fputc(' ', out);
            mtlm_option_value_write(options, i, out);
        }
        fputc('\n', out);
    }
}
