/* schedule.svg: the schedule of every worker, for a browser or a paper; several
 * runs one above the other, under one time axis. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "launch/trace/export/cut.h"
#include "launch/trace/export/view.h"
#include "launch/trace/export/writer.h"
#include "launch/trace/palette.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"

/* Pixels of all rows together; bounds of one row. */
static const double best_height = 1000, min_row = 9, max_row = 44;

enum {
    MAX_BYTES = 5000000, /* bytes of a file that browsers open quickly */
    LEGEND = 20,         /* pixels of the legend, above the first run */
    LABELS = 28          /* pixels of the axis, below the last run */
};

/* A run's part of the picture. */
struct panel {
    const struct mtlm_trace *trace;
    struct mtlm_trace_records *records; /* with receives trimmed to their
                                         * sends */
    int64_t length_ns;                  /* length drawn, from the origin on */
    struct mtlm_trace_span cut;
    struct mtlm_view view;
};

struct drawing {
    struct panel *panel; /* [n] */
    int n;
    int64_t length_ns; /* drawn of each run */
    int shades;
    enum mtlm_view_detail detail;
};

/* Sets the height of rows: as high as fits, for two ranks or a cluster. */
static void place_rows(struct mtlm_view *view, int panels)
{
    const struct mtlm_trace_picture *picture = view->picture;
    const int ranks = view->trace->info->ranks;
    const double lane_share = 0.28;
    const double rows =
        ranks * (picture->max_workers + lane_share * picture->lanes + 0.15);
    double y = MTLM_VIEW_TOP;

    view->row_height =
        fmin(max_row, fmax(min_row, best_height / panels / rows));
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

static void panel_prepare(struct panel *panel, const struct drawing *drawing)
{
    const struct mtlm_trace *trace = panel->trace;
    const int64_t begin = trace->summary->origin_ns;
    const int64_t end = begin + drawing->length_ns;
    struct mtlm_trace_span cut = panel->cut;

    /* Where too much is left all the same, the end goes, too. */
    cut.begin_ns = cut.begin_ns < end ? cut.begin_ns : end;
    cut.end_ns = cut.end_ns < end ? cut.end_ns : end;
    panel->view = (struct mtlm_view){
        .trace = trace,
        .begin_ns = begin,
        .end_ns = end,
        .cut = cut,
        .last_ns = begin + panel->length_ns,
        .shades = drawing->shades,
        .detail = drawing->detail,
        .title_y = panel == drawing->panel ? 26 : 26 + LEGEND,
    };
    /* Half a pixel. */
    panel->view.picture = mtlm_trace_picture_create(
        panel->records, trace->info, begin,
        panel->view.end_ns < panel->view.last_ns ? panel->view.end_ns
                                                 : panel->view.last_ns,
        (drawing->length_ns - (cut.end_ns - cut.begin_ns))
            / (2 * MTLM_VIEW_WIDTH));
    place_rows(&panel->view, drawing->n);
}

static void panel_clear(struct panel *panel)
{
    free(panel->view.y);
    mtlm_trace_picture_destroy(panel->view.picture);
}

static void count_kinds(const struct mtlm_trace_picture *picture,
                        int used[MTLM_KIND_COUNT])
{
    for (size_t i = 0; i < picture->n_boxes; i++) {
        const struct mtlm_trace_box *box = &picture->box[i];

        used[mtlm_trace_kind(box, picture->row[box->row].lane)] = 1;
        if (box->weight_ns)
            used[MTLM_KIND_W] = 1;
    }
}

static void put_head(FILE *f, const struct drawing *drawing, double height)
{
    fprintf(f,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%.0f\" viewBox=\"0 0 %d %.0f\" "
            "font-family=\"Helvetica, Arial, sans-serif\" fill=\"#222\">\n",
            MTLM_VIEW_WIDTH, height, MTLM_VIEW_WIDTH, height);
    fputs("<style>.idle{fill:#f0f0f0}.tick{stroke:#888;stroke-width:.5;"
          "stroke-opacity:.6}.end{stroke:#222;stroke-dasharray:4 3}\n",
          f);
    fprintf(f, ".n{font-size:%d%%}\n", MTLM_VIEW_SMALLER);
    mtlm_trace_put_styles(f, drawing->shades);
    fputs("</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
          f);
}

static void put_panel(FILE *f, const struct mtlm_view *view, bool labels)
{
    mtlm_view_put_title(f, view);
    mtlm_view_put_rows(f, view);
    mtlm_view_put_axis(f, view, labels);
    mtlm_view_put_boxes(f, view);
    mtlm_view_put_cut(f, view);
    mtlm_view_put_iterations(f, view);
}

/* Prepares the panels, one above the other. */
static void put_drawing(FILE *f, const struct drawing *drawing)
{
    int used[MTLM_KIND_COUNT] = {0};
    double y = 0;

    for (int i = 0; i < drawing->n; i++) {
        const struct mtlm_view *view = &drawing->panel[i].view;

        count_kinds(view->picture, used);
        y += view->y[view->picture->n_rows] + MTLM_VIEW_BOTTOM
             - (i ? LEGEND + LABELS : 0);
    }
    put_head(f, drawing, y);
    mtlm_trace_put_legend(f, used, drawing->shades, MTLM_VIEW_LEFT, 50,
                          MTLM_VIEW_WIDTH - MTLM_VIEW_LEFT - MTLM_VIEW_RIGHT);
    y = 0;
    for (int i = 0; i < drawing->n; i++) {
        const struct mtlm_view *view = &drawing->panel[i].view;

        if (i)
            fprintf(f, "<g transform=\"translate(0 %.1f)\">\n", y - LEGEND);
        put_panel(f, view, i == drawing->n - 1);
        if (i)
            fputs("</g>\n", f);
        y += view->y[view->picture->n_rows] + MTLM_VIEW_BOTTOM - LABELS
             - (i ? LEGEND : 0);
    }
    fputs("</svg>\n", f);
}

/* Draws the panels as text, which the caller frees. */
static char *draw_panels(const struct drawing *drawing, size_t *size)
{
    struct mtlm_text text;
    FILE *f = mtlm_text_open(&text);

    for (int i = 0; i < drawing->n; i++)
        panel_prepare(&drawing->panel[i], drawing);
    put_drawing(f, drawing);
    mtlm_text_close(&text);
    for (int i = 0; i < drawing->n; i++)
        panel_clear(&drawing->panel[i]);
    *size = text.bytes;
    return text.text;
}

/* Rounds down to two digits in ms, at least one unit. */
static int64_t round_down(double ns)
{
    const double unit = pow(10, floor(log10(ns)) - 1);

    return fmax(1, floor(ns / unit) * unit);
}

/* Length from the origin to the last end; leaves out validations and copies
 * after the training. */
static int64_t length(const struct panel *panel)
{
    const int64_t begin = panel->trace->summary->origin_ns;
    int64_t training = begin, all = begin + 1;

    for (size_t i = 0; i < panel->records->n; i++) {
        const struct mtlm_record *r = &panel->records->record[i];

        if (r->phase == MTLM_PHASE_INIT)
            continue;
        if (r->end_ns > all)
            all = r->end_ns;
        if (r->phase != MTLM_PHASE_EVAL && r->phase != MTLM_PHASE_SAVE
            && r->end_ns > training)
            training = r->end_ns;
    }
    return (training > begin ? training : all) - begin;
}

static void panel_create(struct drawing *drawing,
                         const struct mtlm_trace *trace)
{
    struct panel *panel = &drawing->panel[drawing->n++];

    panel->trace = trace;
    panel->cut = mtlm_cut_find(trace->records, trace->info);
    panel->records = mtlm_cut_apply(trace->records, trace->info, panel->cut);
    mtlm_trace_trim_receives(panel->records);
    panel->length_ns = length(panel);
    if (drawing->length_ns < panel->length_ns)
        drawing->length_ns = panel->length_ns;
    if (drawing->shades < trace->info->virtual_stages)
        drawing->shades = trace->info->virtual_stages;
}

void mtlm_trace_write_svg(FILE *f, const struct mtlm_trace *trace)
{
    struct drawing drawing = {.shades = 1, .detail = MTLM_VIEW_FULL};
    char *text;
    size_t size;

    for (const struct mtlm_trace *t = trace; t; t = t->next) {
        drawing.panel =
            mtlm_realloc(drawing.panel, drawing.n + 1, sizeof(*drawing.panel));
        panel_create(&drawing, t);
    }
    text = draw_panels(&drawing, &size);
    while (size > MAX_BYTES
           && (drawing.detail > MTLM_VIEW_BRIEF || drawing.length_ns > 1000)) {
        if (drawing.detail > MTLM_VIEW_BRIEF)
            drawing.detail--;
        else
            drawing.length_ns =
                round_down(0.97 * drawing.length_ns * MAX_BYTES / size);
        free(text);
        text = draw_panels(&drawing, &size);
    }
    fwrite(text, 1, size, f);
    free(text);
    for (int i = 0; i < drawing.n; i++)
        mtlm_trace_records_destroy(drawing.panel[i].records);
    free(drawing.panel);
}
