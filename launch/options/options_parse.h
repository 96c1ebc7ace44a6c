#ifndef MTLM_OPTIONS_PARSE_H
#define MTLM_OPTIONS_PARSE_H

#include "launch/options/options.h"

/* Options from their four sources. */

/* Fills options from the defaults, the preset, the configuration file and the
 * command line.  Each overrides the former, whatever their order on the line.
 * An option given twice on the line counts the last time.  Checks everything
 * that does not depend on the number of ranks.
 *
 * Prints nothing.  Returns MTLM_REQUEST_NONE (0) to train, another
 * enum mtlm_options_request for mtlm_options_answer(), or -1 with the reason in
 * err. In all cases the caller frees options with mtlm_options_free(). */
int mtlm_options_parse(struct mtlm_options *options, int argc, char **argv,
                       struct mtlm_error *err);

/* Fills options from the same line for the run of --seeds with this seed. */
int mtlm_options_parse_seed(struct mtlm_options *options, int argc, char **argv,
                            int64_t seed, struct mtlm_error *err);

#endif /* MTLM_OPTIONS_PARSE_H */
