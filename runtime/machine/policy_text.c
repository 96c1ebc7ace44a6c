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

    char microbatch[32] = "";

    if (node->microbatch >= 0)
        snprintf(microbatch, sizeof(microbatch), " of microbatch %d",
                 node->microbatch);
    snprintf(text, n, "%s, %s%s, stage %d, iteration %" PRId64, node->name,
             phases[node->phase], microbatch, node->stage, node->iteration + 1);
}
