#ifndef MTLM_LOSS_PICTURE_H
#define MTLM_LOSS_PICTURE_H

/* A picture of losses by iteration, as SVG.  Each run has a colour: training
 * loss as a thin line with its running mean, validation losses as circles, test
 * losses as diamonds.  A strip below shows the learning rates. */

#include "launch/report/losses.h"

/* Draws n runs to path, at once or not at all.  Returns -1 and sets *err
 * (MTLM_EXIT_IO) if the file cannot be written. */
int mtlm_loss_picture_write(const char *path, const struct mtlm_losses *run,
                            int n, struct mtlm_error *err);

#endif /* MTLM_LOSS_PICTURE_H */
