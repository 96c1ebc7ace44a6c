#ifndef MTLM_TRACE_VIEW_H
#define MTLM_TRACE_VIEW_H

/* Layout of one run in the picture, and the writers of its parts. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "launch/trace/boxes.h"
#include "launch/trace/export/writer.h"

/* Sizes in pixels: the picture, and its margins around the rows. */
enum {
    MTLM_VIEW_WIDTH = 1600,
    MTLM_VIEW_LEFT = 84,
    MTLM_VIEW_RIGHT = 16,
    MTLM_VIEW_TOP = 84,
    MTLM_VIEW_BOTTOM = 40,
    MTLM_VIEW_CUT = 22,     /* width of the band that marks a cut */
    MTLM_VIEW_SMALLER = 75, /* %: size of digits in narrow boxes */
};

/* Hover text: none; abbreviated over compute; over compute; over everything.
 * Less text makes a smaller file. */
enum mtlm_view_detail {
    MTLM_VIEW_BRIEF,
    MTLM_VIEW_SHORT,
    MTLM_VIEW_COMPUTE,
    MTLM_VIEW_FULL
};

struct mtlm_view {
    const struct mtlm_trace *trace;
    struct mtlm_trace_picture *picture;
    int64_t begin_ns, end_ns;   /* visible */
    int64_t last_ns;            /* end of the run */
    struct mtlm_trace_span cut; /* left out between them; empty: nothing */
    double row_height, lane_height, rank_gap;
    double *y; /* [n_rows + 1] top of each row; the last: bottom of all */
    int shades;
    double title_y;
    enum mtlm_view_detail detail;
};

/* Returns the pixel of a time.  Time in the cut is inside a narrow band. */
double mtlm_view_x(const struct mtlm_view *view, int64_t ns);

/* Moves a time in the cut to the cut's end if `later`, else to its begin. */
int64_t mtlm_view_outside(const struct mtlm_view *view, int64_t ns, bool later);
double mtlm_view_height(const struct mtlm_view *view, size_t row);
double mtlm_view_ms(const struct mtlm_view *view, int64_t ns);

/* Write the frame: title; axis, with labels or lines only; rows; iterations. */
void mtlm_view_put_title(FILE *f, const struct mtlm_view *view);
void mtlm_view_put_axis(FILE *f, const struct mtlm_view *view, bool labels);
void mtlm_view_put_rows(FILE *f, const struct mtlm_view *view);
void mtlm_view_put_iterations(FILE *f, const struct mtlm_view *view);

/* Hides the cut under a white band with torn edges; writes nothing without a
 * cut. */
void mtlm_view_put_cut(FILE *f, const struct mtlm_view *view);

/* Writes the boxes. */
void mtlm_view_put_boxes(FILE *f, const struct mtlm_view *view);

#endif /* MTLM_TRACE_VIEW_H */
