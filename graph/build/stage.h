#ifndef MTLM_GRAPH_STAGE_H
#define MTLM_GRAPH_STAGE_H

/* One virtual stage of a GPT or BERT, and the message tags at its
 * boundaries. */

#include "graph/build/program.h"

/* Returns the number of parts of a sample: by the options or by shape
 * (graph/build/row_parts.h).  By shape with sequence parallelism, fewer if the
 * ranks cannot share the rows of every part evenly. */
int mtlm_stage_parts(const struct mtlm_program_config *config);

/* Returns whether the tensor-parallel ranks can share the rows of every part
 * evenly; true without sequence parallelism.  No program may be built
 * otherwise. */
bool mtlm_stage_rows_fit(const struct mtlm_program_config *config);

/* Returns the number of tags per stage boundary and microbatch.  Messages
 * across the boundary above stage k have tags from k times this number on.  All
 * tags of one microbatch are below stages times this number. */
int mtlm_stage_tags(const struct mtlm_program_config *config);

/* Returns how many microbatches the tags 0 .. max_tag can distinguish. */
int64_t mtlm_stage_tag_microbatches(const struct mtlm_program_config *config,
                                    int max_tag);

/* Returns 0, or -1 with MTLM_EXIT_RESOURCE in err if more microbatches than
 * that may be under way across a boundary. */
int mtlm_stage_check_tags(const struct mtlm_program *program, int max_tag,
                          struct mtlm_error *err);

/* Builds stage->forward.  The forward lists of all stages of the rank must
 * precede the first backward list. */
void mtlm_stage_build_forward(struct mtlm_program *program,
                              struct mtlm_stage *stage);

/* Builds stage->backward and stage->weight: the gradients of the forward
 * list. */
void mtlm_stage_build_backward(struct mtlm_program *program,
                               struct mtlm_stage *stage);

/* Builds stage->eval: the forward pass of a validation. */
void mtlm_stage_build_eval(struct mtlm_program *program,
                           struct mtlm_stage *stage);

/* Builds stage->prompt and stage->step.  The caches and the token of
 * program->decode must exist. */
void mtlm_stage_build_decode(struct mtlm_program *program,
                             struct mtlm_stage *stage);

/* The tag of a token's messages, which cross no boundary of stages: counted
 * from the tags of the last stage on. */
enum { MTLM_STAGE_TAG_TOKEN = 2 };

#endif /* MTLM_GRAPH_STAGE_H */
