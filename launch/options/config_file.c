/* Reads a configuration file: key = value, one option per line. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "launch/options/config_file.h"
#include "launch/options/megatron.h"
#include "launch/options/option_table.h"
#include "launch/options/unknown.h"
#include "runtime/base/memory.h"
#include "runtime/file/ini_file.h"

static int add_entry(void *user, int line, const char *section, const char *key,
                     const char *value, struct mtlm_error *err)
{
    struct mtlm_config *config = user;
    int option = mtlm_option_find(key);
    char *text = NULL;

    (void) section; /* a configuration file has no sections */
    for (int i = 0; i < config->n; i++)
        if (strcmp(config->entry[i].key, key) == 0)
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "%s is given already in line %d", key,
                                  config->entry[i].line);
    if (option < 0)
        option = mtlm_megatron_translate_key(key, value, &text);
    if (option < 0)
        return mtlm_unknown_refuse("", key, err);
    if (!mtlm_option_in_file(option))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "this option is for the command line only");
    config->entry =
        mtlm_realloc(config->entry, config->n + 1, sizeof(*config->entry));
    config->entry[config->n++] =
        (struct mtlm_config_entry){.option = option,
                                   .line = line,
                                   .key = mtlm_strdup(key),
                                   .text = text ? text : mtlm_strdup(value)};
    return 0;
}

int mtlm_config_read(struct mtlm_config *config, const char *path,
                     struct mtlm_error *err)
{
    const struct mtlm_ini ini = {
        .path = path, .label = "--config", .take = add_entry, .user = config};

    *config = (struct mtlm_config){0};
    return mtlm_ini_file_read(&ini, err);
}

void mtlm_config_free(struct mtlm_config *config)
{
    for (int i = 0; i < config->n; i++) {
        free(config->entry[i].key);
        free(config->entry[i].text);
    }
    free(config->entry);
    *config = (struct mtlm_config){0};
}
