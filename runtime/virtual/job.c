/* Files of jobs for mtlm-dag-sim: a head, then one array after another. */

#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/memory.h"
#include "runtime/virtual/job.h"

/* The sizes say that both programs come from one build. */
struct job_head {
    char magic[8], version[16];
    uint64_t task_bytes, node_bytes;
    struct mtlm_virtual_job job; /* pointers: NULL */
};

enum { ARRAYS = 8 };

struct array {
    void **at;
    size_t n, size;
};

static void list_arrays(struct mtlm_virtual_job *job, struct array a[ARRAYS])
{
    a[0] =
        (struct array){(void **) &job->task, job->n_tasks, sizeof(*job->task)};
    a[1] =
        (struct array){(void **) &job->node, job->n_nodes, sizeof(*job->node)};
    a[2] = (struct array){(void **) &job->use, job->n_uses, sizeof(*job->use)};
    a[3] = (struct array){(void **) &job->predecessor, job->n_predecessors,
                          sizeof(*job->predecessor)};
    a[4] = (struct array){(void **) &job->data_bytes, job->n_data,
                          sizeof(*job->data_bytes)};
    a[5] =
        (struct array){(void **) &job->name, job->n_names, sizeof(*job->name)};
    a[6] =
        (struct array){(void **) &job->about, job->ranks, sizeof(*job->about)};
    a[7] = (struct array){(void **) &job->chunk, job->n_chunks,
                          sizeof(*job->chunk)};
}

static struct job_head head_of(const struct mtlm_virtual_job *job)
{
    struct job_head head = {.magic = "mtlmsim",
                            .version = PACKAGE_VERSION,
                            .task_bytes = sizeof(struct mtlm_virtual_task),
                            .node_bytes = sizeof(struct mtlm_virtual_node),
                            .job = *job};
    struct array array[ARRAYS];

    list_arrays(&head.job, array);
    for (int i = 0; i < ARRAYS; i++)
        *array[i].at = NULL;
    return head;
}

int mtlm_virtual_workers(const struct mtlm_virtual_job *job)
{
    return job->workers + MTLM_VIRTUAL_MESSAGE_WORKERS;
}

int mtlm_virtual_first_worker(const struct mtlm_virtual_job *job,
                              const struct mtlm_virtual_task *task, int *n)
{
    const int first = task->rank * mtlm_virtual_workers(job);

    *n = 1;
    if (task->lane != MTLM_LANE_COMPUTE)
        return first + job->workers + task->lane - MTLM_LANE_TP;
    if (task->worker >= 0 && task->worker < job->workers)
        return first + task->worker;
    *n = job->workers;
    return first;
}

int mtlm_virtual_job_write(const struct mtlm_virtual_job *job, const char *path,
                           struct mtlm_error *err)
{
    const struct job_head head = head_of(job);
    struct mtlm_virtual_job copy = *job;
    struct array array[ARRAYS];
    FILE *file = fopen(path, "wb");
    bool well = file && fwrite(&head, sizeof(head), 1, file) == 1;

    list_arrays(&copy, array);
    for (int i = 0; well && i < ARRAYS; i++)
        well =
            fwrite(*array[i].at, array[i].size, array[i].n, file) == array[i].n;
    if (file && fclose(file) != 0)
        well = false;
    if (!well)
        return mtlm_error_set(err, MTLM_EXIT_IO, "cannot write %s: %s", path,
                              strerror(errno));
    return 0;
}

int mtlm_virtual_job_read(struct mtlm_virtual_job *job, const char *path,
                          struct mtlm_error *err)
{
    FILE *file = fopen(path, "rb");
    struct array array[ARRAYS];
    struct job_head head, own;
    bool well = file && fread(&head, sizeof(head), 1, file) == 1;

    if (well) {
        own = head_of(&head.job);
        well = memcmp(&own, &head, offsetof(struct job_head, job)) == 0;
        *job = head.job;
        list_arrays(job, array);
    }
    for (int i = 0; well && i < ARRAYS; i++) {
        *array[i].at = mtlm_calloc(array[i].n, array[i].size);
        well =
            fread(*array[i].at, array[i].size, array[i].n, file) == array[i].n;
    }
    if (file)
        fclose(file);
    if (!well)
        return mtlm_error_set(
            err, MTLM_EXIT_IO,
            "%s is no job of this mtlm-dag: mtlm-dag-sim is of another version",
            path);
    return 0;
}

void mtlm_virtual_job_free(struct mtlm_virtual_job *job)
{
    struct array array[ARRAYS];

    list_arrays(job, array);
    for (int i = 0; i < ARRAYS; i++)
        free(*array[i].at);
    *job = (struct mtlm_virtual_job){0};
}
