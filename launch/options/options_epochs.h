#ifndef MTLM_OPTIONS_EPOCHS_H
#define MTLM_OPTIONS_EPOCHS_H

/* The course of a fine-tuning, once its data is read. */

#include "launch/options/options.h"

/* Sets the iterations of all epochs, and evaluations after each epoch.  The
 * learning rate follows.  -1 and MTLM_EXIT_USAGE. */
int mtlm_options_epochs_set(struct mtlm_options *options,
                            int64_t iterations_of_epoch, int64_t eval_iters,
                            struct mtlm_error *err);

#endif /* MTLM_OPTIONS_EPOCHS_H */
