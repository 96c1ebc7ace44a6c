#ifndef MTLM_GRAPH_STAGE_H
#define MTLM_GRAPH_STAGE_H

#include "graph/program.h"

/* Messages of one microbatch across the boundary above stage k have tags
 * from k times this on, so tags of one microbatch are below stages times
 * this. */
int mtlm_stage_tags(const struct mtlm_program_config *config);

/* Build the lists of one virtual stage of a GPT or BERT: forward; its
 * gradients; the forward pass of a validation.  The forward lists of all
 * stages of the rank come before the first backward list. */
void mtlm_stage_build_forward(struct mtlm_program *program,
                              struct mtlm_stage *stage);
void mtlm_stage_build_backward(struct mtlm_program *program,
                               struct mtlm_stage *stage);
void mtlm_stage_build_eval(struct mtlm_program *program,
                           struct mtlm_stage *stage);

#endif /* MTLM_GRAPH_STAGE_H */
