/* The option table, made from option_list.h. */

#include "config.h"

#include <string.h>

#include "launch/options/option_table.h"

#define NEEDED "?"

const struct mtlm_option mtlm_option_table[MTLM_OPTION_COUNT] = {
#define OPT(group, id, name, type, field, fallback, min, max, arg, help)       \
    {name,                                                                     \
     MTLM_OPTION_GROUP_##group,                                                \
     MTLM_OPTION_##type,                                                       \
     offsetof(struct mtlm_options, field),                                     \
     fallback,                                                                 \
     min,                                                                      \
     max,                                                                      \
     arg,                                                                      \
     help},
    MTLM_OPTION_LIST(OPT)
#undef OPT
};

const char *const mtlm_option_group_title[MTLM_OPTION_GROUP_COUNT] = {
#define GROUP(name, title, about) title,
    MTLM_OPTION_GROUP_LIST(GROUP)
#undef GROUP
};

const char *const mtlm_option_group_about[MTLM_OPTION_GROUP_COUNT] = {
#define GROUP(name, title, about) about,
    MTLM_OPTION_GROUP_LIST(GROUP)
#undef GROUP
};

bool mtlm_option_owns_text(enum mtlm_option_id option)
{
    const enum mtlm_option_type type = mtlm_option_table[option].type;

    return type == MTLM_OPTION_TEXT || type == MTLM_OPTION_WORDS
           || type == MTLM_OPTION_SPLIT || type == MTLM_OPTION_PROMPT;
}

int mtlm_option_find(const char *name)
{
    for (int i = 0; i < MTLM_OPTION_COUNT; i++)
        if (strcmp(mtlm_option_table[i].name, name) == 0)
            return i;
    return -1;
}

const char *mtlm_option_name(enum mtlm_option_id option)
{
    return mtlm_option_table[option].name;
}

void *mtlm_option_field(struct mtlm_options *options,
                        enum mtlm_option_id option)
{
    return (char *) options + mtlm_option_table[option].offset;
}

const void *mtlm_option_value(const struct mtlm_options *options,
                              enum mtlm_option_id option)
{
    return (const char *) options + mtlm_option_table[option].offset;
}

bool mtlm_option_needed(enum mtlm_option_id option)
{
    return strcmp(mtlm_option_table[option].fallback, NEEDED) == 0;
}

bool mtlm_option_in_file(enum mtlm_option_id option)
{
    const struct mtlm_option *o = &mtlm_option_table[option];

    return o->type != MTLM_OPTION_ACTION && o->type != MTLM_OPTION_PROMPT
           && o->offset != offsetof(struct mtlm_options, config_file);
}

bool mtlm_option_ends_line(enum mtlm_option_id option)
{
    const struct mtlm_option *o = &mtlm_option_table[option];

    return o->type == MTLM_OPTION_ACTION && o->min != MTLM_REQUEST_CONFIG
           && o->min != MTLM_REQUEST_PLAN;
}
