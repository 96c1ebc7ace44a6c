#ifndef MTLM_OPTIONS_ARGP_H
#define MTLM_OPTIONS_ARGP_H

#include <argp.h>

#include "launch/options/option_table.h"

/* The option table for argp.  Option i has the key MTLM_ARGP_KEY + i.  No key
 * is a character: argp gives no option a short form. */
enum {
    MTLM_ARGP_KEY = 0x1000,
    MTLM_ARGP_OPTIONS = MTLM_OPTION_COUNT + MTLM_OPTION_GROUP_COUNT + 1,
};

/* Fills options: the groups, the options, and a last entry of zeros. */
void mtlm_options_argp_fill(struct argp_option options[MTLM_ARGP_OPTIONS]);

#endif /* MTLM_OPTIONS_ARGP_H */
