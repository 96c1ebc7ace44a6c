/* Colours and legend of the picture. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launch/trace/palette.h"
#include "runtime/base/text.h"
#include "runtime/machine/color.h"

static const struct {
    const char *style;
    enum mtlm_color color;
    const char *legend;
} kinds[] = {
    [MTLM_KIND_F] = {"f", MTLM_COLOR_FORWARD, "F forward"},
    [MTLM_KIND_B] = {"b", MTLM_COLOR_BACKWARD, "B gradients of activations"},
    [MTLM_KIND_W] = {"w", MTLM_COLOR_WEIGHT, "W gradients of weights"},
    [MTLM_KIND_OPT] = {"o", MTLM_COLOR_OPTIMIZER, "optimizer"},
    [MTLM_KIND_EVAL] = {"e", MTLM_COLOR_EVAL, "validation"},
    [MTLM_KIND_SAVE] = {"s", MTLM_COLOR_SAVE, "copies for a checkpoint"},
    [MTLM_KIND_HOST] = {"h", MTLM_COLOR_HOST, "tokens, flags"},
    [MTLM_KIND_TP] = {"t", MTLM_COLOR_TP, "TP collectives"},
    [MTLM_KIND_PP] = {"p", MTLM_COLOR_PP, "PP send, receive"},
    [MTLM_KIND_DP] = {"d", MTLM_COLOR_DP, "DP and norm collectives"},
    [MTLM_KIND_DISK] = {"k", MTLM_COLOR_DISK, "disk load, store"},
};

enum mtlm_trace_kind mtlm_trace_kind(const struct mtlm_trace_box *box, int lane)
{
    if (lane == MTLM_LANE_TP)
        return MTLM_KIND_TP;
    if (lane == MTLM_LANE_PP)
        return MTLM_KIND_PP;
    if (lane == MTLM_LANE_DP)
        return MTLM_KIND_DP;
    if (lane == MTLM_LANE_DISK)
        return MTLM_KIND_DISK;
    if (box->class == MTLM_TRACE_SAVE)
        return MTLM_KIND_SAVE;
    if (box->host)
        return MTLM_KIND_HOST;
    switch (box->class) {
    case MTLM_TRACE_F:
        return MTLM_KIND_F;
    case MTLM_TRACE_B:
        return MTLM_KIND_B;
    case MTLM_TRACE_W:
        return MTLM_KIND_W;
    case MTLM_TRACE_EVAL:
        return MTLM_KIND_EVAL;
    default:
        return MTLM_KIND_OPT;
    }
}

const char *mtlm_trace_kind_style(enum mtlm_trace_kind kind)
{
    return kinds[kind].style;
}

int mtlm_trace_shade(enum mtlm_trace_kind kind, int chunk, int shades)
{
    if (kind > MTLM_KIND_W || chunk < 0)
        return 0;
    return chunk < shades ? chunk : shades - 1;
}

static void shade_rgb(enum mtlm_trace_kind kind, int shade, int shades,
                      int rgb[3])
{
    const double white = shades > 1 ? 0.6 * shade / (shades - 1) : 0;

    for (int i = 0; i < 3; i++)
        rgb[i] = (kinds[kind].color >> (16 - 8 * i) & 0xff) * (1 - white)
                 + 255 * white + 0.5;
}

uint32_t mtlm_trace_kind_color(enum mtlm_trace_kind kind, int shade, int shades)
{
    int rgb[3];

    shade_rgb(kind, shade, shades, rgb);
    return (uint32_t) rgb[0] << 16 | rgb[1] << 8 | rgb[2];
}

static int shades_of(enum mtlm_trace_kind kind, int shades)
{
    return kind <= MTLM_KIND_W ? shades : kind >= MTLM_KIND_TP ? 2 : 1;
}

static void put_style(FILE *f, enum mtlm_trace_kind kind, int shade,
                      const int rgb[3])
{
    fprintf(f, ".%s%d{fill:#%02x%02x%02x}", kinds[kind].style, shade, rgb[0],
            rgb[1], rgb[2]);
    /* Dark text on light colours, by perceived lightness. */
    if (0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2] < 125)
        fprintf(f, ".%s%d~text{fill:#fff}", kinds[kind].style, shade);
    putc('\n', f);
    if (kind >= MTLM_KIND_TP)
        fprintf(f, ".s%s%d{stroke:#%02x%02x%02x}\n", kinds[kind].style, shade,
                rgb[0], rgb[1], rgb[2]);
}

void mtlm_trace_put_styles(FILE *f, int shades)
{
    for (int kind = 0; kind < MTLM_KIND_COUNT; kind++) {
        const int n = shades_of(kind, shades);

        for (int shade = 0; shade < n; shade++) {
            int rgb[3];

            shade_rgb(kind, shade, n, rgb);
            put_style(f, kind, shade, rgb);
        }
    }
}

/* ---- legend ---- */

static const double box_size = 12, text_gap = 4, item_gap = 16, letter = 6.1;

static double put_text(FILE *f, const char *text, double x, double y)
{
    fprintf(f, "<text style=\"fill:#222\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
            x + text_gap, y, text);
    return x + text_gap + letter * strlen(text) + item_gap;
}

static double put_swatch(FILE *f, const char *style, int shade, double x,
                         double y, double width)
{
    char number[16] = "";

    if (shade >= 0)
        snprintf(number, sizeof(number), "%d", shade);
    fprintf(f,
            "<rect class=\"%s%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
            "height=\"%.0f\"/>",
            style, number, x, y - 10, width, box_size);
    return x + width;
}

/* A box of each used kind from first to last in the shade, and their text.
 * Writes nothing if no kind is used. */
static double put_shade(FILE *f, const int used[MTLM_KIND_COUNT],
                        enum mtlm_trace_kind first, enum mtlm_trace_kind last,
                        int shade, const char *text, double x, double y)
{
    const double begin = x;

    for (enum mtlm_trace_kind kind = first; kind <= last; kind++)
        if (used[kind])
            x = put_swatch(f, kinds[kind].style, shade, x, y, box_size);
    return x > begin ? put_text(f, text, x, y) : x;
}

/* One strip of all shades: an item per shade would not fit. */
static double put_shades(FILE *f, int shades, double x, double y)
{
    const double width = fmin(box_size, 120. / shades);
    char text[48];

    for (int shade = 0; shade < shades; shade++)
        x = put_swatch(f, kinds[MTLM_KIND_F].style, shade, x, y, width);
    snprintf(text, sizeof(text), "chunks 0 to %d", shades - 1);
    return put_text(f, text, x, y);
}

/* Writes the items at x, y; returns the end of the line. */
static double put_items(FILE *f, const int used[MTLM_KIND_COUNT], int shades,
                        double x, double y)
{
    for (int kind = 0; kind < MTLM_KIND_COUNT; kind++)
        x = put_shade(f, used, kind, kind, 0, kinds[kind].legend, x, y);
    x = put_shade(f, used, MTLM_KIND_TP, MTLM_KIND_DP, MTLM_SHADE_WAITS,
                  "waiting for a rank", x, y);
    x = put_text(f, "idle", put_swatch(f, "idle", -1, x, y, box_size), y);
    if (shades == 2)
        x = put_shade(f, used, MTLM_KIND_F, MTLM_KIND_W, 1, "chunk 1", x, y);
    else if (shades > 2)
        x = put_shades(f, shades, x, y);
    return x - item_gap;
}

void mtlm_trace_put_legend(FILE *f, const int used[MTLM_KIND_COUNT], int shades,
                           double x, double y, double width)
{
    struct mtlm_text text;
    FILE *buffer = mtlm_text_open(&text);
    const double needed = put_items(buffer, used, shades, 0, 0);
    char *items = mtlm_text_close(&text);

    fprintf(f,
            "<g font-size=\"12\" transform=\"translate(%.0f %.0f) "
            "scale(%.3f)\">\n%s</g>\n",
            x, y, fmin(1, width / needed), items);
    free(items);
}
