/* What all transports share: the memory of a message. */

#include "config.h"

#include <assert.h>

#include "runtime/comm/transport.h"
#include "runtime/machine/arena.h"

/* Returns the begin of the memory of a list, `before` bytes before the first
 * handle's data.  Checks that at most padding lies between two handles and
 * behind each rank's part. */
static void *find_range(const starpu_data_handle_t *handle, int n,
                        unsigned node, size_t before, size_t bytes, size_t unit)
{
    char *first = starpu_data_handle_to_pointer(handle[0], node);
    char *end = first;

    for (int i = 0; i < n; i++) {
        char *p = starpu_data_handle_to_pointer(handle[i], node);

        assert(p >= end && p < end + MTLM_ARENA_ALIGN);
        end = p + starpu_data_get_size(handle[i]);
    }
    first -= before;
    assert((size_t) (end - first) <= bytes
           && bytes < end - first + MTLM_ARENA_ALIGN + unit);
    return first;
}

void mtlm_transport_find_buffers(struct mtlm_transfer *transfer)
{
    const struct mtlm_message *m = &transfer->message;
    const struct mtlm_transport *transport = transfer->transport;
    const unsigned node = transport->node;
    const size_t size = mtlm_dtype_bytes(m->dtype);
    const size_t n = mtlm_message_is_collective(m->kind)
                         ? mtlm_ranks_group_size(transport->ranks, m->group)
                         : 1;
    const size_t bytes = m->count * size, unit = n * MTLM_ARENA_ALIGN;
    const bool gather = m->kind == MTLM_ALL_GATHER;

    transfer->buffer =
        find_range(m->handle, m->n_handles, node, m->before * size,
                   gather && m->n_into == 0 ? bytes * n : bytes, unit);
    if (m->n_into)
        transfer->into =
            find_range(m->into, m->n_into, node, m->into_before * size,
                       gather ? bytes * n : bytes / n, unit);
}
