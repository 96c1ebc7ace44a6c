#ifndef MTLM_GRAPH_RUN_DATA_H
#define MTLM_GRAPH_RUN_DATA_H

/* The memory of a program's tensors as StarPU data handles. */

#include <starpu.h>

#include "graph/run/synthetic.h"

/* Memory and handles of a program's tensors. */
struct mtlm_run_data {
    const struct mtlm_program *program; /* borrowed */
    bool synthetic;
    unsigned home; /* StarPU memory node of the tensors, mtlm_data_home() */
    /* [tensor id][slot]; NULL: the tensor owns no ring */
    starpu_data_handle_t **handle;
    /* [n_blocks + 3]: the graph's blocks; control tensors; GPU rings;
     * checkpoint copies in host memory. */
    struct mtlm_arena *arena;
    bool *host; /* [tensor id]: host nodes use the tensor */
    /* [n_blocks]: host memory that stages a GPU block for messages; empty if no
     * message needs the block. */
    struct mtlm_arena *stage;
};

/* Registers every tensor with StarPU.  Tensors of a block lie at the graph's
 * offsets, so one message may cover several tensors.  Control tensors and
 * checkpoint copies are allocated here, too.  StarPU allocates the memory of
 * other tensors at their first write.  synthetic: a slot of a pretended tensor
 * has one element (graph/run/synthetic.h).
 *
 * On a rank with a GPU, blocks and activation rings lie on the GPU, allocated
 * once.  Data of host nodes (token batches, reports) move to their last user.
 * Checkpoint copies and the host copies of these data are pinned.  staged:
 * messages go through host memory, where the tensors of a block have the same
 * offsets as on the GPU. */
void mtlm_run_data_create(struct mtlm_run_data *data,
                          const struct mtlm_program *program, bool synthetic,
                          bool staged);

/* Unregisters all tensors and frees their memory.  Call after all tasks
 * ended. */
void mtlm_run_data_destroy(struct mtlm_run_data *data);

/* Returns the handle of the slot that tensor occupies at a submission. */
starpu_data_handle_t mtlm_run_data_handle(const struct mtlm_run_data *data,
                                          const struct mtlm_tensor *tensor,
                                          const struct mtlm_submission *at);

/* Copies the first `bytes` bytes of that slot to memory.  Waits for the
 * writers. */
void mtlm_run_data_read(const struct mtlm_run_data *data,
                        const struct mtlm_tensor *tensor,
                        const struct mtlm_submission *at, void *memory,
                        size_t bytes);

/* Returns the tensor's host memory (slot 0); data keeps owning the memory.
 * Waits for the writers. */
const void *mtlm_run_data_await(const struct mtlm_run_data *data,
                                const struct mtlm_tensor *tensor);

/* Copies mtlm_tensor_bytes() bytes from memory to slot 0 of tensor, to all
 * versions of a weight, or to its version before in that iteration.  Waits for
 * the readers and writers. */
void mtlm_run_data_write(const struct mtlm_run_data *data,
                         const struct mtlm_tensor *tensor, int64_t iteration,
                         const void *memory);

#endif /* MTLM_GRAPH_RUN_DATA_H */
