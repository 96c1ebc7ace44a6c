/* Copies the state of a training to host memory and back.  Layers that move
 * travel from rank to rank in between. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "launch/checkpoint/checkpoint.h"
#include "launch/checkpoint/state_copy.h"
#include "runtime/base/memory.h"
#include "runtime/base/round_up.h"

/* Who holds a layer of the model. */
struct layer_ranks {
    int from, to; /* ranks before and after */
    int swap;     /* index of its exchange; -1: none of this rank's */
};

struct mtlm_state_copy {
    int64_t num_layers;
    struct layer_ranks *layer; /* [num_layers] */
    char *values; /* [bytes] the tensors of a place after another */
    size_t bytes;
    /* [num_layers + 2] where a place begins in values: 0: tensors that stay;
     * 1 + i: layer i, if it leaves. */
    size_t *begin;
    struct mtlm_swap *swap; /* [n_swaps] of the layers that leave or come */
    int n_swaps;
    double control[MTLM_CONTROL_COUNT];
};

/* Lists the tensors of the state: those that a checkpoint restores. */
static struct mtlm_checkpoint_tensors list_tensors(
    const struct mtlm_job *job, const struct mtlm_program *program)
{
    struct mtlm_checkpoint_tensors list = {0};

    if (!job->options.cluster_file)
        mtlm_checkpoint_to_load(program, true, &list);
    return list;
}

/* ---- who has which layer ---- */

/* Returns the layers [num_layers] and their ranks in both layouts. */
static struct layer_ranks *list_layers(const struct mtlm_layout *before,
                                       const struct mtlm_layout *after,
                                       int64_t num_layers)
{
    struct layer_ranks *layer = mtlm_calloc(num_layers, sizeof(*layer));
    int64_t first, count;

    for (int k = 0; k < mtlm_layout_stages(before); k++) {
        mtlm_layout_layers(before, num_layers, k, &first, &count);
        for (int64_t i = first; i < first + count; i++)
            layer[i].from = mtlm_layout_rank_of_stage(before, k);
        mtlm_layout_layers(after, num_layers, k, &first, &count);
        for (int64_t i = first; i < first + count; i++)
            layer[i].to = mtlm_layout_rank_of_stage(after, k);
    }
    for (int64_t i = 0; i < num_layers; i++)
        layer[i].swap = -1;
    return layer;
}

/* Returns the place in a copy of a tensor of that layer. */
static int64_t place_of(const struct layer_ranks *layer, int64_t number)
{
    return number < 0 || layer[number].from == layer[number].to ? 0
                                                                : number + 1;
}

size_t mtlm_state_copy_bytes(const struct mtlm_job *job,
                             const struct mtlm_program *after)
{
    struct layer_ranks *layer = list_layers(&job->layout, &after->config.layout,
                                            job->options.model.num_layers);
    struct mtlm_checkpoint_tensors own = list_tensors(job, job->program);
    struct mtlm_checkpoint_tensors next = list_tensors(job, after);
    size_t bytes = 0;

    for (int i = 0; i < own.n; i++)
        bytes += (size_t) mtlm_tensor_bytes(own.tensor[i].tensor);
    for (int i = 0; i < next.n; i++)
        if (place_of(layer, next.tensor[i].layer) > 0)
            bytes += (size_t) mtlm_tensor_bytes(next.tensor[i].tensor);
    mtlm_checkpoint_tensors_free(&own);
    mtlm_checkpoint_tensors_free(&next);
    free(layer);
    return bytes;
}

/* ---- the copy ---- */

/* Sets begin[] and the bytes of the copy.  A place is a whole count of
 * numbers. */
static void lay_out(struct mtlm_state_copy *copy,
                    const struct mtlm_checkpoint_tensors *list)
{
    const size_t number = sizeof(int64_t);
    const int64_t places = copy->num_layers + 1;

    copy->begin = mtlm_calloc(places + 1, sizeof(*copy->begin));
    for (int i = 0; i < list->n; i++)
        copy->begin[1 + place_of(copy->layer, list->tensor[i].layer)] +=
            (size_t) mtlm_tensor_bytes(list->tensor[i].tensor);
    for (int64_t i = 1; i <= places; i++)
        copy->begin[i] =
            copy->begin[i - 1] + (size_t) mtlm_round_up(copy->begin[i], number);
    copy->bytes = copy->begin[places];
}

static void read_tensors(struct mtlm_state_copy *copy, struct mtlm_job *job,
                         const struct mtlm_checkpoint_tensors *list)
{
    size_t *at = mtlm_calloc(copy->num_layers + 1, sizeof(*at));

    for (int i = 0; i < list->n; i++) {
        const struct mtlm_tensor *tensor = list->tensor[i].tensor;
        const int64_t place = place_of(copy->layer, list->tensor[i].layer);

        mtlm_run_read(job->run, tensor,
                      copy->values + copy->begin[place] + at[place]);
        at[place] += (size_t) mtlm_tensor_bytes(tensor);
    }
    free(at);
}

/* Sends the layers that leave, and receives those that come.  Both ranks of an
 * exchange list its layers in ascending order. */
static void exchange_layers(struct mtlm_state_copy *copy,
                            const struct mtlm_job *job)
{
    const int rank = mtlm_ranks_rank(job->ranks);

    copy->swap = mtlm_calloc(copy->num_layers, sizeof(*copy->swap));
    for (int64_t i = 0; i < copy->num_layers; i++) {
        struct layer_ranks *l = &copy->layer[i];
        const bool moves = l->from != l->to && !job->options.cluster_file;

        if (!moves || (l->from != rank && l->to != rank))
            continue;
        l->swap = copy->n_swaps++;
        copy->swap[l->swap] = (struct mtlm_swap){
            .peer = l->from == rank ? l->to : l->from,
            .out = (int64_t *) (copy->values + copy->begin[i + 1]),
            .n_out = (int64_t) ((copy->begin[i + 2] - copy->begin[i + 1])
                                / sizeof(int64_t))};
    }
    if (copy->n_swaps > 0)
        mtlm_ranks_swap(job->ranks, copy->swap, copy->n_swaps);
}

struct mtlm_state_copy *mtlm_state_copy_create(struct mtlm_job *job,
                                               const struct mtlm_layout *after)
{
    struct mtlm_state_copy *copy = mtlm_calloc(1, sizeof(*copy));
    struct mtlm_checkpoint_tensors list = list_tensors(job, job->program);

    copy->num_layers = job->options.model.num_layers;
    copy->layer = list_layers(&job->layout, after, copy->num_layers);
    lay_out(copy, &list);
    copy->values = mtlm_pages_get(copy->bytes);
    read_tensors(copy, job, &list);
    exchange_layers(copy, job);
    mtlm_run_read(job->run, job->program->control, copy->control);
    mtlm_checkpoint_tensors_free(&list);
    return copy;
}

/* ---- back ---- */

/* Returns the tensors of a place, which stay or come. */
static const char *values_of(const struct mtlm_state_copy *copy, int64_t place)
{
    int swap;

    if (place == 0)
        return copy->values;
    swap = copy->layer[place - 1].swap;
    assert(swap >= 0);
    return (const char *) copy->swap[swap].in;
}

void mtlm_state_copy_restore(const struct mtlm_state_copy *copy,
                             struct mtlm_job *job)
{
    struct mtlm_checkpoint_tensors list = list_tensors(job, job->program);
    size_t *at = mtlm_calloc(copy->num_layers + 1, sizeof(*at));

    for (int i = 0; i < list.n; i++) {
        const struct mtlm_tensor *tensor = list.tensor[i].tensor;
        const int64_t place = place_of(copy->layer, list.tensor[i].layer);

        mtlm_run_write(job->run, tensor, values_of(copy, place) + at[place]);
        at[place] += (size_t) mtlm_tensor_bytes(tensor);
    }
    assert(at[0] <= copy->begin[1]);
    mtlm_run_write(job->run, job->program->control, copy->control);
    mtlm_checkpoint_tensors_free(&list);
    free(at);
}

void mtlm_state_copy_destroy(struct mtlm_state_copy *copy)
{
    for (int i = 0; i < copy->n_swaps; i++)
        free(copy->swap[i].in);
    free(copy->swap);
    mtlm_pages_free(copy->values, copy->bytes);
    free(copy->begin);
    free(copy->layer);
    free(copy);
}
