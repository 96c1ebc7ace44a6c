#ifndef MTLM_LAYOUT_SEARCH_H
#define MTLM_LAYOUT_SEARCH_H

/* The search for the fastest layout of a machine: tensor, pipeline and data
 * sizes, virtual stages, micro batch and recomputation.
 *
 * An estimate orders all layouts.  In this order, those that fit into a
 * device's memory are simulated, 24 at most.  The evaluated tensor-parallel
 * group stands for all: layouts whose groups lie unlike on the hosts are
 * simulated only if no other one fits.  Of an iteration of many tasks, two
 * parts are simulated that fill the pipeline.  Their difference is the pace of
 * all further microbatches, or the work of the busiest rank, or its collectives
 * that take turns, whichever is most.  Where the parts do not fill the windows,
 * the difference does not count (launch/simulate/further_microbatch.h).  The
 * fastest layout is simulated whole if this machine has the memory. */

#include <stdio.h>

#include "launch/simulate/layout_simulate.h"

struct mtlm_layout_search {
    struct mtlm_layout_found *found; /* [n] simulated ones, fastest first */
    int n;
    int weighed; /* layouts that the ranks can have */
    /* Of the first layout that --act-mem refused, and of the first one that
     * this machine lacks the memory to simulate. */
    struct mtlm_layout_refusal refusal;
    int too_large; /* layouts left out because of this machine's memory */
};

/* Simulates layouts of hosts->ranks ranks on the cluster.  The wish says what
 * is given: virtual stages, a micro batch that is not free; and options a
 * granularity of recomputation.  hosts->available: memory of a device in bytes.
 * The cluster is not timed.  The caller frees the result with
 * mtlm_layout_search_free(). */
struct mtlm_layout_search mtlm_layout_search_make(
    const struct mtlm_options *options, const struct mtlm_wish *wish,
    const struct mtlm_hosts *hosts, const struct mtlm_cluster *cluster);

/* Sets the fastest layout in options, wish and choice. */
void mtlm_layout_search_take(const struct mtlm_layout_search *search,
                             struct mtlm_options *options,
                             struct mtlm_wish *wish,
                             struct mtlm_choice *choice);

/* Prints the ten fastest layouts, the memory that hosts left them, and what
 * this machine could not simulate. */
void mtlm_layout_search_print(const struct mtlm_layout_search *search,
                              const struct mtlm_hosts *hosts, FILE *out);

/* Frees the layouts; an empty search is allowed. */
void mtlm_layout_search_free(struct mtlm_layout_search *search);

#endif /* MTLM_LAYOUT_SEARCH_H */
