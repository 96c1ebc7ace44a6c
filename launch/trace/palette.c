/* Colours and legend of the picture. */
#include "config.h"

#include <string.h>

#include "launch/trace/palette.h"
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
};

enum mtlm_trace_kind mtlm_trace_kind(const struct mtlm_trace_box *box, int lane)
{
    if (lane == MTLM_LANE_TP)
        return MTLM_KIND_TP;
    if (lane == MTLM_LANE_PP)
        return MTLM_KIND_PP;
    if (lane == MTLM_LANE_DP)
        return MTLM_KIND_DP;
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

void mtlm_trace_put_styles(FILE *f, int shades)
{
    for (int kind = 0; kind < MTLM_KIND_COUNT; kind++)
        for (int shade = 0; shade < (kind <= MTLM_KIND_W ? shades : 1);
             shade++) {
            int rgb[3];

            shade_rgb(kind, shade, shades, rgb);
            fprintf(f, ".%s%d{fill:#%02x%02x%02x}", kinds[kind].style, shade,
                    rgb[0], rgb[1], rgb[2]);
            /* Dark text on light colours, by perceived lightness. */
            if (0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2] < 125)
                fprintf(f, ".%s%d~text{fill:#fff}", kinds[kind].style, shade);
            putc('\n', f);
        }
    for (int kind = MTLM_KIND_TP; kind <= MTLM_KIND_DP; kind++)
        fprintf(f, ".s%s{stroke:#%06x}\n", kinds[kind].style,
                kinds[kind].color);
}

static double put_item(FILE *f, const char *style, const char *text, double x,
                       double y)
{
    fprintf(f,
            "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"12\" "
            "height=\"12\"/><text style=\"fill:#222\" x=\"%.1f\" y=\"%.1f\">"
            "%s</text>\n",
            style, x, y - 10, x + 16, y, text);
    return x + 16 + 6.1 * strlen(text) + 16;
}

/* A box of each used colour, in the shade of chunk 1. */
static void put_second(FILE *f, const int used[MTLM_KIND_COUNT], double x,
                       double y)
{
    for (int kind = MTLM_KIND_F; kind <= MTLM_KIND_W; kind++) {
        if (!used[kind])
            continue;
        fprintf(f,
                "<rect class=\"%s1\" x=\"%.1f\" y=\"%.1f\" width=\"12\" "
                "height=\"12\"/>",
                kinds[kind].style, x, y - 10);
        x += 12;
    }
    fprintf(f,
            "<text style=\"fill:#222\" x=\"%.1f\" y=\"%.1f\">chunk 1</text>\n",
            x + 4, y);
}

/* One strip of all shades: an item per shade would not fit. */
static void put_shades(FILE *f, int shades, double x, double y)
{
    const double w = 12. * shades < 120 ? 12 : 120. / shades;

    for (int shade = 0; shade < shades; shade++)
        fprintf(f,
                "<rect class=\"f%d\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
                "height=\"12\"/>",
                shade, x + w * shade, y - 10, w);
    fprintf(f,
            "<text style=\"fill:#222\" x=\"%.1f\" y=\"%.1f\">"
            "chunks 0 to %d</text>\n",
            x + w * shades + 4, y, shades - 1);
}

void mtlm_trace_put_legend(FILE *f, const int used[MTLM_KIND_COUNT], int shades,
                           double x, double y)
{
    fputs("<g font-size=\"12\">\n", f);
    for (int kind = 0; kind < MTLM_KIND_COUNT; kind++) {
        char style[16];

        if (!used[kind])
            continue;
        snprintf(style, sizeof(style), "%s0", kinds[kind].style);
        x = put_item(f, style, kinds[kind].legend, x, y);
    }
    x = put_item(f, "idle", "idle", x, y);
    if (shades == 2)
        put_second(f, used, x, y);
    else if (shades > 2)
        put_shades(f, shades, x, y);
    fputs("</g>\n", f);
}
