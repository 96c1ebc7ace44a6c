#ifndef MTLM_GRAPH_PROFILE_H
#define MTLM_GRAPH_PROFILE_H

/* Published code as a profile: what Megatron-LM of a year ran in place of our
 * kernels and of our order.  Costs of nodes (graph/predict/cost.h) and
 * evaluations (graph/predict/evaluate_program.h) take a profile; the default is
 * our own code. */

#include "graph/build/program.h"

/* The kernels of an operation of the graph.  They read and write `elements`
 * 2-byte elements for each element of an operand: fp16 and bf16.  Values of
 * another size count in proportion.  Cross-entropy and Adam compute in fp32 and
 * do not; scores of attention count as of 2-byte jobs.  An operation may have
 * several entries. */
struct mtlm_profile_kernels {
    enum mtlm_op_kind kind;
    int operand;
    double elements;
    int kernels; /* launched, matrix products included */
};

struct mtlm_profile {
    const char *name;   /* of --as, without "megatron-" */
    const char *source; /* the code, for messages and tables */
    const struct mtlm_profile_kernels *kernels;
    int n_kernels;
    /* Bytes that kernels between the products of attention read and write for
     * each score: forward, backward. */
    double score_bytes[2];
    double launch_s;  /* of each kernel; 0: the cluster's */
    bool accumulates; /* a kernel of its own adds each weight gradient */
    bool pipelines, interleaves, scatters;
    bool bf16;           /* had --bf16 */
    bool splits_rows;    /* had sequence parallelism and selective recompute */
    bool hides_backward; /* tensor-parallel messages beside weight gradients */
    bool overlaps_alone; /* gradients' reductions beside B without pipeline */
};

/* Returns the profile of that name, with or without "megatron-"; or NULL. */
const struct mtlm_profile *mtlm_profile_find(const char *name);

/* Makes the program what all published code ran: whole samples, and
 * recomputation of whole layers.  Plans then have the memory of profile, which
 * config borrows. */
void mtlm_profile_apply(const struct mtlm_profile *profile,
                        struct mtlm_program_config *config);

/* Returns a feature of the program that the code never had, as in "a pipeline";
 * NULL: the code had all.  our_order: the code's own pipeline does not matter.
 */
const char *mtlm_profile_lacks(const struct mtlm_profile *profile,
                               const struct mtlm_program_config *config,
                               bool our_order);

/* Returns the bytes that the kernels of a node read and write, without the
 * operands of matrix products.  value_bytes: of a value.  Sets *kernels to the
 * number of kernels.  0 kernels: nothing runs for the node. */
double mtlm_profile_bytes(const struct mtlm_profile *profile,
                          const struct mtlm_node *node, double value_bytes,
                          int *kernels);

/* Returns whether the item is a link of its rank's chain: the code starts the
 * item after the item before it, and the next item after this one.  Without a
 * pipeline, reductions of gradients may run beside the rest.  An exchange of
 * interleaved code sends messages of both directions.  Both leave by one
 * adapter, so each send is a link. */
bool mtlm_profile_chains(const struct mtlm_profile *profile,
                         const struct mtlm_program *program,
                         const struct mtlm_item *item);

/* Returns whether the code hides the collective beside weight gradients. */
bool mtlm_profile_hides(const struct mtlm_profile *profile,
                        const struct mtlm_node *node);

#endif /* MTLM_GRAPH_PROFILE_H */
