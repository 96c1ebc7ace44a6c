/* Simulations in tests: the text of one, and what stands in a text. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/simulate/simulate.h"
#include "tests/launch/parse.h"
#include "tests/launch/simulated.h"

char *simulated(const char *name, const char *line)
{
    char *all = mtlm_sprintf("--simulate %s %s", name, line), *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(parse(all), MTLM_REQUEST_SIMULATE);
    if (mtlm_simulate(&options, out, &error) < 0) {
        fclose(out);
        free(text);
        text = NULL;
    } else {
        fclose(out);
    }
    free(all);
    return text;
}

void near(double have, double want, double tolerance)
{
    if (!(fabs(have - want) <= tolerance * fabs(want)))
        fail_msg("%.12g, not %.12g", have, want);
}

void assert_says(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("no \"%s\" in\n%s", what, text);
}
