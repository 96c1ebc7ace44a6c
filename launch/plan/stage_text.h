#ifndef MTLM_STAGE_TEXT_H
#define MTLM_STAGE_TEXT_H

#include <stdio.h>

#include "graph/layout.h"
#include "graph/schedule/window.h"

/* Times, layers and windows of stages in words.  Of more than 32 stages, the
 * first 32 count, and " ..." follows. */

/* Writes "NAME 1.5 2 ms" for the seconds [stages] of a pass. */
void mtlm_stage_text_pass(const char *name, const double *seconds, int stages,
                          FILE *out);

/* Writes " 8 7 8 9" for the layers of the layout's stages. */
void mtlm_stage_text_layers(const struct mtlm_layout *layout,
                            int64_t num_layers, FILE *out);

/* Writes " 3+1 2" for the windows [stages]: slots until B, and more until W. */
void mtlm_stage_text_windows(const struct mtlm_window *window, int stages,
                             FILE *out);

#endif /* MTLM_STAGE_TEXT_H */
