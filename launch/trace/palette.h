#ifndef MTLM_TRACE_PALETTE_H
#define MTLM_TRACE_PALETTE_H

/* Colours, shades and legend of the picture. */

#include <stdio.h>

#include "launch/trace/boxes.h"

/* Kinds of boxes, each with a colour. */
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
    MTLM_KIND_DISK,
    MTLM_KIND_COUNT
};

enum mtlm_trace_kind mtlm_trace_kind(const struct mtlm_trace_box *box,
                                     int lane);

/* Name of the kind's style: class="NAMESHADE". */
const char *mtlm_trace_kind_style(enum mtlm_trace_kind kind);

/* Shades of messages: data moves; a rank waits for another one. */
enum { MTLM_SHADE_MOVES = 0, MTLM_SHADE_WAITS = 1 };

/* Shade 0 .. shades - 1 of a box: a later virtual stage (chunk) of the rank is
 * lighter. */
int mtlm_trace_shade(enum mtlm_trace_kind kind, int chunk, int shades);

/* Colour of a kind and shade, 0xrrggbb. */
uint32_t mtlm_trace_kind_color(enum mtlm_trace_kind kind, int shade,
                               int shades);

/* Writes the style sheet's rules: NAMESHADE for boxes and their text, and
 * sNAMESHADE for strokes of communication. */
void mtlm_trace_put_styles(FILE *f, int shades);

/* Writes the legend of the used kinds as one line from x, y, of at most that
 * width. */
void mtlm_trace_put_legend(FILE *f, const int used[MTLM_KIND_COUNT], int shades,
                           double x, double y, double width);

#endif /* MTLM_TRACE_PALETTE_H */
