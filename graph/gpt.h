#ifndef MTLM_GRAPH_GPT_H
#define MTLM_GRAPH_GPT_H

#include "graph/program.h"

/* Messages of one microbatch across the boundary above stage k have tags
 * MTLM_GPT_TAGS * k and up, so tags of one microbatch are below
 * MTLM_GPT_TAGS * stages. */
enum { MTLM_GPT_TAGS = 3 };

/* Builds the lists of one virtual stage of a GPT: pre-layernorm blocks
 * (arXiv 1909.08053, section 3), layers split over tensor-parallel ranks by
 * columns, then by rows, so that a block meets its peers twice forward and
 * twice backward. */
void mtlm_gpt_build(struct mtlm_program *program, struct mtlm_stage *stage);

#endif /* MTLM_GRAPH_GPT_H */
