/* Reads a configuration file: key = value, one option per line. */

#include "config.h"

#include <stdlib.h>

#include "launch/options/config_file.h"
#include "launch/options/option_table.h"
#include "launch/options/unknown.h"
#include "runtime/base/memory.h"
#include "runtime/file/ini_file.h"

static int add_entry(void *user, int line, const char *section, const char *key,
                     const char *value, struct mtlm_error *err)
{
    struct mtlm_config *config = user;
    const int option = mtlm_option_find(key);

    (void) section; /* a configuration file has no sections */
    if (option < 0)
        return mtlm_unknown_refuse("", key, err);
    if (!mtlm_option_in_file(option))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "this option is for the command line only");
    for (int i = 0; i < config->n; i++)
        if (config->entry[i].option == (enum mtlm_option_id) option)
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "%s is given already in line %d", key,
                                  config->entry[i].line);
    config->entry =
        mtlm_realloc(config->entry, config->n + 1, sizeof(*config->entry));
    config->entry[config->n++] = (struct mtlm_config_entry){
        .option = option, .line = line, .text = mtlm_strdup(value)};
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
    for (int i = 0; i < config->n; i++)
        free(config->entry[i].text);
    free(config->entry);
    *config = (struct mtlm_config){0};
}
