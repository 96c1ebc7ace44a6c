#ifndef MTLM_MEGATRON_H
#define MTLM_MEGATRON_H

#include <stdbool.h>

#include "launch/options/options.h"

/* Command lines written for Megatron-LM: launch/options/megatron_list.h says
 * what becomes of options that this program does not have itself. */

/* A command line in our own words. */
struct mtlm_words {
    char **word; /* NULL at the end; each is owned */
    int n;
};

/* Turns other spellings into ours and leaves out what changes nothing, with a
 * note for each.  What cannot be left out is refused, all of it at once. */
int mtlm_megatron_translate(struct mtlm_options *options, int argc,
                            char *const argv[], struct mtlm_words *words,
                            struct mtlm_error *err);
void mtlm_words_free(struct mtlm_words *words);

/* What another spelling, without dashes, is called here, or NULL. */
const char *mtlm_megatron_renamed(const char *name);

/* Whether it is one of Megatron-LM's options that we do not have. */
bool mtlm_megatron_has(const char *name);

#endif /* MTLM_MEGATRON_H */
