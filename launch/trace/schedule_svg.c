/* schedule.svg: what every worker did when, for a browser and for a paper. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "launch/trace/boxes.h"
#include "launch/trace/palette.h"
#include "launch/trace/view.h"
#include "launch/trace/writer.h"
#include "runtime/error.h"
#include "runtime/memory.h"

/* Pixels of all rows, if the limits of one row allow. */
static const double best_height = 1000, min_row = 9, max_row = 44;

enum { MAX_BYTES = 5000000 }; /* what a browser still opens at once */

/* Rows as high as fits, from a presentation's two ranks to a cluster's. */
static void place_rows(struct mtlm_view *view)
{
    const struct mtlm_trace_picture *picture = view->picture;
    const int ranks = view->trace->info->ranks;
    const double lane_share = 0.28;
    const double rows =
        ranks * (picture->max_workers + lane_share * picture->lanes + 0.15);
    double y = MTLM_VIEW_TOP;

    view->row_height = fmin(max_row, fmax(min_row, best_height / rows));
    view->lane_height = fmax(2.5, lane_share * view->row_height);
    view->rank_gap = fmax(1.5, 0.15 * view->row_height);
    view->y = mtlm_calloc(picture->n_rows + 1, sizeof(*view->y));
    for (size_t k = 0; k < picture->n_rows; k++) {
        if (k && picture->row[k].rank != picture->row[k - 1].rank)
            y += view->rank_gap;
        view->y[k] = y;
        y += mtlm_view_height(view, k);
    }
    view->y[picture->n_rows] = y;
}

static void put_hover(FILE *f, const struct mtlm_view *view,
                      const struct mtlm_trace_box *box, int rank)
{
    fprintf(f, "<title>rank %d", rank);
    if (box->stage >= 0)
        fprintf(f, ", stage %d", box->stage);
    fprintf(f, ", %s", box->host ? "host" : mtlm_trace_class_name(box->class));
    if (box->peer >= 0)
        fprintf(f, " %s rank %d", box->class == MTLM_TRACE_SEND ? "to" : "from",
                box->peer);
    if (box->microbatch >= 0)
        fprintf(f, " microbatch %d", box->microbatch);
    fprintf(f, ", iteration %d\n%.3f to %.3f ms: %.3f ms", box->iteration + 1,
            mtlm_view_ms(view, box->begin_ns), mtlm_view_ms(view, box->end_ns),
            1e-6 * (box->end_ns - box->begin_ns));
    if (box->busy.n > 1)
        fprintf(f, ", busy %.3f ms", 1e-6 * box->busy_ns);
    fprintf(f, ", %d operation%s</title>", box->ops, box->ops > 1 ? "s" : "");
}

/* Where the text of a row stands, from the row's top.  Boxes are drawn
 * relative to it: that saves their numbers a coordinate. */
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

static void put_box(FILE *f, const struct mtlm_view *view,
                    const struct mtlm_trace_box *box)
{
    const struct mtlm_trace_row *row = &view->picture->row[box->row];
    const double h = mtlm_view_height(view, box->row);
    const double y = -baseline(view, box->row), size = fmin(14, 0.6 * h);
    const enum mtlm_trace_kind kind = mtlm_trace_kind(box, row->lane);
    const char *style = mtlm_trace_kind_style(kind);
    const int shade = mtlm_trace_shade(kind, box->chunk, view->shades);
    const double begin = mtlm_view_x(view, box->begin_ns);
    const double end = mtlm_view_x(view, box->end_ns);

    fputs("<g>", f);
    put_hover(f, view, box, row->rank);
    /* Where an operation waits for another, the box shows through. */
    if (box->busy.n > 1)
        put_rect(f, style, shade, " fill-opacity=\".3\"", begin, end - begin, y,
                 h);
    for (size_t i = 0; i < box->busy.n; i++) {
        const double x = mtlm_view_x(view, box->busy.span[i].begin_ns);
        const double w = mtlm_view_x(view, box->busy.span[i].end_ns) - x;
        /* A hair of background between neighbours of one colour. */
        const double hair = w > 4 && i == box->busy.n - 1 ? 0.6 : 0;

        put_rect(f, style, shade, "", x, fmax(w - hair, 0.15), y, h);
    }
    if (box->microbatch >= 0 && row->worker >= 0 && !box->host) {
        char number[16];
        const int digits =
            snprintf(number, sizeof(number), "%d", box->microbatch);

        if (end - begin >= 0.62 * size * digits + 2)
            fprintf(f, "<text x=\"%.1f\">%s</text>", (begin + end) / 2, number);
    }
    fputs("</g>\n", f);
}

/* The boxes from i on that lie in one row, as strokes of one path. */
static size_t put_strokes(FILE *f, const struct mtlm_view *view, size_t i)
{
    const struct mtlm_trace_picture *picture = view->picture;
    const size_t row = picture->box[i].row;
    const double h = mtlm_view_height(view, row);
    const enum mtlm_trace_kind kind =
        mtlm_trace_kind(&picture->box[i], picture->row[row].lane);

    fprintf(f, "<path class=\"s%s\" stroke-width=\"%.1f\" d=\"",
            mtlm_trace_kind_style(kind), h);
    for (; i < picture->n_boxes && picture->box[i].row == row; i++) {
        const double x = mtlm_view_x(view, picture->box[i].begin_ns);
        const double w = mtlm_view_x(view, picture->box[i].end_ns) - x;

        fprintf(f, "M%.1f %.1fh%.1f", x, view->y[row] + h / 2, fmax(w, 0.2));
    }
    fputs("\"/>\n", f);
    return i;
}

static void put_boxes(FILE *f, const struct mtlm_view *view)
{
    const struct mtlm_trace_picture *picture = view->picture;
    size_t i = 0;

    fprintf(f, "<g font-size=\"%.1f\" text-anchor=\"middle\">\n",
            fmin(14, 0.6 * view->row_height));
    while (i < picture->n_boxes) {
        const size_t row = picture->box[i].row;

        if (view->brief && picture->row[row].worker < 0) {
            i = put_strokes(f, view, i);
            continue;
        }
        fprintf(f, "<g transform=\"translate(0 %.2f)\">\n",
                view->y[row] + baseline(view, row));
        for (; i < picture->n_boxes && picture->box[i].row == row; i++)
            put_box(f, view, &picture->box[i]);
        fputs("</g>\n", f);
    }
    fputs("</g>\n", f);
}

static void put_picture(FILE *f, const struct mtlm_view *view)
{
    const double height = view->y[view->picture->n_rows] + MTLM_VIEW_BOTTOM;
    int used[MTLM_KIND_COUNT] = {0};

    for (size_t i = 0; i < view->picture->n_boxes; i++) {
        const struct mtlm_trace_box *box = &view->picture->box[i];

        used[mtlm_trace_kind(box, view->picture->row[box->row].lane)] = 1;
    }
    fprintf(f,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%.0f\" viewBox=\"0 0 %d %.0f\" "
            "font-family=\"Helvetica, Arial, sans-serif\" fill=\"#222\">\n",
            MTLM_VIEW_WIDTH, height, MTLM_VIEW_WIDTH, height);
    fputs("<style>.idle{fill:#f0f0f0}.tick{stroke:#888;stroke-width:.5;"
          "stroke-opacity:.6}.end{stroke:#222;stroke-dasharray:4 3}\n",
          f);
    mtlm_trace_put_styles(f, view->shades);
    fputs("</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
          f);
    mtlm_view_put_title(f, view);
    mtlm_trace_put_legend(f, used, view->shades, MTLM_VIEW_LEFT, 50);
    mtlm_view_put_rows(f, view);
    mtlm_view_put_axis(f, view);
    put_boxes(f, view);
    mtlm_view_put_iterations(f, view);
    fputs("</svg>\n", f);
}

/* The picture of the time up to end_ns as text, which the caller frees. */
static char *draw(const struct mtlm_trace *trace,
                  const struct mtlm_trace_records *records, int64_t end_ns,
                  int64_t last_ns, bool brief, size_t *size)
{
    const int64_t begin_ns = trace->summary->origin_ns;
    struct mtlm_view view = {
        .trace = trace,
        .begin_ns = begin_ns,
        .end_ns = end_ns,
        .last_ns = last_ns,
        .shades =
            trace->info->virtual_stages > 1 ? trace->info->virtual_stages : 1,
        .brief = brief,
    };
    /* Half a pixel. */
    struct mtlm_trace_picture *picture =
        mtlm_trace_picture_create(records, trace->info, begin_ns, end_ns,
                                  (end_ns - begin_ns) / (2 * MTLM_VIEW_WIDTH));
    char *text;
    FILE *f = open_memstream(&text, size);

    if (!f)
        mtlm_fatal(__FILE__, __LINE__, "out of memory for schedule.svg");
    view.picture = picture;
    place_rows(&view);
    put_picture(f, &view);
    if (fclose(f))
        mtlm_fatal(__FILE__, __LINE__, "out of memory for schedule.svg");
    free(view.y);
    mtlm_trace_picture_destroy(picture);
    return text;
}

/* Down to two digits in ms, but not to nothing. */
static int64_t round_down(double ns)
{
    const double unit = pow(10, floor(log10(ns)) - 1);

    return fmax(1, floor(ns / unit) * unit);
}

void mtlm_trace_write_svg(FILE *f, const struct mtlm_trace *trace)
{
    struct mtlm_trace_records *records = mtlm_trace_records_create(
        trace->records->record, trace->records->n, trace->info);
    const int64_t begin = trace->summary->origin_ns;
    int64_t last = begin + 1, end;
    bool brief = false;
    char *text;
    size_t size;

    mtlm_trace_trim_receives(records);
    for (size_t i = 0; i < records->n; i++)
        if (records->record[i].phase != MTLM_PHASE_INIT
            && records->record[i].end_ns > last)
            last = records->record[i].end_ns;
    end = last;
    text = draw(trace, records, end, last, false, &size);
    while (size > MAX_BYTES && (!brief || end - begin > 1000)) {
        if (brief)
            end = begin + round_down(0.97 * (end - begin) * MAX_BYTES / size);
        brief = true;
        free(text);
        text = draw(trace, records, end, last, brief, &size);
    }
    fwrite(text, 1, size, f);
    free(text);
    mtlm_trace_records_destroy(records);
}
