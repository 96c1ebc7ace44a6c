#ifndef MTLM_GRAPH_STAGE_H
#define MTLM_GRAPH_STAGE_H

#include "graph/build/program.h"

/* How many parts a sample is cut into. */
int mtlm_stage_parts(const struct mtlm_program_config *config);

/* Whether sequence parallelism, where it is asked for, finds parts whose rows
 * tensor-parallel ranks can share evenly.  No program is made otherwise. */
bool mtlm_stage_rows_fit(const struct mtlm_program_config *config);

/* Messages of one microbatch across the boundary above stage k have tags
 * from k times this on, so tags of one microbatch are below stages times
 * this. */
int mtlm_stage_tags(const struct mtlm_program_config *config);

/* Microbatches that tags of at most max_tag tell apart. */
int64_t mtlm_stage_tag_microbatches(const struct mtlm_program_config *config,
                                    int max_tag);

/* Refuses (MTLM_EXIT_RESOURCE) a program that may have more of them under way
 * across a boundary. */
int mtlm_stage_check_tags(const struct mtlm_program *program, int max_tag,
                          struct mtlm_error *err);

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
