/* Configurations of any bytes. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "launch/options/config_file.h"
#include "launch/options/option_value.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/memory_file.h"

/* Every value is set, too, and written again. */
static void set_options(const struct mtlm_config *config)
{
    struct mtlm_options options = {0};
    struct mtlm_error err = {0};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    for (int i = 0; i < config->n; i++)
        if (mtlm_option_value_set(&options, config->entry[i].option,
                                  config->entry[i].text, MTLM_SOURCE_CONFIG,
                                  "x", &err)
            < 0)
            fuzz_refused(&err);
        else
            mtlm_option_value_write(&options, config->entry[i].option, out);
    for (int i = 0; i < MTLM_OPTION_COUNT; i++)
        if (mtlm_option_owns_text(i))
            free(*(char **) ((char *) &options + mtlm_option_table[i].offset));
    fclose(out);
    free(text);
}

void fuzz_config(const uint8_t *data, size_t bytes)
{
    struct mtlm_config config;
    struct mtlm_error err = {0};

    memory_file_put(0, "fuzz", data, bytes);
    if (mtlm_config_read(&config, "fuzz", &err) < 0)
        fuzz_refused(&err);
    else
        set_options(&config);
    mtlm_config_free(&config);
}
