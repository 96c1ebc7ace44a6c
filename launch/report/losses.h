#ifndef MTLM_LOSSES_H
#define MTLM_LOSSES_H

/* The losses of runs, from their files of --metrics: as a table; for a picture
 * see launch/report/loss_picture.h. */

#include <stdio.h>

#include "launch/log/read_metrics.h"

/* A run. */
struct mtlm_losses {
    const char *name; /* borrowed: its file */
    struct mtlm_curves curves;
    /* [n of the training curve] Mean of the last `width` finite training
     * losses; NaN where the loss is. */
    double *mean;
    int64_t width;
};

/* Reads the file into *losses, which the caller frees.  name stays borrowed.
 * Fails like mtlm_read_metrics(). */
int mtlm_losses_read(struct mtlm_losses *losses, const char *name,
                     struct mtlm_error *err);

/* Frees the curves.  Does nothing for zeroed or freed losses. */
void mtlm_losses_free(struct mtlm_losses *losses);

/* Prints the last losses of n runs, and the least validation loss, a line for
 * each run. */
void mtlm_losses_print(FILE *out, const struct mtlm_losses *run, int n);

#endif /* MTLM_LOSSES_H */
