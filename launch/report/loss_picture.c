/* Draws losses: legend, two panels over one axis of iterations, curves. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "launch/report/loss_panel.h"
#include "launch/report/loss_picture.h"
#include "launch/trace/export/export.h"
#include "launch/trace/export/xml.h"
#include "runtime/machine/color.h"

/* Pixels. */
enum {
    LINE = 20,    /* height of a line of the legend */
    LOSSES = 260, /* height of the panel of losses */
    STRIP = 46,   /* height of the panel of learning rates */
    BETWEEN = 14, /* the panels */
    BOTTOM = 44,
};

/* Width of a letter, relative to its height. */
static const double letter = 0.54;

static const enum mtlm_color colours[] = {
    MTLM_COLOR_FORWARD, MTLM_COLOR_BACKWARD, MTLM_COLOR_OPTIMIZER,
    MTLM_COLOR_WEIGHT,  MTLM_COLOR_PP,       MTLM_COLOR_TP,
};
enum { COLOURS = sizeof(colours) / sizeof(colours[0]) };

/* Lines of runs that share a colour. */
static const char *const dashes[] = {"", " stroke-dasharray=\"6 3\"",
                                     " stroke-dasharray=\"2 2\""};

struct loss_picture {
    const struct mtlm_losses *run; /* [n] */
    int n;
};

static enum mtlm_color colour_of(int run)
{
    return colours[run % COLOURS];
}

static const char *dashes_of(int run)
{
    return dashes[run / COLOURS % 3];
}

/* Whether some run has values of the kind. */
static bool has(const struct loss_picture *picture, enum mtlm_curve_kind kind)
{
    for (int i = 0; i < picture->n; i++)
        if (picture->run[i].curves.of[kind].n > 0)
            return true;
    return false;
}

/* Returns the name of the axis of losses.  A task's loss is of its answers. */
static const char *axis_of(const struct loss_picture *picture)
{
    for (int i = 0; i < picture->n; i++)
        if (picture->run[i].curves.of_task)
            return "loss";
    return "loss (nats per token)";
}

/* ---- bounds ---- */

struct loss_bounds {
    double least, most;
};

static void extend_bounds(struct loss_bounds *bounds, const double *value,
                          int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (isfinite(value[i])) {
            bounds->least = fmin(bounds->least, value[i]);
            bounds->most = fmax(bounds->most, value[i]);
        }
}

static void set_iterations(const struct loss_picture *picture,
                           struct mtlm_loss_panel *panel)
{
    int64_t least = INT64_MAX, most = 0;

    for (int i = 0; i < picture->n; i++)
        for (int kind = 0; kind < MTLM_CURVE_COUNT; kind++) {
            const struct mtlm_curve *c = &picture->run[i].curves.of[kind];

            if (c->n == 0)
                continue;
            least = c->iteration[0] < least ? c->iteration[0] : least;
            most =
                c->iteration[c->n - 1] > most ? c->iteration[c->n - 1] : most;
        }
    /* A run that goes on from a checkpoint has an axis of its own part. */
    panel->least_x = least > most - least ? least : 0;
    panel->most_x = most > panel->least_x ? most : panel->least_x + 1;
}

/* The means decide: a single spike would flatten all curves. */
static struct mtlm_loss_panel losses_panel(const struct loss_picture *picture,
                                           double top)
{
    struct mtlm_loss_panel panel = {.top = top, .height = LOSSES};
    struct loss_bounds bounds = {INFINITY, -INFINITY};

    for (int i = 0; i < picture->n; i++) {
        const struct mtlm_losses *run = &picture->run[i];

        extend_bounds(&bounds, run->mean,
                      run->curves.of[MTLM_CURVE_TRAINING].n);
        for (int kind = MTLM_CURVE_VALIDATION; kind <= MTLM_CURVE_TEST; kind++)
            extend_bounds(&bounds, run->curves.of[kind].value,
                          run->curves.of[kind].n);
    }
    mtlm_loss_panel_set_edges(&panel, bounds.least, bounds.most);
    set_iterations(picture, &panel);
    return panel;
}

static struct mtlm_loss_panel rates_panel(const struct loss_picture *picture,
                                          const struct mtlm_loss_panel *losses)
{
    struct mtlm_loss_panel panel = *losses;
    struct loss_bounds bounds = {0, -INFINITY};

    for (int i = 0; i < picture->n; i++)
        extend_bounds(&bounds, picture->run[i].curves.of[MTLM_CURVE_RATE].value,
                      picture->run[i].curves.of[MTLM_CURVE_RATE].n);
    panel.top += losses->height + BETWEEN;
    panel.height = STRIP;
    panel.least = 0;
    panel.most = bounds.most > 0 ? bounds.most : 1;
    return panel;
}

/* ---- curves ---- */

/* Adds points to a path.  Points of one pixel column become the column's first,
 * least, most and last point, so that files stay small. */
struct loss_line {
    FILE *f;
    const struct mtlm_loss_panel *panel;
    bool open;       /* has a point since the last gap */
    double x;        /* of the column */
    double low, top; /* y of the column: least and most */
    double last;     /* y of the last point */
    int points;      /* of the column */
};

static void end_column(struct loss_line *line)
{
    if (line->points > 2)
        fprintf(line->f, "L%.1f %.1fV%.1f", line->x, line->top, line->low);
    if (line->points > 1)
        fprintf(line->f, "L%.1f %.1f", line->x, line->last);
    line->points = 0;
}

static void add_point(struct loss_line *line, int64_t iteration, double value)
{
    const double x = round(2 * mtlm_loss_panel_x(line->panel, iteration)) / 2;
    const double y = mtlm_loss_panel_y(line->panel, value);

    if (line->points == 0 || x != line->x) {
        end_column(line);
        fprintf(line->f, "%c%.1f %.1f", line->open ? 'L' : 'M', x, y);
        line->x = x;
        line->low = line->top = y;
    }
    line->open = true;
    line->low = fmax(line->low, y);
    line->top = fmin(line->top, y);
    line->last = y;
    line->points++;
}

/* A value that is not finite leaves a gap. */
static void put_curve(FILE *f, const struct mtlm_loss_panel *panel,
                      const struct mtlm_curve *curve, const double *value,
                      int run, const char *class)
{
    struct loss_line line = {.f = f, .panel = panel};

    if (curve->n == 0)
        return;
    fprintf(f, "<path class=\"%s\" stroke=\"#%06x\"%s d=\"", class,
            colour_of(run), dashes_of(run));
    for (int64_t i = 0; i < curve->n; i++)
        if (isfinite(value[i])) {
            add_point(&line, curve->iteration[i], value[i]);
        } else {
            end_column(&line);
            line.open = false;
        }
    end_column(&line);
    fputs("\"/>\n", f);
}

static void put_mark(FILE *f, enum mtlm_curve_kind kind, double x, double y,
                     enum mtlm_color colour)
{
    if (kind == MTLM_CURVE_VALIDATION)
        fprintf(f,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\" fill=\"#fff\" "
                "stroke=\"#%06x\" stroke-width=\"1.6\">",
                x, y, colour);
    else
        fprintf(f,
                "<path d=\"M%.1f %.1fl5 5l-5 5l-5 -5z\" fill=\"#%06x\" "
                "stroke=\"#fff\">",
                x, y - 5, colour);
}

static void put_marks(FILE *f, const struct mtlm_loss_panel *panel,
                      const struct mtlm_losses *run, int number,
                      enum mtlm_curve_kind kind)
{
    const bool test = kind == MTLM_CURVE_TEST;
    const struct mtlm_curve *curve = &run->curves.of[kind];

    for (int64_t i = 0; i < curve->n; i++) {
        if (!isfinite(curve->value[i]))
            continue;
        put_mark(f, kind, mtlm_loss_panel_x(panel, curve->iteration[i]),
                 mtlm_loss_panel_y(panel, curve->value[i]), colour_of(number));
        fputs("<title>", f);
        mtlm_xml_put(f, run->name);
        fprintf(f, ": %s loss %.4f at iteration %" PRId64 "</title></%s>\n",
                test ? "test" : "validation", curve->value[i],
                curve->iteration[i], test ? "path" : "circle");
    }
}

static void put_losses(FILE *f, const struct loss_picture *picture,
                       const struct mtlm_loss_panel *panel)
{
    for (int i = 0; i < picture->n; i++) {
        const struct mtlm_losses *run = &picture->run[i];
        const struct mtlm_curve *c = &run->curves.of[MTLM_CURVE_TRAINING];

        if (run->width > 1)
            put_curve(f, panel, c, c->value, i, "raw");
    }
    for (int i = 0; i < picture->n; i++)
        put_curve(f, panel, &picture->run[i].curves.of[MTLM_CURVE_TRAINING],
                  picture->run[i].mean, i, "mean");
    for (int kind = MTLM_CURVE_VALIDATION; kind <= MTLM_CURVE_TEST; kind++)
        for (int i = 0; i < picture->n; i++)
            put_marks(f, panel, &picture->run[i], i, kind);
}

/* ---- legend ---- */

/* Writes begin and text at x, y. */
static void put_text(FILE *f, double x, double y, const char *begin,
                     const char *text)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\">%s", x, y, begin);
    mtlm_xml_put(f, text);
    fputs("</text>\n", f);
}

/* Writes the name of a file at x, y; cuts off the begin of a name beyond the
 * edge. */
static void put_name(FILE *f, double x, double y, const char *name)
{
    const size_t fits =
        (MTLM_LOSS_WIDTH - MTLM_LOSS_RIGHT - x) / (letter * MTLM_LOSS_FONT);
    const size_t length = strlen(name);

    if (length > fits)
        put_text(f, x, y, "...", name + length - fits + 3);
    else
        put_text(f, x, y, "", name);
}

/* Returns "training loss", and how many iterations a mean is of. */
static const char *name_training(const struct loss_picture *picture,
                                 char text[64])
{
    int64_t width = picture->run[0].width;

    for (int i = 1; i < picture->n; i++)
        if (picture->run[i].width != width)
            width = 0;
    if (width == 1)
        return "training loss";
    if (width == 0)
        return "training loss, running mean";
    snprintf(text, 64, "training loss, mean of the last %" PRId64, width);
    return text;
}

static void put_swatch(FILE *f, double x, double y, enum mtlm_color colour,
                       const char *dash)
{
    fprintf(f,
            "<path class=\"mean\" stroke=\"#%06x\"%s "
            "d=\"M%.1f %.1fh22\"/>",
            colour, dash, x, y - 0.35 * MTLM_LOSS_FONT);
}

/* The key says what is drawn how.  It has an entry for each kind of curve up to
 * the test's: a sample, and a name. */
enum { ENTRIES = MTLM_CURVE_TEST + 1 };

struct loss_key {
    const char *name[ENTRIES]; /* NULL: no run has such values */
    double x[ENTRIES], y[ENTRIES];
    int lines;
    char training[64];
};

/* Returns how far the name is behind the begin of its entry. */
static int indent_of(int kind)
{
    return kind == MTLM_CURVE_TRAINING ? 28 : 16;
}

/* Places the entries.  An entry that would pass the edge begins a line. */
static void make_key(const struct loss_picture *picture, struct loss_key *key)
{
    const char *const name[] = {name_training(picture, key->training),
                                "validation loss", "test loss"};
    double x = MTLM_LOSS_LEFT;

    key->lines = 1;
    for (int kind = 0; kind < ENTRIES; kind++) {
        const double width =
            indent_of(kind) + letter * MTLM_LOSS_FONT * strlen(name[kind]);

        key->name[kind] = has(picture, kind) ? name[kind] : NULL;
        if (!key->name[kind])
            continue;
        if (x > MTLM_LOSS_LEFT
            && x + width > MTLM_LOSS_WIDTH - MTLM_LOSS_RIGHT) {
            x = MTLM_LOSS_LEFT;
            key->lines++;
        }
        key->x[kind] = x;
        key->y[kind] = key->lines * LINE;
        x += width + 20;
    }
}

static void put_sample(FILE *f, int kind, double x, double y,
                       enum mtlm_color colour)
{
    if (kind == MTLM_CURVE_TRAINING) {
        put_swatch(f, x, y, colour, "");
        return;
    }
    put_mark(f, kind, x + 5, y - 0.35 * MTLM_LOSS_FONT, colour);
    fputs(kind == MTLM_CURVE_TEST ? "</path>" : "</circle>", f);
}

static void put_key(FILE *f, const struct loss_picture *picture,
                    const struct loss_key *key)
{
    const enum mtlm_color colour =
        picture->n > 1 ? MTLM_COLOR_HOST : colour_of(0);

    for (int kind = 0; kind < ENTRIES; kind++)
        if (key->name[kind]) {
            put_sample(f, kind, key->x[kind], key->y[kind], colour);
            put_text(f, key->x[kind] + indent_of(kind), key->y[kind], "",
                     key->name[kind]);
        }
}

static int legend_lines(const struct loss_picture *picture,
                        const struct loss_key *key)
{
    return key->lines + (picture->n > 1 ? picture->n : 0);
}

static void put_legend(FILE *f, const struct loss_picture *picture,
                       const struct loss_key *key)
{
    double y = key->lines * LINE;

    put_key(f, picture, key);
    for (int i = 0; i < picture->n && picture->n > 1; i++) {
        y += LINE;
        put_swatch(f, MTLM_LOSS_LEFT, y, colour_of(i), dashes_of(i));
        put_name(f, MTLM_LOSS_LEFT + 28, y, picture->run[i].name);
    }
}

/* ---- picture ---- */

static void put_head(FILE *f, double height)
{
    fprintf(f,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%.0f\" viewBox=\"0 0 %d %.0f\" font-size=\"%d\" "
            "font-family=\"Helvetica, Arial, sans-serif\" fill=\"#222\">\n"
            "<style>.m{text-anchor:middle}.e{text-anchor:end}"
            ".tick{stroke:#ddd}.raw,.mean,.rate{fill:none;"
            "stroke-linejoin:round}.raw{stroke-opacity:.3}"
            ".mean{stroke-width:1.8}.rate{stroke-width:1.2}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            MTLM_LOSS_WIDTH, height, MTLM_LOSS_WIDTH, height, MTLM_LOSS_FONT);
}

static void put_picture(FILE *f, const void *what)
{
    const struct loss_picture *picture = what;
    const bool rates = has(picture, MTLM_CURVE_RATE);
    struct mtlm_loss_panel losses, strip;
    const struct mtlm_loss_panel *lowest = rates ? &strip : &losses;
    struct loss_key key;

    make_key(picture, &key);
    losses = losses_panel(picture, (legend_lines(picture, &key) + 0.7) * LINE);
    strip = rates_panel(picture, &losses);
    put_head(f, lowest->top + lowest->height + BOTTOM);
    put_legend(f, picture, &key);
    mtlm_loss_panel_put_losses(f, &losses, axis_of(picture));
    mtlm_loss_panel_put_iterations(f, &losses, !rates);
    put_losses(f, picture, &losses);
    if (rates) {
        mtlm_loss_panel_put_rates(f, &strip);
        mtlm_loss_panel_put_iterations(f, &strip, true);
        for (int i = 0; i < picture->n; i++) {
            const struct mtlm_curve *c =
                &picture->run[i].curves.of[MTLM_CURVE_RATE];

            put_curve(f, &strip, c, c->value, i, "rate");
        }
    }
    fputs("</svg>\n", f);
}

int mtlm_loss_picture_write(const char *path, const struct mtlm_losses *run,
                            int n, struct mtlm_error *err)
{
    const struct loss_picture picture = {run, n};

    return mtlm_trace_export_file(path, put_picture, &picture, err);
}
