#include "config.h"

#include <string.h>

#include "launch/options/megatron.h"
#include "launch/options/option.h"
#include "launch/options/suggest.h"

#define NEEDED "?"

const struct mtlm_option mtlm_option_table[MTLM_OPTION_COUNT] = {
#define OPT(group, name, type, field, fallback, min, max, arg, help)           \
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

int mtlm_option_find(const char *name)
{
    for (int i = 0; i < MTLM_OPTION_COUNT; i++)
        if (strcmp(mtlm_option_table[i].name, name) == 0)
            return i;
    return -1;
}

bool mtlm_option_needed(int option)
{
    return strcmp(mtlm_option_table[option].fallback, NEEDED) == 0;
}

bool mtlm_option_in_file(int option)
{
    const struct mtlm_option *o = &mtlm_option_table[option];

    return o->type != MTLM_OPTION_ACTION
           && o->offset != offsetof(struct mtlm_options, config_file);
}

bool mtlm_option_ends_line(int option)
{
    const struct mtlm_option *o = &mtlm_option_table[option];

    return o->type == MTLM_OPTION_ACTION && o->min != MTLM_REQUEST_CONFIG
           && o->min != MTLM_REQUEST_PLAN;
}

int mtlm_option_unknown(const char *dashes, const char *name,
                        struct mtlm_error *err)
{
    const char *what = *dashes ? "option" : "key";
    const char *other = mtlm_megatron_renamed(name);
    struct mtlm_suggest nearest = {.name = name};

    if (other)
        return mtlm_error_set(err, MTLM_EXIT_USAGE, "%s%s is spelled %s%s here",
                              dashes, name, *dashes ? "--" : "", other);
    if (mtlm_megatron_has(name))
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "%s%s is an option of Megatron-LM that this version does not have",
            dashes, name);
    for (int i = 0; i < MTLM_OPTION_COUNT; i++)
        if (*dashes || mtlm_option_in_file(i))
            mtlm_suggest_offer(&nearest, mtlm_option_table[i].name);
    if (nearest.best)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "unknown %s %s%.60s; did you mean %s%s?", what,
                              dashes, name, *dashes ? "--" : "", nearest.best);
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "unknown %s %s%.60s; mtlm-dag --help lists what "
                          "there is",
                          what, dashes, name);
}
