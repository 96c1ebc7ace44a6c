/* Names nodes of the graph in sentences for the user. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "runtime/machine/policy_text.h"

void mtlm_policy_text_node(const struct mtlm_policy_node *node, char *text,
                           size_t n)
{
    static const char *const phases[] = {
        "F", "B", "W", "optimizer", "initial values", "validation", "copies"};

    snprintf(text, n, "%s, %s of microbatch %d, stage %d, iteration %" PRId64,
             node->name, phases[node->phase], node->microbatch, node->stage,
             node->iteration + 1);
}
