#ifndef MTLM_GRAPH_LATE_H
#define MTLM_GRAPH_LATE_H

/* Evaluations behind late messages.  A plan has the messages that it is given;
 * a running pipeline adds latencies.  Late messages take longer than given: by
 * a two-hundredth, a hundredth, and a fiftieth of F on average. */

#include "graph/predict/evaluate.h"

/* Returns the seconds of an iteration whose messages take `more` seconds more
 * than given, on average. */
typedef double mtlm_late_evaluate(void *arg, double more);

/* Returns the mean of the evaluations behind late messages.  forward: seconds
 * of F. */
double mtlm_late_seconds(mtlm_late_evaluate *evaluate, void *arg,
                         double forward);

/* Returns the pipeline with messages that take `more` seconds more than given,
 * on average, each a time of its own.  Borrows what the pipeline borrows. */
struct mtlm_evaluate mtlm_late_pipeline(const struct mtlm_evaluate *pipeline,
                                        double more);

/* Returns a number in [0, 1), as if drawn: the latency of this message, where
 * latencies differ and the longest one is 1.  from, to: stages. */
double mtlm_late_share(int from, int to, int microbatch);

#endif /* MTLM_GRAPH_LATE_H */
