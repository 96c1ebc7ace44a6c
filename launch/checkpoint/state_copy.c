/* Copies the state of a training to host memory and back. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "launch/checkpoint/checkpoint.h"
#include "launch/checkpoint/state_copy.h"
#include "runtime/base/memory.h"

struct mtlm_state_copy {
    char *values; /* [bytes] the tensors one after another */
    size_t bytes;
    double control[MTLM_CONTROL_COUNT];
};

/* Lists the tensors of the state: those that a checkpoint restores. */
static struct mtlm_checkpoint_tensors list_tensors(const struct mtlm_job *job)
{
    struct mtlm_checkpoint_tensors list = {0};

    if (!job->options.cluster_file)
        mtlm_checkpoint_to_load(job, true, &list);
    return list;
}

static size_t bytes_of(const struct mtlm_checkpoint_tensors *list)
{
    size_t bytes = 0;

    for (int i = 0; i < list->n; i++)
        bytes += (size_t) mtlm_tensor_bytes(list->tensor[i].tensor);
    return bytes;
}

size_t mtlm_state_copy_bytes(const struct mtlm_job *job)
{
    struct mtlm_checkpoint_tensors list = list_tensors(job);
    const size_t bytes = bytes_of(&list);

    mtlm_checkpoint_tensors_free(&list);
    return bytes;
}

struct mtlm_state_copy *mtlm_state_copy_create(struct mtlm_job *job)
{
    struct mtlm_state_copy *copy = mtlm_calloc(1, sizeof(*copy));
    struct mtlm_checkpoint_tensors list = list_tensors(job);
    size_t at = 0;

    copy->bytes = bytes_of(&list);
    copy->values = mtlm_pages_get(copy->bytes);
    for (int i = 0; i < list.n; i++) {
        mtlm_run_read(job->run, list.tensor[i].tensor, copy->values + at);
        at += (size_t) mtlm_tensor_bytes(list.tensor[i].tensor);
    }
    mtlm_run_read(job->run, job->program->control, copy->control);
    mtlm_checkpoint_tensors_free(&list);
    return copy;
}

void mtlm_state_copy_restore(const struct mtlm_state_copy *copy,
                             struct mtlm_job *job)
{
    struct mtlm_checkpoint_tensors list = list_tensors(job);
    size_t at = 0;

    assert(bytes_of(&list) == copy->bytes);
    for (int i = 0; i < list.n; i++) {
        mtlm_run_write(job->run, list.tensor[i].tensor, copy->values + at);
        at += (size_t) mtlm_tensor_bytes(list.tensor[i].tensor);
    }
    mtlm_run_write(job->run, job->program->control, copy->control);
    mtlm_checkpoint_tensors_free(&list);
}

void mtlm_state_copy_destroy(struct mtlm_state_copy *copy)
{
    mtlm_pages_free(copy->values, copy->bytes);
    free(copy);
}
