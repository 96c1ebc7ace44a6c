#ifndef MTLM_OPTIONS_RECIPE_H
#define MTLM_OPTIONS_RECIPE_H

#include "launch/options/options.h"

/* The course of the training: length, learning rate, weight decay. */

/* Computes length, learning rate and weight decay of the training. */
int mtlm_options_recipe_resolve(struct mtlm_options *options,
                                struct mtlm_error *err);

/* Refuses values of the recipe that do not fit each other. */
int mtlm_options_recipe_check(const struct mtlm_options *options,
                              struct mtlm_error *err);

#endif /* MTLM_OPTIONS_RECIPE_H */
