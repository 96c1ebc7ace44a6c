#ifndef MTLM_GRAPH_POLICY_FACTS_H
#define MTLM_GRAPH_POLICY_FACTS_H

/* What scheduling policies learn about a program (mtlm/policy.h). */

#include "graph/build/program.h"
#include "runtime/comm/policy_job.h"

struct mtlm_policy_facts {
    const struct mtlm_program *program; /* borrowed */
    unsigned char *ends; /* [nodes of the graph] bits: 1 first, 2 last */
};

/* Finds the ends of all blocks.  The caller frees the facts with
 * mtlm_policy_facts_free(). */
struct mtlm_policy_facts mtlm_policy_facts_create(
    const struct mtlm_program *program);

void mtlm_policy_facts_free(struct mtlm_policy_facts *facts);

/* Returns what a node of the program is, of all microbatches alike.  The caller
 * sets job, iteration, microbatch, microbatches, priority and rank; order is
 * -1. */
struct mtlm_policy_node mtlm_policy_facts_node(
    const struct mtlm_policy_facts *facts, const struct mtlm_node *node);

/* Tells policies the place of the program's rank, as number `rank` of this
 * process.  workers: that compute on this rank; the program has the maximum
 * over ranks. */
void mtlm_policy_facts_tell(const struct mtlm_program *program, int rank,
                            int workers);

/* Returns the place of the program's rank. */
struct mtlm_policy_job mtlm_policy_facts_job(
    const struct mtlm_program *program);

/* Sets chunk[virtual stages of the rank]. */
void mtlm_policy_facts_chunks(const struct mtlm_program *program,
                              struct mtlm_policy_job_chunk *chunk);

#endif /* MTLM_GRAPH_POLICY_FACTS_H */
