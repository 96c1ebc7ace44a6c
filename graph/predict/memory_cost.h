#ifndef MTLM_GRAPH_MEMORY_COST_H
#define MTLM_GRAPH_MEMORY_COST_H

/* Bytes that nodes read and write, and the time that a device's memory takes
 * for them: bytes / (efficiency * bandwidth). */

#include "graph/build/program.h"
#include "graph/predict/cluster.h"

/* The bytes of a node's operands. */
struct mtlm_touched {
    double read, written;
};

/* Returns the bytes of an element of weights and activations: in an fp32 job
 * the cluster's size, else 4 for those that stay fp32. */
double mtlm_memory_cost_element(const struct mtlm_cluster *cluster,
                                const struct mtlm_program *program);

/* Returns the bytes of a node's operands; real: bytes of an fp32 element.  Adam
 * touches the piece of a weight that its gradient belongs to. */
struct mtlm_touched mtlm_memory_cost_touched(const struct mtlm_node *node,
                                             double real);

/* Returns the seconds that a device takes to read or write so many bytes. */
double mtlm_memory_cost_seconds(const struct mtlm_cluster *cluster,
                                double bytes);

#endif /* MTLM_GRAPH_MEMORY_COST_H */
