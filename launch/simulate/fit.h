#ifndef MTLM_FIT_H
#define MTLM_FIT_H

/* --fit: finds the efficiency of a cluster file with which simulations take the
 * time of measured iterations. */

#include <stdio.h>

#include "launch/options/options.h"

/* Prints the line for the file, and the mean error before and after.  The
 * search goes from a quarter of the file's number to four times, 1 at most.
 * Returns -1 and sets *err if a row is no job, if efficiency changes no row, or
 * if the search ends at a bound. */
int mtlm_fit(const struct mtlm_options *options, FILE *out,
             struct mtlm_error *err);

#endif /* MTLM_FIT_H */
