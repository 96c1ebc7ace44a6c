#ifndef MTLM_TRACE_PALETTE_H
#define MTLM_TRACE_PALETTE_H

#include <stdio.h>

#include "launch/trace/boxes.h"

/* What has a colour of its own. */
enum mtlm_trace_kind {
    MTLM_KIND_F,
    MTLM_KIND_B,
    MTLM_KIND_W,
    MTLM_KIND_OPT,
    MTLM_KIND_EVAL,
    MTLM_KIND_SAVE,
    MTLM_KIND_HOST,
    MTLM_KIND_TP,
    MTLM_KIND_PP,
    MTLM_KIND_DP,
    MTLM_KIND_COUNT
};

enum mtlm_trace_kind mtlm_trace_kind(const struct mtlm_trace_box *box,
                                     int lane);

/* Name of its style: class="NAMESHADE". */
const char *mtlm_trace_kind_style(enum mtlm_trace_kind kind);

/* Which of the shades 0 .. shades - 1 a box of this kind has: a later virtual
 * stage of the rank is lighter. */
int mtlm_trace_shade(enum mtlm_trace_kind kind, int chunk, int shades);

/* Its colour, 0xrrggbb; shade: as above. */
uint32_t mtlm_trace_kind_color(enum mtlm_trace_kind kind, int shade,
                               int shades);

/* Writes the style sheet's rules: NAMESHADE for boxes and their text, and
 * sNAME for strokes of communication. */
void mtlm_trace_put_styles(FILE *f, int shades);

/* Writes the legend of the kinds in used, one line that begins at x, y. */
void mtlm_trace_put_legend(FILE *f, const int used[MTLM_KIND_COUNT], int shades,
                           double x, double y);

#endif /* MTLM_TRACE_PALETTE_H */
