#ifndef MTLM_GRAPH_H
#define MTLM_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codelets/op.h"
#include "models/model.h"
#include "runtime/base/shape.h"
#include "runtime/machine/recorder.h"

/* The work of one rank as plain data: tensors, nodes (calls of operations on
 * tensors), and lists of nodes in an order that would be correct if run one
 * by one.  A graph holds no values and needs no StarPU, MPI or GPU:
 * graph/run/run.h turns its lists into tasks.
 *
 * What one microbatch does on one virtual stage is built once, as three lists
 * of nodes (forward F, backward B, weight gradients W); a step repeats them
 * for every microbatch.  Tensors of such a list are rings: microbatch i of
 * the run uses slot i modulo the ring's length. */

enum mtlm_storage {
    MTLM_STORE_PARAM,
    MTLM_STORE_GRAD,
    MTLM_STORE_MOMENT,
    MTLM_STORE_ACTIVATION, /* a ring, one slot per microbatch in flight */
    MTLM_STORE_GLOBAL,     /* status, control, loss, reports */
    MTLM_STORE_SAVED,      /* copies for a checkpoint, in the host's memory */
    MTLM_STORE_CONTROL,    /* no data, only an order of nodes: a ring of one
                            * element each, which may be read first */
};

/* A tensor of this rank: under tensor parallelism, its shard. */
struct mtlm_tensor {
    char *name; /* "layers.3.mlp.dense_h_to_4h.weight" */
    struct mtlm_shape shape;
    enum mtlm_dtype dtype;
    enum mtlm_storage storage;
    int id;    /* 0 .. graph->n_tensors - 1 */
    int slots; /* length of the ring; 1 for what is not a ring */
    int stage; /* virtual stage, -1: none */
    /* Set: this is another name of that tensor's memory. */
    struct mtlm_tensor *same;
    /* Set: it shares the ring of that tensor, of its shape, with pool_size - 1
     * others of the same microbatch: use u of it takes slot
     * u * pool_size + pool_index, modulo the ring's length. */
    struct mtlm_tensor *pool;
    int pool_index, pool_size;
    /* Lies in a block of memory with others, in bytes from its begin; -1: by
     * itself. */
    int block;
    int64_t offset;
    /* Its memory is that of others of its block: what uses both stands in an
     * order by further uses.  A reduced gradient: MPI's reduce-scatter in place
     * overwrites the whole block, so that nothing may read another gradient of
     * it from there until all are cleared. */
    bool view;
    /* Its gradient, once there is one. */
    struct mtlm_tensor *grad;
    /* Arrives from another rank: its ring has one slot more than the window,
     * so that the next microbatch's can travel while this one is in use. */
    bool received;
    /* Activations: the phase that writes it and the last one that uses it,
     * which decide the ring's length (graph/schedule/window.h). */
    enum mtlm_phase first_use, last_use;
};

/* How a node uses a tensor.  control: only to come before or after others. */
struct mtlm_use {
    struct mtlm_tensor *tensor;
    enum mtlm_access access;
    bool control;
};

struct mtlm_uses {
    struct mtlm_use *use;
    int n, capacity;
};

struct mtlm_node {
    int id;                                         /* 0 .. graph->all.n - 1 */
    struct mtlm_call call;                          /* the first one */
    struct mtlm_tensor *operand[MTLM_MAX_OPERANDS]; /* its operands */
    /* Further uses: of a node of several calls their operands, as
     * mtlm_call_spread() takes them; of a bucket's message its tensors, in the
     * order in which they lie in memory, those sent (MTLM_R, or MTLM_RW in
     * place) before those received (MTLM_W); of any node, those for the sake of
     * order. */
    struct mtlm_uses extra;
    enum mtlm_phase phase;
    enum mtlm_lane lane;
    int stage;  /* virtual stage of the whole model */
    int layer;  /* of the whole model, -1 outside the layers */
    bool again; /* what an earlier node computed (graph/build/recompute.h) */
    double flops, bytes;
};

/* Nodes in program order. */
struct mtlm_list {
    struct mtlm_node **node;
    int n, capacity;
};

struct mtlm_graph {
    struct mtlm_tensor **tensor;
    int n_tensors, tensor_capacity;
    size_t *block; /* [n_blocks]: bytes */
    int n_blocks;
    struct mtlm_list all; /* every node, in order of making: owns them */
    /* Where mtlm_graph_call() appends, and what it writes on the node. */
    struct mtlm_list *into;
    enum mtlm_phase phase;
    int stage, layer;
};

struct mtlm_graph *mtlm_graph_create(void);
void mtlm_graph_destroy(struct mtlm_graph *graph);

/* The following calls append to list and belong to this place. */
void mtlm_graph_at(struct mtlm_graph *graph, struct mtlm_list *list,
                   enum mtlm_phase phase, int stage, int layer);

/* A new tensor; name is copied.  Activations get their slots later. */
struct mtlm_tensor *mtlm_graph_tensor(struct mtlm_graph *graph,
                                      enum mtlm_storage storage,
                                      const char *name, struct mtlm_shape shape,
                                      enum mtlm_dtype dtype);

/* A new block of memory, empty; puts a tensor at offset, a multiple of 32
 * bytes; makes the block that many bytes long at least. */
int mtlm_graph_block(struct mtlm_graph *graph);
void mtlm_graph_place(struct mtlm_graph *graph, struct mtlm_tensor *tensor,
                      int block, int64_t offset);
void mtlm_graph_widen(struct mtlm_graph *graph, int block, size_t bytes);

/* Appends a call of kind.  given[] holds the operands with access MTLM_R and
 * MTLM_RW at their positions; NULL at the position of a MTLM_W operand makes
 * a new activation, whose shape follows.  attr may be NULL.  Shapes that do
 * not fit are a bug of the caller and end the program. */
struct mtlm_node *mtlm_graph_call(struct mtlm_graph *graph,
                                  enum mtlm_op_kind kind,
                                  const union mtlm_attr *attr,
                                  struct mtlm_tensor *const given[]);

/* Gives node, which was made last, a further call of its operation, with all
 * operands given: the shared ones are those that it has, the others no other
 * call of it has.  MTLM_MAX_CALLS at most. */
void mtlm_graph_add_call(struct mtlm_node *node, const union mtlm_attr *attr,
                         struct mtlm_tensor *const given[]);

/* Adds a further use to node. */
void mtlm_node_add_use(struct mtlm_node *node, struct mtlm_tensor *tensor,
                       enum mtlm_access access, bool control);

/* All uses of a node, which are what dependencies come from: its operands,
 * then the further ones. */
int mtlm_node_n_uses(const struct mtlm_node *node);
struct mtlm_use mtlm_node_use(const struct mtlm_node *node, int i);

void mtlm_list_append(struct mtlm_list *list, struct mtlm_node *node);
void mtlm_list_free(struct mtlm_list *list);

/* The tensor that this is another name of, or itself. */
static inline struct mtlm_tensor *mtlm_tensor_owner(struct mtlm_tensor *tensor)
{
    while (tensor->same)
        tensor = tensor->same;
    return tensor;
}

/* Where use number `use` of a tensor lies: a slot of the ring of owner. */
struct mtlm_slot {
    const struct mtlm_tensor *owner;
    int64_t slot;
};

struct mtlm_slot mtlm_tensor_slot(const struct mtlm_tensor *tensor,
                                  int64_t use);

/* Whether it has a ring of its own. */
static inline bool mtlm_tensor_is_owner(const struct mtlm_tensor *tensor)
{
    return !tensor->same && !tensor->pool;
}

/* Elements of a message: of what is sent, or received, or reduced; of an
 * all-gather one rank's block. */
int64_t mtlm_node_elems(const struct mtlm_node *node);

/* Bytes of one slot. */
double mtlm_tensor_bytes(const struct mtlm_tensor *tensor);

#endif /* MTLM_GRAPH_H */
