/* Computes batch sizes and iteration counts under batch ramp-up. */

#include "config.h"

#include "graph/build/ramp.h"

int64_t mtlm_ramp_batch(const struct mtlm_ramp *ramp, int64_t n)
{
    double steps, each;

    if (ramp->increment == 0 || n > ramp->samples)
        return ramp->full;
    steps = (double) ((ramp->full - ramp->start) / ramp->increment);
    each = ramp->samples / steps;
    return ramp->start + (int64_t) (n / each) * ramp->increment;
}

struct mtlm_ramp_place mtlm_ramp_begin(const struct mtlm_ramp *ramp)
{
    return mtlm_ramp_at(ramp, 0, 0);
}

struct mtlm_ramp_place mtlm_ramp_at(const struct mtlm_ramp *ramp,
                                    int64_t iteration, int64_t samples)
{
    return (struct mtlm_ramp_place){iteration, samples,
                                    mtlm_ramp_batch(ramp, samples)};
}

void mtlm_ramp_next(const struct mtlm_ramp *ramp, struct mtlm_ramp_place *place)
{
    place->iteration++;
    place->samples += place->batch;
    place->batch = mtlm_ramp_batch(ramp, place->samples);
}

int64_t mtlm_ramp_iterations(const struct mtlm_ramp *ramp, int64_t samples,
                             int64_t max)
{
    return mtlm_ramp_iterations_from(ramp, mtlm_ramp_begin(ramp), samples, max);
}

int64_t mtlm_ramp_iterations_from(const struct mtlm_ramp *ramp,
                                  struct mtlm_ramp_place place, int64_t samples,
                                  int64_t max)
{
    int64_t more;

    while (ramp->increment > 0 && place.samples <= ramp->samples
           && place.samples <= samples && place.iteration < max)
        mtlm_ramp_next(ramp, &place);
    if (samples <= place.samples)
        return place.iteration;
    more = (samples - place.samples) / ramp->full;
    return more < max - place.iteration ? place.iteration + more : max;
}
