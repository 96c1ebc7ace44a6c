/* The frame of the picture: title, axis, rows and iterations. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launch/trace/export/axis.h"
#include "launch/trace/export/view.h"
#include "launch/trace/export/xml.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"

/* Stage numbers that fit beside a row. */
enum { FEW_STAGES = 4 };

static const double width = MTLM_VIEW_WIDTH, left = MTLM_VIEW_LEFT;
static const double right = MTLM_VIEW_RIGHT, top = MTLM_VIEW_TOP;

static int64_t cut_ns(const struct mtlm_view *view)
{
    return view->cut.end_ns - view->cut.begin_ns;
}

double mtlm_view_x(const struct mtlm_view *view, int64_t ns)
{
    const int64_t begin = view->begin_ns, cut = cut_ns(view);
    const double band = cut ? MTLM_VIEW_CUT : 0;
    const double scale =
        (width - left - right - band) / (view->end_ns - begin - cut);

    ns = ns < begin ? begin : ns > view->end_ns ? view->end_ns : ns;
    if (!cut || ns <= view->cut.begin_ns)
        return left + (ns - begin) * scale;
    if (ns >= view->cut.end_ns)
        return left + (ns - begin - cut) * scale + band;
    return left + (view->cut.begin_ns - begin) * scale
           + band * (ns - view->cut.begin_ns) / cut;
}

int64_t mtlm_view_outside(const struct mtlm_view *view, int64_t ns, bool later)
{
    if (ns <= view->cut.begin_ns || ns >= view->cut.end_ns)
        return ns;
    return later ? view->cut.end_ns : view->cut.begin_ns;
}

double mtlm_view_height(const struct mtlm_view *view, size_t row)
{
    return view->picture->row[row].worker < 0 ? view->lane_height
                                              : view->row_height;
}

double mtlm_view_ms(const struct mtlm_view *view, int64_t ns)
{
    return 1e-6 * (ns - view->trace->summary->origin_ns);
}

/* Returns the title; the caller frees the text. */
static char *title_text(const struct mtlm_view *view)
{
    const struct mtlm_trace_info *info = view->trace->info;
    const struct mtlm_trace_summary *s = view->trace->summary;

    return mtlm_sprintf(
        "%s%s%s%s%s%s%s: makespan %.*f ms, bubble %.1f %%",
        info->model ? info->model : "mtlm-dag", info->layout ? ", " : "",
        info->layout ? info->layout : "", info->schedule ? ", schedule " : "",
        info->schedule ? info->schedule : "", info->policy ? ", policy " : "",
        info->policy ? info->policy : "", s->makespan_ns < 1e7 ? 3 : 1,
        1e-6 * s->makespan_ns, 100 * s->bubble);
}

/* Returns the line with values to compare the run with; the caller frees the
 * text. */
static char *comparison(const struct mtlm_view *view)
{
    const struct mtlm_trace_info *info = view->trace->info;
    const int v = mtlm_trace_chunks(info);

    if (info->stages < 2 || info->microbatches < 1)
        return mtlm_strdup("");
    return mtlm_sprintf("(%s1F1B of %d stages, %d microbatch%s: %.1f %%)",
                        v > 1 ? "interleaved " : "", info->stages * v,
                        info->microbatches, mtlm_plural_es(info->microbatches),
                        100 * view->trace->summary->ideal_1f1b);
}

/* Returns the line that names what the picture leaves out; the caller frees the
 * text. */
static char *omission(const struct mtlm_view *view)
{
    const struct mtlm_trace_info *info = view->trace->info;
    const double all = 1e-6 * (view->last_ns - view->begin_ns);
    const int decimals = all < 10 ? 3 : 1;
    char cut[128] = "", end[64] = "";
    const char *text[] = {
        cut, end,
        view->detail == MTLM_VIEW_BRIEF ? "too large for hover text" : ""};
    char *line = mtlm_strdup("");

    if (cut_ns(view))
        snprintf(cut, sizeof(cut),
                 "%.*f ms of %.*f cut out between the first %d and the last %d "
                 "of %d microbatches",
                 decimals, 1e-6 * cut_ns(view), decimals, all,
                 info->shown_first, info->shown_last, info->microbatches);
    if (view->end_ns < view->last_ns)
        snprintf(end, sizeof(end), "first %.6g ms of %.6g shown",
                 1e-6 * (view->end_ns - view->begin_ns), all);
    for (int i = 0; i < 3; i++)
        if (*text[i]) {
            char *longer =
                mtlm_sprintf("%s%s%s", line, *line ? ", " : "", text[i]);

            free(line);
            line = longer;
        }
    return line;
}

void mtlm_view_put_title(FILE *f, const struct mtlm_view *view)
{
    char *text = title_text(view), *compare = comparison(view);
    char *lacks = omission(view);
    const double small = 0.76, letter = 0.54; /* relative to the height of
                                               * letters */
    const double letters =
        strlen(text) + small * (strlen(compare) + strlen(lacks) + 2);
    const double size = fmin(17, (width - left - right) / (letter * letters));

    fprintf(f, "<text x=\"%.0f\" y=\"%.0f\" font-size=\"%.1f\">", left,
            view->title_y, size);
    mtlm_xml_put(f, text);
    if (*compare)
        fprintf(f, " <tspan font-size=\"%.1f\">%s</tspan>", small * size,
                compare);
    if (*lacks)
        fprintf(f, " <tspan font-size=\"%.1f\" fill=\"#a00\">%s</tspan>",
                small * size, lacks);
    fputs("</text>\n", f);
    free(text);
    free(compare);
    free(lacks);
}

void mtlm_view_put_axis(FILE *f, const struct mtlm_view *view, bool labels)
{
    const double begin = mtlm_view_ms(view, view->begin_ns);
    const double end = mtlm_view_ms(view, view->end_ns),
                 step = mtlm_axis_step(end - begin - 1e-6 * cut_ns(view), 10);
    const int decimals = mtlm_axis_decimals(step);
    const double y = view->y[view->picture->n_rows];

    fputs("<g font-size=\"12\" text-anchor=\"middle\">\n", f);
    for (int64_t i = ceil(begin / step - 1e-9); i * step <= end + 1e-9 * step;
         i++) {
        const int64_t ns =
            view->trace->summary->origin_ns + llround(i * step * 1e6);
        const double x = mtlm_view_x(view, ns);

        if (mtlm_view_outside(view, ns, true) != ns)
            continue;
        fprintf(f, "<path class=\"tick\" d=\"M%.2f %.1fV%.1f\"/>", x, top - 2,
                y + 5);
        if (labels)
            fprintf(f, "<text x=\"%.2f\" y=\"%.1f\">%.*f</text>", x, y + 18,
                    decimals, i * step);
        putc('\n', f);
    }
    if (labels)
        fprintf(f, "<text x=\"%.1f\" y=\"%.1f\">time (ms)</text>\n",
                (left + width - right) / 2, y + 33);
    fputs("</g>\n", f);
}

/* "stage 1", "stages 0 3", "8 stages" of the pipeline rank. */
static void put_stages(FILE *f, const struct mtlm_trace_info *info, int pp_rank)
{
    const int v = mtlm_trace_chunks(info);
    const struct mtlm_layout layout = {.pp = info->stages,
                                       .virtual_stages = v,
                                       .placement = info->placement,
                                       .pp_rank = pp_rank};

    if (v > FEW_STAGES) {
        fprintf(f, "%d stages", v);
        return;
    }
    fputs(v > 1 ? "stages" : "stage", f);
    for (int c = 0; c < v; c++)
        fprintf(f, " %d", mtlm_layout_stage(&layout, c));
}

void mtlm_view_put_rows(FILE *f, const struct mtlm_view *view)
{
    static const char *const lane[] = {"", "TP", "PP", "DP", "disk"};
    const int *stage = view->trace->info->stage_of_rank;
    const double h = view->row_height;
    const double size = fmin(13, 0.85 * h);

    for (size_t k = 0; k < view->picture->n_rows; k++) {
        const struct mtlm_trace_row *row = &view->picture->row[k];
        const double y = view->y[k], height = mtlm_view_height(view, k);

        fprintf(f,
                "<rect class=\"idle\" x=\"%.0f\" y=\"%.2f\" width=\"%.0f\" "
                "height=\"%.2f\"/>\n",
                left, y, width - left - right, height);
        if (row->worker < 0) {
            if (height >= 7)
                fprintf(f,
                        "<text x=\"%.0f\" y=\"%.2f\" font-size=\"%.1f\" "
                        "text-anchor=\"end\" fill=\"#666\">%s</text>\n",
                        left - 6, y + 0.8 * height, fmin(10, height),
                        lane[row->lane]);
            continue;
        }
        if (k && view->picture->row[k - 1].rank == row->rank)
            continue;
        fprintf(f,
                "<text x=\"%.0f\" y=\"%.2f\" font-size=\"%.1f\" "
                "text-anchor=\"end\">rank %d",
                left - 6, y + (stage && h >= 30 ? 0.42 : 0.5) * h + 0.35 * size,
                size, row->rank);
        if (stage && h >= 30) {
            fprintf(f,
                    "<tspan x=\"%.0f\" dy=\"1.1em\" font-size=\"10\" "
                    "fill=\"#666\">",
                    left - 6);
            put_stages(f, view->trace->info, stage[row->rank]);
            fputs("</tspan>", f);
        }
        fputs("</text>\n", f);
    }
}

/* A dashed line where an iteration ends, its number in between. */
void mtlm_view_put_iterations(FILE *f, const struct mtlm_view *view)
{
    const struct mtlm_trace_summary *s = view->trace->summary;
    const double y = view->y[view->picture->n_rows];
    int64_t begin = view->begin_ns;

    fputs("<g font-size=\"12\" text-anchor=\"middle\">\n", f);
    for (size_t i = 0; i < s->n_iterations && begin < view->end_ns; i++) {
        const int64_t end = s->iteration[i].end_ns;

        if (mtlm_view_x(view, end) - mtlm_view_x(view, begin) > 84)
            fprintf(f, "<text x=\"%.2f\" y=\"%.0f\">iteration %d</text>\n",
                    (mtlm_view_x(view, begin) + mtlm_view_x(view, end)) / 2,
                    top - 8, s->iteration[i].iteration + 1);
        if (end < view->end_ns)
            fprintf(f, "<path class=\"end\" d=\"M%.2f %.0fV%.1f\"/>\n",
                    mtlm_view_x(view, end), top - 20, y + 2);
        begin = end;
    }
    fputs("</g>\n", f);
}

/* One edge of the band, from y to the bottom or back up. */
static void put_torn_edge(FILE *f, double height, bool up)
{
    const double tooth = 7, way = up ? -1 : 1;

    for (double y = 0; y < height; y += 2 * tooth)
        fprintf(f, "l%.1f %.1fl%.1f %.1f", tooth / 2, way * tooth, -tooth / 2,
                way * tooth);
}

void mtlm_view_put_cut(FILE *f, const struct mtlm_view *view)
{
    const double teeth = 14;
    const double bottom = view->y[view->picture->n_rows] + 4;
    const double height = teeth * ceil((bottom - top + 4) / teeth);
    double x, band;

    if (!cut_ns(view))
        return;
    x = mtlm_view_x(view, view->cut.begin_ns);
    band = mtlm_view_x(view, view->cut.end_ns) - x;
    fprintf(f,
            "<g stroke=\"#666\" fill=\"none\"><title>%.6g to %.6g ms are cut "
            "out</title><path stroke=\"none\" fill=\"#fff\" d=\"M%.1f %.1f",
            mtlm_view_ms(view, view->cut.begin_ns),
            mtlm_view_ms(view, view->cut.end_ns), x, top - 4);
    put_torn_edge(f, height, false);
    fprintf(f, "h%.1f", band);
    put_torn_edge(f, height, true);
    fprintf(f, "z\"/>");
    for (int edge = 0; edge < 2; edge++) {
        fprintf(f, "<path d=\"M%.1f %.1f", x + edge * band, top - 4);
        put_torn_edge(f, height, false);
        fputs("\"/>", f);
    }
    fputs("</g>\n", f);
}
