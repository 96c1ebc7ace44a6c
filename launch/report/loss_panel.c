/* Places values in a panel and draws its axes. */
#include "config.h"

#include <math.h>
#include <stdint.h>

#include "launch/report/loss_panel.h"
#include "launch/trace/export/axis.h"

enum {
    LEFT = MTLM_LOSS_LEFT,
    RIGHT = MTLM_LOSS_WIDTH - MTLM_LOSS_RIGHT, /* edge of the panels */
    FONT = MTLM_LOSS_FONT,
    TICKS = 6, /* distances between ticks on an axis, at most */
};

double mtlm_loss_panel_x(const struct mtlm_loss_panel *panel, double iteration)
{
    return LEFT
           + (iteration - panel->least_x) / (panel->most_x - panel->least_x)
                 * (RIGHT - LEFT);
}

double mtlm_loss_panel_y(const struct mtlm_loss_panel *panel, double value)
{
    const double inside = fmin(fmax(value, panel->least), panel->most);

    return panel->top
           + (panel->most - inside) / (panel->most - panel->least)
                 * panel->height;
}

void mtlm_loss_panel_set_edges(struct mtlm_loss_panel *panel, double least,
                               double most)
{
    double step;

    if (!(least < most)) { /* one value, or none */
        least = isfinite(least) ? least - 0.5 : 0;
        most = least + 1;
    }
    step = mtlm_axis_step(most - least, TICKS);
    panel->least = step * floor(least / step + 1e-9);
    panel->most = step * ceil(most / step - 1e-9);
}

static void put_tick(FILE *f, const struct mtlm_loss_panel *panel, double value,
                     const char *label)
{
    const double y = mtlm_loss_panel_y(panel, value);

    fprintf(f,
            "<path class=\"tick\" d=\"M%d %.1fH%d\"/><text class=\"e\" "
            "x=\"%d\" y=\"%.1f\">%s</text>\n",
            LEFT, y, RIGHT, LEFT - 6, y + 0.35 * FONT, label);
}

void mtlm_loss_panel_put_losses(FILE *f, const struct mtlm_loss_panel *panel,
                                const char *axis)
{
    const double step = mtlm_axis_step(panel->most - panel->least, TICKS);
    const int64_t ticks = llround((panel->most - panel->least) / step);
    char label[32];

    for (int64_t i = 0; i <= ticks; i++) {
        const double value = panel->least + i * step;

        snprintf(label, sizeof(label), "%.*f", mtlm_axis_decimals(step), value);
        put_tick(f, panel, value, label);
    }
    fprintf(f,
            "<text class=\"m\" transform=\"translate(14 %.1f) rotate(-90)\">"
            "%s</text>\n",
            panel->top + panel->height / 2, axis);
}

void mtlm_loss_panel_put_rates(FILE *f, const struct mtlm_loss_panel *panel)
{
    char label[32];

    snprintf(label, sizeof(label), "%.3g", panel->most);
    put_tick(f, panel, 0, "0");
    put_tick(f, panel, panel->most, label);
    fprintf(f,
            "<text class=\"e\" x=\"%d\" y=\"%.1f\" fill=\"#666\" "
            "stroke=\"#fff\" stroke-width=\"5\" paint-order=\"stroke\">"
            "learning rate"
            "</text>\n",
            RIGHT - 4, panel->top + FONT + 2);
}

void mtlm_loss_panel_put_iterations(FILE *f,
                                    const struct mtlm_loss_panel *panel,
                                    bool labels)
{
    const double step =
        fmax(1, mtlm_axis_step(panel->most_x - panel->least_x, TICKS));
    const double bottom = panel->top + panel->height;

    for (int64_t i = ceil(panel->least_x / step); i * step <= panel->most_x;
         i++) {
        const double x = mtlm_loss_panel_x(panel, i * step);

        fprintf(f, "<path class=\"tick\" d=\"M%.1f %.1fV%.1f\"/>", x,
                panel->top, bottom);
        if (labels)
            fprintf(f, "<text class=\"m\" x=\"%.1f\" y=\"%.1f\">%.0f</text>", x,
                    bottom + FONT + 4, i * step);
        putc('\n', f);
    }
    if (labels)
        fprintf(f, "<text class=\"m\" x=\"%.1f\" y=\"%.1f\">iteration</text>\n",
                (LEFT + RIGHT) / 2., bottom + 2 * FONT + 10);
}
