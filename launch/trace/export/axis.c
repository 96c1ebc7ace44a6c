/* Chooses round distances between ticks. */
#include "config.h"

#include <math.h>

#include "launch/trace/export/axis.h"

double mtlm_axis_step(double span, int most)
{
    const double raw = span / most, unit = pow(10, floor(log10(raw)));

    return raw <= 1.0001 * unit   ? unit
           : raw <= 2.0001 * unit ? 2 * unit
           : raw <= 5.0001 * unit ? 5 * unit
                                  : 10 * unit;
}

int mtlm_axis_decimals(double step)
{
    return fmax(0, -floor(log10(step) + 1e-9));
}
