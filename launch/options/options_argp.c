/* Converts the option table to argp's form. */

#include "config.h"

#include "launch/options/options_argp.h"

void mtlm_options_argp_fill(struct argp_option options[MTLM_ARGP_OPTIONS])
{
    int n = 0;

    for (int i = 0; i < MTLM_OPTION_COUNT; i++) {
        const struct mtlm_option *o = &mtlm_option_table[i];

        if (i == 0 || o->group != mtlm_option_table[i - 1].group)
            options[n++] =
                (struct argp_option){.doc = mtlm_option_group_title[o->group],
                                     .group = o->group + 1};
        options[n++] = (struct argp_option){.name = o->name,
                                            .key = MTLM_ARGP_KEY + i,
                                            .arg = o->arg,
                                            .doc = o->help,
                                            .group = o->group + 1};
    }
    options[n] = (struct argp_option){0};
}
