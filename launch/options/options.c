/* Reads the sources of option values, and frees the values. */

#include "config.h"

#include <stdlib.h>

#include "launch/options/option_table.h"

enum mtlm_option_source mtlm_options_source(const struct mtlm_options *options,
                                            enum mtlm_option_id option)
{
    return options->source[option];
}

bool mtlm_options_given(const struct mtlm_options *options,
                        enum mtlm_option_id option)
{
    return mtlm_options_source(options, option) != MTLM_SOURCE_DEFAULT;
}

void mtlm_options_free(struct mtlm_options *options)
{
    for (int i = 0; i < MTLM_OPTION_COUNT; i++) {
        if (mtlm_option_owns_text(i)) {
            char **text = mtlm_option_field(options, i);

            free(*text);
            *text = NULL;
        }
    }
    free(options->layers_of_stage);
    options->layers_of_stage = NULL;
    free(options->seed_of_run);
    options->seed_of_run = NULL;
    free(options->window_of_stage);
    options->window_of_stage = NULL;
    if (options->order)
        mtlm_order_free(options->order);
    free(options->order);
    options->order = NULL;
    mtlm_stage_times_free(&options->times);
    mtlm_noise_table_free(options->jitter_table);
    options->jitter_table = NULL;
    mtlm_tokenizer_close(options->tokenizer);
    options->tokenizer = NULL;
    free(options->load_instead);
    options->load_instead = NULL;
    free(options->options_path);
    options->options_path = NULL;
    free(options->tokenizer_text);
    options->tokenizer_text = NULL;
    free(options->notes);
    options->notes = NULL;
}
