#ifndef MTLM_CLUSTER_H
#define MTLM_CLUSTER_H

#include "graph/predict/cost.h"

/* Reads the description of a machine: key = value in the sections [device],
 * [stage], [host], [network]; launch/clusters/ has some.  Times come from
 * [device] or from [stage], which names those of a whole stage; without
 * [host] or [network] messages there take no modelled time.  label names the
 * file in an error. */
int mtlm_cluster_read(struct mtlm_cluster *cluster, const char *path,
                      const char *label, struct mtlm_error *err);

#endif /* MTLM_CLUSTER_H */
