/* Writes the progress of a run as a line, and as a bar of a given width. */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/log/log_line.h"
#include "launch/log/progress_text.h"
#include "runtime/base/memory.h"

/* Microbatches below which no rate is shown. */
static const double least_done = 0.05;

/* Characters between the brackets of a bar. */
enum { LEAST_BAR = 10, MOST_BAR = 40, MOST_COLUMNS = 400 };

/* Returns the decimals that show about three digits of rate. */
static int decimals(double rate)
{
    return rate >= 99.5 ? 0 : rate >= 0.995 ? 1 : rate >= 0.0995 ? 2 : 4;
}

char *mtlm_progress_text(const char *what, double done, int64_t total,
                         int64_t after, double seconds, char *text, size_t size)
{
    const double rate = seconds > 0 ? done / seconds : 0;
    char left[16], run[16];
    int n = snprintf(text, size, "%s: %.*f/%lld microbatches", what,
                     total < 100, done, (long long) total);

    if (n < 0 || (size_t) n >= size)
        return text;
    if (rate == 0 || done < least_done) {
        snprintf(text + n, size - n, " after %s",
                 mtlm_log_time_text(seconds, left));
        return text;
    }
    mtlm_log_time_text((total - done) / rate, left);
    mtlm_log_time_text((total - done + after) / rate, run);
    snprintf(text + n, size - n, ", %.*f microbatches/s, %s left%s%s%s",
             decimals(rate), rate, left, after > 0 ? ", " : "",
             after > 0 ? run : "", after > 0 ? " of the run" : "");
    return text;
}

/* The fields behind a bar. */
struct fields {
    char text[MOST_COLUMNS];
    int length, room; /* columns used; columns in all */
};

/* Adds " | field", or the first field, if it fits. */
static void __attribute__((format(printf, 2, 3)))
add_field(struct fields *fields, const char *format, ...)
{
    char field[128];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(field, sizeof(field), format, args);
    va_end(args);
    if (n >= (int) sizeof(field) || fields->length + 3 + n > fields->room)
        return;
    fields->length += snprintf(fields->text + fields->length,
                               sizeof(fields->text) - fields->length, "%s%s",
                               fields->length ? " | " : " ", field);
}

static void add_fields(struct fields *fields,
                       const struct mtlm_progress_text_bar *bar)
{
    char left[16];

    add_field(fields, "%.0f %%", floor(100 * bar->share));
    if (bar->note) {
        add_field(fields, "%s", bar->note);
        return;
    }
    if (bar->seconds_left >= 0)
        add_field(fields, "%s left",
                  mtlm_log_time_text(bar->seconds_left, left));
    if (bar->rate > 0)
        add_field(fields, "%.*f microbatches/s", decimals(bar->rate),
                  bar->rate);
    if (bar->total > 0)
        add_field(fields, "%.*f/%lld microbatches", bar->total < 100, bar->done,
                  (long long) bar->total);
}

static char *draw_bar(const struct mtlm_progress_text_bar *bar,
                      const char *name, int columns, bool colour)
{
    static const char line[] = "========================================";
    const int room = (columns < MOST_COLUMNS ? columns : MOST_COLUMNS) - 1;
    const int around = strlen(name) + 3; /* a blank, brackets */
    struct fields fields = {.room = room - around - LEAST_BAR};
    int width, filled;

    if (fields.room < 0)
        return mtlm_sprintf("%.*s", room > 0 ? room : 0, name);
    add_fields(&fields, bar);
    width = room - around - fields.length;
    width = width < MOST_BAR ? width : MOST_BAR;
    filled = fmin(fmax(bar->share, 0), 1) * width;
    return mtlm_sprintf(
        "%s [%s%.*s%s%s%*s]%s", name, colour ? "\033[32m" : "", filled, line,
        filled < width ? ">" : "", colour ? "\033[0m" : "",
        filled < width ? width - filled - 1 : 0, "", fields.text);
}

char *mtlm_progress_text_bar(const struct mtlm_progress_text_bar *bar,
                             int columns, bool colour)
{
    char *name = bar->number > 0 ? mtlm_sprintf("%s/%lld", bar->what,
                                                (long long) bar->number)
                                 : mtlm_strdup(bar->what);
    char *text = draw_bar(bar, name, columns, colour);

    free(name);
    return text;
}
