#ifndef MTLM_LOSS_PANEL_H
#define MTLM_LOSS_PANEL_H

/* A panel of the picture of losses: from values to pixels, and its axes. */

#include <stdbool.h>
#include <stdio.h>

/* Pixels of the picture. */
enum {
    MTLM_LOSS_WIDTH = 600,
    MTLM_LOSS_LEFT = 58,
    MTLM_LOSS_RIGHT = 14,
    MTLM_LOSS_FONT = 13,
};

/* Pixels, and the values at the edges. */
struct mtlm_loss_panel {
    double top, height;
    double least_x, most_x; /* iterations */
    double least, most;
};

double mtlm_loss_panel_x(const struct mtlm_loss_panel *panel, double iteration);

/* Values outside the panel are at its edge. */
double mtlm_loss_panel_y(const struct mtlm_loss_panel *panel, double value);

/* Sets the edges to ticks around least and most; infinite: no value is known.
 */
void mtlm_loss_panel_set_edges(struct mtlm_loss_panel *panel, double least,
                               double most);

/* Writes lines and labels of losses, and axis, the name of their axis. */
void mtlm_loss_panel_put_losses(FILE *f, const struct mtlm_loss_panel *panel,
                                const char *axis);

/* The same of a panel of learning rates from 0 on. */
void mtlm_loss_panel_put_rates(FILE *f, const struct mtlm_loss_panel *panel);

/* Writes the lines of iterations.  labels: with numbers below the panel. */
void mtlm_loss_panel_put_iterations(FILE *f,
                                    const struct mtlm_loss_panel *panel,
                                    bool labels);

#endif /* MTLM_LOSS_PANEL_H */
