#ifndef MTLM_CLUSTER_H
#define MTLM_CLUSTER_H

#include "graph/predict/cluster.h"
#include "runtime/base/error.h"

/* Sets *cluster from the description of a machine in the file path.  Sections
 * [device], [stage], [host], [network] and [disk] hold lines key = value;
 * launch/clusters/ has examples.  Durations come from [device], or from [stage]
 * for a whole stage.  Without [host] or [network], messages within or between
 * hosts take no modelled time; launch/plan/cluster_notes.h says so.  memory_gb
 * in [device] and [host] (1e9 bytes) and hosts in [network] say how large the
 * machine is; none changes a duration. struct mtlm_cluster has the meaning of
 * the other keys.  label: name of the file in an error. */
int mtlm_cluster_read(struct mtlm_cluster *cluster, const char *path,
                      const char *label, struct mtlm_error *err);

#endif /* MTLM_CLUSTER_H */
