/* Names the ready tasks of an unfinished simulation. */

#include "config.h"

#include <stdbool.h>
#include <stdio.h>

#include "runtime/machine/policy_text.h"
#include "runtime/virtual/waiting.h"

enum { MOST = 3 };

static bool has_ended(const struct mtlm_virtual_times *times, int64_t task)
{
    return times->task[task].end_ns >= 0;
}

static bool is_ready(const struct mtlm_virtual_job *job,
                     const struct mtlm_virtual_times *times, int64_t task)
{
    const struct mtlm_virtual_task *t = &job->task[task];

    for (int i = 0; i < t->n_nodes; i++) {
        const struct mtlm_virtual_node *node = &job->node[t->first_node + i];

        for (int k = 0; k < node->n_predecessors; k++) {
            const int64_t on = job->predecessor[node->first_predecessor + k];

            if (!has_ended(times, job->node[on].task))
                return false;
        }
    }
    return true;
}

void mtlm_virtual_waiting_describe(const struct mtlm_virtual_job *job,
                                   const struct mtlm_virtual_times *times,
                                   char *text, size_t n)
{
    size_t at = 0;
    int found = 0;

    *text = '\0';
    for (int64_t i = 0; i < job->n_tasks && found < MOST && at < n; i++) {
        struct mtlm_policy_node node = job->node[job->task[i].first_node].about;
        char one[100];

        if (has_ended(times, i) || !is_ready(job, times, i))
            continue;
        node.name = job->name[job->task[i].name];
        mtlm_policy_text_node(&node, one, sizeof(one));
        at += snprintf(text + at, n - at, "%s%s", found++ ? "; " : "", one);
    }
    if (found == 0)
        snprintf(text, n, "no task");
}
