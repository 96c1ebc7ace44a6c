#ifndef MTLM_TRACE_AXIS_H
#define MTLM_TRACE_AXIS_H

/* Ticks of the axes in all pictures. */

/* Returns the distance between ticks: 1, 2 or 5 times a power of ten, at least
 * span / most.  span > 0 is the length of the axis, `most` the number of
 * distances that fit. */
double mtlm_axis_step(double span, int most);

/* Returns the decimals that labels of multiples of step need. */
int mtlm_axis_decimals(double step);

#endif /* MTLM_TRACE_AXIS_H */
