#ifndef MTLM_CLUSTER_NOTES_H
#define MTLM_CLUSTER_NOTES_H

#include "graph/predict/cluster.h"
#include "launch/options/options.h"

/* Adds a note to options for each doubt about the cluster of the file path, for
 * a job of that many ranks: messages that take no time because a section is
 * missing, and rates between hosts above those that should limit them. */
void mtlm_cluster_notes(struct mtlm_options *options,
                        const struct mtlm_cluster *cluster, const char *path,
                        int ranks);

#endif /* MTLM_CLUSTER_NOTES_H */
