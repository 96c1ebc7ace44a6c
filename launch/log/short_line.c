/* Writes log lines for people: fields by importance, up to a width. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/log/short_line.h"
#include "runtime/base/memory.h"

static const char plain[] = "", bold[] = "\033[1m", red[] = "\033[31m";

struct short_line {
    char text[MTLM_SHORT_LINE_COLUMNS * 2]; /* with escapes */
    size_t bytes;
    int columns;
    bool colour;
};

/* Adds " | field" in that style, if the field fits. */
static void __attribute__((format(printf, 3, 4)))
add_field(struct short_line *line, const char *style, const char *format, ...)
{
    const char *between = line->columns ? " | " : "";
    const bool styled = line->colour && *style;
    char field[96];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(field, sizeof(field), format, args);
    va_end(args);
    n += (int) strlen(between);
    if (n >= (int) sizeof(field) || line->columns + n > MTLM_SHORT_LINE_COLUMNS)
        return;
    line->columns += n;
    line->bytes += snprintf(
        line->text + line->bytes, sizeof(line->text) - line->bytes, "%s%s%s%s",
        between, styled ? style : "", field, styled ? "\033[0m" : "");
}

/* What went wrong, and losses. */
static void add_losses(struct short_line *line,
                       const struct mtlm_log_iteration *log)
{
    if (log->loss > 0)
        add_field(line, bold, "loss %.4f", log->loss);
    if (log->skipped > 0)
        add_field(line, red, "skipped %d", log->skipped);
    if (log->nan > 0)
        add_field(line, red, "NaN %d", log->nan);
    if (log->sop_loss > 0)
        add_field(line, plain, "sop %.4f", log->sop_loss);
}

static void add_details(struct short_line *line,
                        const struct mtlm_log_iteration *log)
{
    if (log->tflops >= 0)
        add_field(line, plain, "%.3g TFLOP/s a rank", log->tflops);
    if (log->loss_scale != 1)
        add_field(line, plain, "scale %g", log->loss_scale);
    if (log->params_norm >= 0)
        add_field(line, plain, "params norm %.3f", log->params_norm);
    if (log->zeros >= 0)
        add_field(line, plain, "zeros %.0f", log->zeros);
    if (log->bubble >= 0)
        add_field(line, plain, "bubble %.1f %%", 100 * log->bubble);
    if (log->overlap >= 0)
        add_field(line, plain, "overlap %.0f %%", 100 * log->overlap);
}

char *mtlm_short_line_iteration(const struct mtlm_log_iteration *log,
                                bool colour)
{
    struct short_line line = {.colour = colour};
    char left[16];

    add_field(&line, plain, "iteration %*" PRId64 "/%" PRId64,
              snprintf(NULL, 0, "%" PRId64, log->iterations), log->iteration,
              log->iterations);
    add_losses(&line, log);
    add_field(&line, plain, "lr %.3E", log->lr);
    add_field(&line, plain, "norm %.3f", log->grad_norm);
    add_field(&line, plain, "%.1f ms", log->iteration_ms);
    if (log->tokens_per_second >= 0)
        add_field(&line, plain, "%.1f tokens/s", log->tokens_per_second);
    if (log->seconds_left >= 0)
        add_field(&line, plain, "%s left",
                  mtlm_log_time_text(log->seconds_left, left));
    add_details(&line, log);
    return mtlm_strdup(line.text);
}

char *mtlm_short_line_validation(const char *set, int64_t iteration,
                                 double loss, bool of_tokens, double sop_loss,
                                 double sop_accuracy, bool colour)
{
    struct short_line line = {.colour = colour};

    add_field(&line, plain, "%s at iteration %" PRId64, set, iteration);
    add_field(&line, bold, "loss %.4f", loss);
    if (of_tokens)
        add_field(&line, plain, "perplexity %.4g", mtlm_log_perplexity(loss));
    if (!(sop_loss < 0)) /* keeps NaN */
        add_field(&line, plain, "sop %.4f", sop_loss);
    if (!(sop_accuracy < 0))
        add_field(&line, plain, "sop accuracy %.1f %%", 100 * sop_accuracy);
    return mtlm_strdup(line.text);
}

bool mtlm_short_line_terminal(int fd)
{
    const char *term = getenv("TERM");

    return isatty(fd) && !(term && strcmp(term, "dumb") == 0);
}

bool mtlm_short_line_colours(int fd)
{
    const char *no = getenv("NO_COLOR");

    return mtlm_short_line_terminal(fd) && !(no && *no);
}
