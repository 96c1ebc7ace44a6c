#ifndef MTLM_POLICY_TEXT_H
#define MTLM_POLICY_TEXT_H

/* Nodes as sentences name them. */

#include <mtlm/policy.h>

/* Writes a node to text [n]: "linear_fwd, F of microbatch 3, stage 1, iteration
 * 2". */
void mtlm_policy_text_node(const struct mtlm_policy_node *node, char *text,
                           size_t n);

#endif /* MTLM_POLICY_TEXT_H */
