#ifndef MTLM_FURTHER_MICROBATCH_H
#define MTLM_FURTHER_MICROBATCH_H

/* The two parts of a long iteration that a search of layouts simulates, and
 * whether their difference is the time of the further microbatches. */

#include <stdbool.h>

#include "graph/build/program.h"

/* The microbatches of both parts.  Both fill the pipeline, and are multiples of
 * p: interleaved ranks work in groups of p. */
struct mtlm_further_microbatch {
    int64_t less, more;
};

/* Returns the parts for p pipeline ranks. */
struct mtlm_further_microbatch mtlm_further_microbatch_of(int p);

/* Returns whether the difference of the parts is the pace of config's
 * iteration, which follows no order.  It is if both parts fill the windows of
 * every stage.  It is, too, if every stage has room for all microbatches.
 *
 * Else the parts run as if windows had no end: F goes ahead, and W waits.  The
 * caller then takes the work of the busiest rank as the pace, or collectives
 * that take turns.  This is too fast where --stage-windows or --act-mem makes
 * one stage wide and others so narrow that they set the pace.  Times of stages
 * are sums over nodes, so that Little's law gives no sure bound. */
bool mtlm_further_microbatch_shows(const struct mtlm_program_config *config);

#endif /* MTLM_FURTHER_MICROBATCH_H */
