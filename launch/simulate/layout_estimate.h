#ifndef MTLM_LAYOUT_ESTIMATE_H
#define MTLM_LAYOUT_ESTIMATE_H

/* A quick estimate of an iteration, to order layouts: the work of the busiest
 * stage for each microbatch, plus the fill of the pipeline, plus one all-reduce
 * of the gradients.  The times of a layer are those of the nodes of a model of
 * one and of two layers. */

#include "graph/predict/choose.h"

struct mtlm_layout_estimate;

/* Returns an estimator for layouts of the wish on the cluster; both are
 * borrowed.  The caller frees the estimator with
 * mtlm_layout_estimate_destroy(). */
struct mtlm_layout_estimate *mtlm_layout_estimate_create(
    const struct mtlm_wish *wish, const struct mtlm_cluster *cluster);

/* Returns the estimated seconds of an iteration of config, a layout of the
 * wish. */
double mtlm_layout_estimate_seconds(struct mtlm_layout_estimate *estimate,
                                    const struct mtlm_program_config *config);

/* Frees the estimator. */
void mtlm_layout_estimate_destroy(struct mtlm_layout_estimate *estimate);

#endif /* MTLM_LAYOUT_ESTIMATE_H */
