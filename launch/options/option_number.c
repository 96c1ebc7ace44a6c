/* Numbers of options, from text and to text. */

#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launch/options/option_number.h"

bool mtlm_option_number_int(const char *text, double min, double max,
                            int64_t *value)
{
    char *end;

    if (text[strspn(text, "-0123456789")] || !*text)
        return false;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return !*end && !errno && *value >= (int64_t) min
           && *value <= (int64_t) max;
}

bool mtlm_option_number_real(const char *text, double min, double max,
                             double *value)
{
    char *end;

    if (text[strspn(text, "+-.0123456789eE")] || !*text)
        return false;
    *value = strtod(text, &end);
    return !*end && isfinite(*value) && *value >= min && *value <= max;
}

void mtlm_option_number_write(double value, FILE *out)
{
    char text[40];

    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, out);
}
