#ifndef MTLM_OPTIONS_DATA_H
#define MTLM_OPTIONS_DATA_H

#include "launch/options/options.h"
#include "models/text/split.h"

/* Which data each split reads. */

/* Settles --data-path, its kin for one split, and their files; sets mock_data
 * where there are none.  A weaker source gives way, that of --mock-data too.  -1 and MTLM_EXIT_USAGE:
 * options contradict each other, or a list is wrong.  MTLM_EXIT_INPUT,
 * MTLM_EXIT_IO: a file of lists is missing or damaged. */
int mtlm_options_data_resolve(struct mtlm_options *options,
                              struct mtlm_error *err);

/* Returns the option that names the data of a split alone. */
enum mtlm_option_id mtlm_options_data_option(enum mtlm_split split);

#endif /* MTLM_OPTIONS_DATA_H */
