#ifndef MTLM_GRAPH_STAGE_H
#define MTLM_GRAPH_STAGE_H

#include "graph/program.h"

/* Messages of one microbatch across the boundary above stage k have tags
 * from k times this on, so tags of one microbatch are below stages times
 * this. */
int mtlm_stage_tags(const struct mtlm_program_config *config);

/* Builds the lists of one virtual stage of a GPT or BERT: forward, its
 * gradients, and the forward pass of a validation. */
void mtlm_stage_build(struct mtlm_program *program, struct mtlm_stage *stage);

#endif /* MTLM_GRAPH_STAGE_H */
