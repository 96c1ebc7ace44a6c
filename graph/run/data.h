#ifndef MTLM_GRAPH_SUBMIT_DATA_H
#define MTLM_GRAPH_SUBMIT_DATA_H

#include <starpu.h>

#include "graph/run/synthetic.h"

/* The memory of a program's tensors, as StarPU knows it. */
struct mtlm_run_data {
    const struct mtlm_program *program; /* borrowed */
    bool synthetic;
    unsigned home;                 /* mtlm_data_home() */
    starpu_data_handle_t **handle; /* [tensor id][slot]; NULL: no owner */
    struct mtlm_arena *arena;      /* the graph's blocks; what orders nodes
                                    * only; on a GPU the rings; copies for
                                    * a checkpoint, in the host's memory */
    bool *host;                    /* [tensor id]: the host makes it */
    /* [n_blocks] Where the copies of a GPU's blocks in host memory lie, for
     * messages; empty where no message needs any. */
    struct mtlm_arena *stage;
};

/* Registers every tensor.  Those of a block lie where the graph says, so that
 * a message may cover many of them; StarPU takes the memory of others when
 * they are first written.  synthetic: only few elements of each are there
 * (graph/run/synthetic.h).
 *
 * Of a rank with a GPU, blocks and rings of activations are on it, taken once
 * and for all; what the host makes (token batches) and what it reads (reports)
 * lies where it was last used, in the host's memory pinned, as are copies for a
 * checkpoint.  staged: messages
 * go through the host, where tensors of a block must lie as they do on the
 * GPU. */
void mtlm_run_data_create(struct mtlm_run_data *data,
                          const struct mtlm_program *program, bool synthetic,
                          bool staged);
void mtlm_run_data_destroy(struct mtlm_run_data *data);

/* Where use number `use` of tensor lies. */
starpu_data_handle_t mtlm_run_data_handle(const struct mtlm_run_data *data,
                                          const struct mtlm_tensor *tensor,
                                          int64_t use);

/* Copies the first bytes of it once what writes it has ended, for which it
 * waits. */
void mtlm_run_data_read(const struct mtlm_run_data *data,
                        const struct mtlm_tensor *tensor, int64_t use,
                        void *memory, size_t bytes);

/* Where it lies in the host's memory, once what writes it has ended, for which
 * it waits. */
const void *mtlm_run_data_await(const struct mtlm_run_data *data,
                                const struct mtlm_tensor *tensor);

/* Puts mtlm_tensor_bytes() there, once what uses it has ended. */
void mtlm_run_data_write(const struct mtlm_run_data *data,
                         const struct mtlm_tensor *tensor, const void *memory);

#endif /* MTLM_GRAPH_SUBMIT_DATA_H */
