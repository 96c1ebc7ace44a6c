/* The table of tasks, and their help. */

#include "config.h"

#include <stddef.h>
#include <strings.h>

#include "launch/task/task.h"

const struct mtlm_task_entry *const mtlm_tasks[] = {
#define TASK(NAME, name) &mtlm_task_##name,
    MTLM_TASK_LIST(TASK)
#undef TASK
        NULL};

const struct mtlm_task_entry *mtlm_task_find(const char *name)
{
    for (int i = 0; mtlm_tasks[i]; i++)
        if (strcasecmp(mtlm_tasks[i]->name, name) == 0)
            return mtlm_tasks[i];
    return NULL;
}

void mtlm_task_help(const struct mtlm_task_entry *task, FILE *out)
{
    fprintf(out,
            "mtlm-dag --task %s\n\n%s\nData (nothing is downloaded):\n%s\n"
            "Commands:\n%s\nPublished:\n%s",
            task->name, task->measures, task->data, task->commands,
            task->published);
}
