/* Writes the boxes of the picture with their hover text. */
#include "config.h"

#include <math.h>

#include "codelets/op.h"
#include "launch/trace/export/view.h"
#include "launch/trace/palette.h"

/* Size of digits in boxes too narrow for full height (class n). */
static const double smaller = MTLM_VIEW_SMALLER / 100.;

static void put_hover(FILE *f, const struct mtlm_view *view,
                      const struct mtlm_trace_box *box, int rank)
{
    fprintf(f, "<title>rank %d", rank);
    if (box->stage >= 0)
        fprintf(f, ", stage %d", box->stage);
    fprintf(f, ", %s",
            box->host        ? "host"
            : box->weight_ns ? "B and W"
                             : mtlm_trace_class_name(box->class));
    if (box->peer >= 0)
        fprintf(f, " %s rank %d", box->class == MTLM_TRACE_SEND ? "to" : "from",
                box->peer);
    if (box->microbatch >= 0)
        fprintf(f, " microbatch %d", box->microbatch);
    if (view->trace->info->svg_ops) {
        fprintf(f, ", %s", mtlm_ops[box->op]->name);
        if (box->layer >= 0)
            fprintf(f, ", layer %d", box->layer);
    }
    fprintf(f, ", iteration %d\n%.3f to %.3f ms: %.3f ms", box->iteration + 1,
            mtlm_view_ms(view, box->begin_ns), mtlm_view_ms(view, box->end_ns),
            1e-6 * (box->end_ns - box->begin_ns));
    if (box->busy.n > 1)
        fprintf(f, ", busy %.3f ms", 1e-6 * box->busy_ns);
    if (box->bytes > 0)
        fprintf(f, ", %.0f bytes, waited %.3f ms, transfer %.3f ms", box->bytes,
                1e-6 * box->wait_ns, 1e-6 * box->transfer_ns);
    fprintf(f, ", %d operation%s</title>", box->ops, box->ops > 1 ? "s" : "");
}

static double number_size(const struct mtlm_view *view)
{
    return fmin(14, 0.6 * view->row_height);
}

/* Returns the baseline of a row's text, from the row's top.  Boxes are placed
 * relative to the baseline, so their numbers need no y. */
static double baseline(const struct mtlm_view *view, size_t row)
{
    const double h = mtlm_view_height(view, row);

    return h / 2 + 0.35 * fmin(14, 0.6 * h);
}

static void put_rect(FILE *f, const char *style, int shade, const char *more,
                     double x, double w, double y, double h)
{
    fprintf(f, "<path class=\"%s%d\"%s d=\"M%.2f %.1fh%.2fv%.1fh-%.2fz\"/>",
            style, shade, more, x, y, w, h, w);
}

/* Width of so many digits of that height, with margins. */
static double number_width(int digits, double size)
{
    return 0.62 * size * digits + (size < 6 ? 1 : 2);
}

/* Writes the microbatch if the number fits into the box, if necessary in
 * smaller digits. */
static void put_number(FILE *f, const struct mtlm_view *view,
                       const struct mtlm_trace_box *box)
{
    const double size = number_size(view);
    const double begin =
        mtlm_view_x(view, mtlm_view_outside(view, box->begin_ns, true));
    const double end =
        mtlm_view_x(view, mtlm_view_outside(view, box->end_ns, false));
    char number[16];
    int digits;

    if (box->microbatch < 0 || box->host
        || view->picture->row[box->row].worker < 0)
        return;
    digits = snprintf(number, sizeof(number), "%d", box->microbatch);
    if (end - begin >= number_width(digits, size))
        fprintf(f, "<text x=\"%.1f\">%s</text>", (begin + end) / 2, number);
    else if (end - begin >= number_width(digits, smaller * size))
        fprintf(f, "<text class=\"n\" x=\"%.1f\">%s</text>", (begin + end) / 2,
                number);
}

/* Writes the spans of the operations as part of a path. */
static void put_spans(FILE *f, const struct mtlm_view *view,
                      const struct mtlm_trace_box *box, double y, double h)
{
    for (size_t i = 0; i < box->busy.n; i++) {
        const double x = mtlm_view_x(view, box->busy.span[i].begin_ns);
        const double end = mtlm_view_x(view, box->busy.span[i].end_ns);
        const double hair = end - x > 3 ? 0.6 : 0;

        fprintf(f, "M%.1f %.1fh%.1fv%.1fH%.1fz", x, y,
                fmax(end - hair - x, 0.2), h, x);
    }
}

/* A part of a box's height with its own colour. */
struct box_part {
    enum mtlm_trace_kind kind;
    int shade;
    double y, h; /* y: from the baseline */
};

static int parts_of(const struct mtlm_view *view,
                    const struct mtlm_trace_box *box, struct box_part part[2])
{
    const int lane = view->picture->row[box->row].lane;
    const enum mtlm_trace_kind kind = mtlm_trace_kind(box, lane);
    const double h = mtlm_view_height(view, box->row);
    const int shade = mtlm_trace_shade(kind, box->chunk, view->shades);

    part[0] = (struct box_part){kind, shade, -baseline(view, box->row), h};
    if (!box->weight_ns)
        return 1;
    /* B above W, in proportion. */
    part[1] = part[0];
    part[1].kind = MTLM_KIND_W;
    part[1].h = h * box->weight_ns / box->busy_ns;
    part[0].h -= part[1].h;
    part[1].y += part[0].h;
    return 2;
}

/* "F3 of stage 1: 2.0 ms", "OPT of rank 0: 1.0 ms" */
static void put_short_hover(FILE *f, const struct mtlm_view *view,
                            const struct mtlm_trace_box *box)
{
    fprintf(f, "<title>%s%s", mtlm_trace_class_name(box->class),
            box->weight_ns ? "W" : "");
    if (box->microbatch >= 0)
        fprintf(f, "%d", box->microbatch);
    if (box->stage >= 0)
        fprintf(f, " of stage %d", box->stage);
    else
        fprintf(f, " of rank %d", view->picture->row[box->row].rank);
    fprintf(f, ": %.1f ms</title>", 1e-6 * (box->end_ns - box->begin_ns));
}

static void put_short_box(FILE *f, const struct mtlm_view *view,
                          const struct mtlm_trace_box *box)
{
    struct box_part part[2];
    const int parts = parts_of(view, box, part);

    fputs("<g>", f);
    for (int i = 0; i < parts; i++) {
        fprintf(f, "<path class=\"%s%d\" d=\"",
                mtlm_trace_kind_style(part[i].kind), part[i].shade);
        put_spans(f, view, box, part[i].y, part[i].h);
        fputs("\">", f);
        put_short_hover(f, view, box);
        fputs("</path>", f);
    }
    put_number(f, view, box);
    fputs("</g>\n", f);
}

static void put_part(FILE *f, const struct mtlm_view *view,
                     const struct mtlm_trace_box *box,
                     const struct box_part *part)
{
    const char *style = mtlm_trace_kind_style(part->kind);
    const double begin = mtlm_view_x(view, box->begin_ns);
    const double end = mtlm_view_x(view, box->end_ns);

    /* Gaps between operations show the box. */
    if (box->busy.n > 1)
        put_rect(f, style, part->shade, " fill-opacity=\".3\"", begin,
                 end - begin, part->y, part->h);
    for (size_t i = 0; i < box->busy.n; i++) {
        const double x = mtlm_view_x(view, box->busy.span[i].begin_ns);
        const double w = mtlm_view_x(view, box->busy.span[i].end_ns) - x;
        /* A thin gap separates neighbours of one colour. */
        const double hair = w > 4 && i == box->busy.n - 1 ? 0.6 : 0;

        put_rect(f, style, part->shade, "", x, fmax(w - hair, 0.15), part->y,
                 part->h);
    }
}

static void put_box(FILE *f, const struct mtlm_view *view,
                    const struct mtlm_trace_box *box)
{
    struct box_part part[2];
    const int parts = parts_of(view, box, part);

    fputs("<g>", f);
    put_hover(f, view, box, view->picture->row[box->row].rank);
    for (int i = 0; i < parts; i++)
        put_part(f, view, box, &part[i]);
    put_number(f, view, box);
    fputs("</g>\n", f);
}

/* Writes spans of a box of messages in the shade. */
static void put_message(FILE *f, const struct mtlm_view *view,
                        const struct mtlm_trace_box *box,
                        const struct mtlm_trace_spans *spans, int shade)
{
    struct box_part part[2];

    parts_of(view, box, part);
    fputs("<g>", f);
    put_hover(f, view, box, view->picture->row[box->row].rank);
    for (size_t i = 0; i < spans->n; i++) {
        const double x = mtlm_view_x(view, spans->span[i].begin_ns);
        const double w = mtlm_view_x(view, spans->span[i].end_ns) - x;

        put_rect(f, mtlm_trace_kind_style(part->kind), shade, "", x,
                 fmax(w, 0.15), part->y, part->h);
    }
    fputs("</g>\n", f);
}

static void put_stroke(FILE *f, const struct mtlm_view *view, double y,
                       struct mtlm_trace_span span)
{
    const double x = mtlm_view_x(view, span.begin_ns);

    fprintf(f, "M%.1f %.1fh%.1f", x, y,
            fmax(mtlm_view_x(view, span.end_ns) - x, 0.2));
}

/* Writes the n boxes of a row of messages as strokes of one path: whole boxes,
 * or the spans in which data moves. */
static void put_strokes(FILE *f, const struct mtlm_view *view,
                        const struct mtlm_trace_box *box, size_t n, int shade)
{
    const size_t row = box->row;
    const double h = mtlm_view_height(view, row), y = view->y[row] + h / 2;
    const enum mtlm_trace_kind kind =
        mtlm_trace_kind(box, view->picture->row[row].lane);

    fprintf(f, "<path class=\"s%s%d\" stroke-width=\"%.1f\" d=\"",
            mtlm_trace_kind_style(kind), shade, h);
    for (size_t k = 0; k < n; k++)
        if (shade == MTLM_SHADE_WAITS)
            put_stroke(
                f, view, y,
                (struct mtlm_trace_span){box[k].begin_ns, box[k].end_ns});
        else
            for (size_t i = 0; i < box[k].moving.n; i++)
                put_stroke(f, view, y, box[k].moving.span[i]);
    fputs("\"/>\n", f);
}

/* Writes the parts of this colour of the n boxes of a row as one path, then the
 * numbers of boxes that end with the colour. */
static void put_colour(FILE *f, const struct mtlm_view *view,
                       const struct mtlm_trace_box *box, size_t n,
                       enum mtlm_trace_kind kind, int shade)
{
    struct box_part part[2];
    bool found = false;

    for (size_t k = 0; k < n; k++)
        for (int i = parts_of(view, &box[k], part) - 1; i >= 0; i--) {
            if (part[i].kind != kind || part[i].shade != shade)
                continue;
            if (!found)
                fprintf(f, "<g><path class=\"%s%d\" d=\"",
                        mtlm_trace_kind_style(kind), shade);
            found = true;
            put_spans(f, view, &box[k], part[i].y, part[i].h);
        }
    if (!found)
        return;
    fputs("\"/>", f);
    for (size_t k = 0; k < n; k++) {
        const int last = parts_of(view, &box[k], part) - 1;

        if (part[last].kind == kind && part[last].shade == shade)
            put_number(f, view, &box[k]);
    }
    fputs("</g>\n", f);
}

/* Writes the n boxes of a row without hover text. */
static void put_outlines(FILE *f, const struct mtlm_view *view,
                         const struct mtlm_trace_box *box, size_t n)
{
    for (enum mtlm_trace_kind kind = 0; kind < MTLM_KIND_COUNT; kind++)
        for (int shade = 0; shade < view->shades; shade++)
            put_colour(f, view, box, n, kind, shade);
}

/* Writes the n boxes of a row of messages.  Where a message moves, the time
 * that another one waits is hidden. */
static void put_messages(FILE *f, const struct mtlm_view *view,
                         const struct mtlm_trace_box *box, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (mtlm_trace_spans_length(&box[k].moving)
            < mtlm_trace_spans_length(&box[k].busy))
            put_message(f, view, &box[k], &box[k].busy, MTLM_SHADE_WAITS);
    for (size_t k = 0; k < n; k++)
        if (box[k].moving.n)
            put_message(f, view, &box[k], &box[k].moving, MTLM_SHADE_MOVES);
}

static void put_row(FILE *f, const struct mtlm_view *view,
                    const struct mtlm_trace_box *box, size_t n)
{
    const bool messages = view->picture->row[box->row].worker < 0;

    if (messages && view->detail < MTLM_VIEW_FULL) {
        put_strokes(f, view, box, n, MTLM_SHADE_WAITS);
        put_strokes(f, view, box, n, MTLM_SHADE_MOVES);
        return;
    }
    fprintf(f, "<g transform=\"translate(0 %.2f)\">\n",
            view->y[box->row] + baseline(view, box->row));
    if (messages)
        put_messages(f, view, box, n);
    else if (view->detail == MTLM_VIEW_BRIEF)
        put_outlines(f, view, box, n);
    else
        for (size_t k = 0; k < n; k++)
            (view->detail == MTLM_VIEW_SHORT ? put_short_box
                                             : put_box)(f, view, &box[k]);
    fputs("</g>\n", f);
}

void mtlm_view_put_boxes(FILE *f, const struct mtlm_view *view)
{
    const struct mtlm_trace_picture *picture = view->picture;

    fprintf(f, "<g font-size=\"%.1f\" text-anchor=\"middle\">\n",
            number_size(view));
    for (size_t i = 0, next; i < picture->n_boxes; i = next) {
        for (next = i + 1; next < picture->n_boxes
                           && picture->box[next].row == picture->box[i].row;)
            next++;
        put_row(f, view, &picture->box[i], next - i);
    }
    fputs("</g>\n", f);
}
