#ifndef MTLM_GRAPH_EXPOSURE_H
#define MTLM_GRAPH_EXPOSURE_H

/* What a rank's idle time is spent on. */

#include "graph/predict/evaluate_program.h"
#include "graph/predict/plan.h"

/* Seconds of an iteration without a busy worker, by the message in flight: one
 * that the rank takes part in, from the start of the transfer to its end.  Of
 * several messages the first kind of this list counts: tensor-parallel,
 * pipeline, data-parallel, tied embedding, other.  disk_s: no message is in
 * flight, but a load or a store of the rank is.  waiting_s: neither; the rank
 * waits for another rank's computation, or for another rank at the disk. */
struct mtlm_exposure {
    double message_s[MTLM_TRAFFIC_COUNT];
    double disk_s, waiting_s;
    /* Seconds of the rank's loads and stores; part of these beside a busy
     * worker. */
    double moving_s, hidden_s;
};

/* Returns the worker seconds of computation of each program: [programs].  The
 * caller frees the array. */
double *mtlm_exposure_busy(const struct mtlm_execution *run, int programs);

enum { MTLM_EXPOSURE_LANES = MTLM_LANE_DISK + 1 };

/* Returns the seconds of each program's collectives, by the lane in which they
 * take turns: [programs][MTLM_EXPOSURE_LANES].  With MTLM_TURNS_ALL all count
 * as lane 0.  The caller frees the array. */
double *mtlm_exposure_turns(const struct mtlm_execution *run, int programs,
                            enum mtlm_turns turns);

/* Returns the program that is busy longest, the first one of equals. */
int mtlm_exposure_busiest(const double *busy, int programs);

/* Returns the idle time of program[program] from 0 to the makespan. */
struct mtlm_exposure mtlm_exposure_find(const struct mtlm_execution *run,
                                        int program);

#endif /* MTLM_GRAPH_EXPOSURE_H */
