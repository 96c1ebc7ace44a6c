#ifndef MTLM_GRAPH_RUN_DATA_H
#define MTLM_GRAPH_RUN_DATA_H

/* The memory of a program's tensors as StarPU data handles. */

#include <starpu.h>

#include "graph/run/synthetic.h"

/* Memory and handles of a program's tensors. */
struct mtlm_run_data {
    const struct mtlm_program *program; /* borrowed */
    bool synthetic;
    unsigned home; /* memory node, mtlm_data_home() */
    /* [tensor id][slot]; NULL: the tensor owns no ring */
    starpu_data_handle_t **handle;
    /* The graph's blocks, then control tensors, GPU rings and checkpoint copies
     * in host memory. */
    struct mtlm_arena *arena;
    bool *host; /* [tensor id]: host nodes use the tensor */
    /* [n_blocks]: host memory that stages a GPU block for messages; empty if no
     * message needs the block. */
    struct mtlm_arena *stage;
};

/* Registers every tensor with StarPU.  Tensors of a block lie at the graph's
 * offsets, so one message may cover several tensors.  StarPU allocates the
 * memory of other tensors at their first write.  synthetic: only a few elements
 * of each tensor exist (graph/run/synthetic.h).
 *
 * On a rank with a GPU, blocks and activation rings lie on the GPU, allocated
 * once.  Data of host nodes (token batches, reports) move to their last user.
 * Checkpoint copies and the host side of such data are pinned.  staged:
 * messages go through the host, where the tensors of a block lie as on the
 * GPU. */
void mtlm_run_data_create(struct mtlm_run_data *data,
                          const struct mtlm_program *program, bool synthetic,
                          bool staged);

/* Unregisters all tensors and frees their memory. */
void mtlm_run_data_destroy(struct mtlm_run_data *data);

/* Returns the handle of use number `use` of tensor. */
starpu_data_handle_t mtlm_run_data_handle(const struct mtlm_run_data *data,
                                          const struct mtlm_tensor *tensor,
                                          int64_t use);

/* Copies the first `bytes` bytes of that use to memory.  Waits for the
 * writers. */
void mtlm_run_data_read(const struct mtlm_run_data *data,
                        const struct mtlm_tensor *tensor, int64_t use,
                        void *memory, size_t bytes);

/* Returns the tensor's host memory (slot 0); run data keeps owning it.  Waits
 * for the writers. */
const void *mtlm_run_data_await(const struct mtlm_run_data *data,
                                const struct mtlm_tensor *tensor);

/* Copies mtlm_tensor_bytes() bytes from memory to slot 0 of tensor.  Waits for
 * the users. */
void mtlm_run_data_write(const struct mtlm_run_data *data,
                         const struct mtlm_tensor *tensor, const void *memory);

#endif /* MTLM_GRAPH_RUN_DATA_H */
