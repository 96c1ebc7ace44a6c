#ifndef MTLM_OPTIONS_STORED_PATHS_H
#define MTLM_OPTIONS_STORED_PATHS_H

#include <jansson.h>

#include "launch/options/options.h"

/* Paths among the options that a checkpoint stores.  A later job may run in
 * another directory, and a tokenizer's files may be elsewhere then. */

/* Returns the text of the option, which has a value, as the checkpoint stores
 * the text: paths begin at the root, unless the option could not be read again
 * so.  The caller frees the text. */
char *mtlm_options_stored_path_text(const struct mtlm_options *options,
                                    enum mtlm_option_id option);

/* Notes it where the checkpoint keeps the option's paths as they are given. */
void mtlm_options_stored_path_note(struct mtlm_options *options,
                                   enum mtlm_option_id option);

/* Whether the option is the type or a file of the checkpoint's tokenizer that
 * stays, because the job gives another place of the tokenizer's other files
 * alone.  others: the other options of the checkpoint. */
bool mtlm_options_stored_path_moved(const struct mtlm_options *options,
                                    enum mtlm_option_id option,
                                    const json_t *others);

#endif /* MTLM_OPTIONS_STORED_PATHS_H */
