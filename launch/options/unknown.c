/* Names that are no option of this program. */

#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "launch/options/megatron.h"
#include "launch/options/option_table.h"
#include "launch/options/suggest.h"
#include "launch/options/unknown.h"

int mtlm_unknown_refuse(const char *dashes, const char *name,
                        struct mtlm_error *err)
{
    const char *what = *dashes ? "option" : "key";
    const char *other = mtlm_megatron_renamed(name);
    const bool value = other && strchr("=:", other[strlen(other) - 1]);
    struct mtlm_suggest nearest = {.name = name};

    if (other)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s%s is spelled %s%s%s here", dashes, name,
                              *dashes ? "--" : "", other, value ? "VALUE" : "");
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
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "unknown %s %s%.60s; mtlm-dag --help lists all options", what, dashes,
        name);
}
