#ifndef MTLM_OPTIONS_RECIPE_H
#define MTLM_OPTIONS_RECIPE_H

#include "launch/options/options.h"

/* The course of the training: length, learning rate, weight decay. */

/* Bytes of mtlm_options_recipe_length(). */
enum { MTLM_OPTIONS_RECIPE_LENGTH = 64 };

/* Returns whether the options say how long the training is.  A plan or a
 * simulation does without; a fine-tuning counts once its data is read. */
bool mtlm_options_recipe_has_length(const struct mtlm_options *options);

/* Writes the length of the training for messages: "--train-iters 9", or "the 9
 * iterations of --train-samples" or "--epochs".  Returns text. */
const char *mtlm_options_recipe_length(const struct mtlm_options *options,
                                       char text[MTLM_OPTIONS_RECIPE_LENGTH]);

/* Computes length, learning rate and weight decay of the training. */
int mtlm_options_recipe_resolve(struct mtlm_options *options,
                                struct mtlm_error *err);

/* Refuses values of the recipe that do not fit each other. */
int mtlm_options_recipe_check(const struct mtlm_options *options,
                              struct mtlm_error *err);

#endif /* MTLM_OPTIONS_RECIPE_H */
