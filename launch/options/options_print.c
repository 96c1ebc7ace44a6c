/* --print-config: all values in the form of the configuration file. */

#include "config.h"

#include "launch/options/option_value.h"
#include "launch/options/options_print.h"

/* Returns whether other options decide the value, always or unless the value is
 * given.  In a file, the value would contradict a later change of those
 * options. */
static bool derived(const struct mtlm_options *options,
                    enum mtlm_option_id option)
{
    const bool gives_way = option == MTLM_OPT_WINDOW
                           || option == MTLM_OPT_PLACEMENT
                           || option == MTLM_OPT_SCHEDULE_MODE;

    return options->source[option] == MTLM_SOURCE_DEFAULT
           && (gives_way || !*mtlm_option_table[option].fallback);
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
        fprintf(out, "%s%s =", derived(options, i) ? "# " : "", o->name);
        if (!mtlm_option_value_absent(options, i)) {
            fputc(' ', out);
            mtlm_option_value_write(options, i, out);
        }
        fputc('\n', out);
    }
}
