#ifndef MTLM_MEGATRON_H
#define MTLM_MEGATRON_H

#include <stdbool.h>

#include "launch/options/options.h"

/* Command lines for Megatron-LM, translated by the table of
 * launch/options/megatron_list.h. */

/* A translated command line. */
struct mtlm_words {
    char **word; /* NULL at the end; each is owned */
    int n;
};

/* Translates other spellings and leaves out options that change nothing, with
 * a note for each.  Refuses all others at once. */
int mtlm_megatron_translate(struct mtlm_options *options, int argc,
                            char *const argv[], struct mtlm_words *words,
                            struct mtlm_error *err);
void mtlm_words_free(struct mtlm_words *words);

/* Translates a key of a configuration file that was an option of this program.
 * Returns the option that took its place, or -1; *text is that option's value,
 * which the caller frees. */
int mtlm_megatron_translate_key(const char *key, const char *value,
                                char **text);

/* The option of this program for another spelling without dashes, or NULL. */
const char *mtlm_megatron_renamed(const char *name);

/* Whether name is an option of Megatron-LM that this program lacks. */
bool mtlm_megatron_has(const char *name);

#endif /* MTLM_MEGATRON_H */
