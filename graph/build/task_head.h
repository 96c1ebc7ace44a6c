#ifndef MTLM_GRAPH_TASK_HEAD_H
#define MTLM_GRAPH_TASK_HEAD_H

/* Nodes of a fine-tuning task after the last layer of a BERT. */

#include "graph/build/builder.h"

/* Appends the final layernorm, the task's head (enum mtlm_head_kind) and its
 * loss; reads x [s, b, h].  All tensor-parallel ranks compute the same head.
 *
 * Classification and choice: logits of the pooled first token; loss and hits
 * are means over samples or questions.
 *
 * Span: two logits of each token, and two softmaxes over the positions of a
 * sample before its padding; the loss is the mean of both.  BERT's run_squad.py
 * has the padding in the softmax, too.  Here attention leaves padding out. With
 * sequence parallelism, each rank computes the logits of its own rows; then all
 * ranks have all logits. */
void mtlm_build_task_head(const struct mtlm_builder *b,
                          const struct mtlm_rows *x);

#endif /* MTLM_GRAPH_TASK_HEAD_H */
