#ifndef MTLM_GRAPH_H
#define MTLM_GRAPH_H

/* The task graph of one rank as plain data: tensors, nodes (calls of operations
 * on tensors) and lists of nodes.  Program order of a list is a correct serial
 * order.  A graph holds no values and needs no StarPU, MPI or GPU;
 * graph/run/run.h turns lists into tasks.
 *
 * A microbatch's work on one virtual stage is built once, as three lists:
 * forward F, input gradients B, weight gradients W.  A step repeats the lists
 * for every microbatch.  The activations of these lists are rings: microbatch i
 * of the run uses slot i modulo the ring's length. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codelets/op.h"
#include "runtime/base/shape.h"
#include "runtime/machine/recorder.h"

enum mtlm_storage {
    MTLM_STORE_PARAM,
    MTLM_STORE_GRAD,
    MTLM_STORE_MOMENT,     /* Adam's moments, fp32 masters */
    MTLM_STORE_ACTIVATION, /* ring, one slot per microbatch in flight */
    MTLM_STORE_GLOBAL,     /* status, control, loss, reports, caches */
    MTLM_STORE_SAVED,      /* checkpoint copies, in host memory */
    MTLM_STORE_CONTROL, /* No data, only ordering: a ring of one-element slots.
                           A node may read a slot before any node writes it. */
};

/* A tensor of this rank: its shard under tensor parallelism. */
struct mtlm_tensor {
    char *name; /* "layers.3.mlp.dense_h_to_4h.weight" */
    struct mtlm_shape shape;
    enum mtlm_dtype dtype;
    enum mtlm_storage storage;
    int id;    /* 0 .. graph->n_tensors - 1 */
    int slots; /* ring length; 1 for a tensor that is no ring */
    int stage; /* virtual stage; -1: none */
    /* Orders the passes of lanes: an item occupies the slot of its lane
     * (graph/build/turn.h), whatever its use number. */
    bool by_lane;
    /* Versions of a weight, of its gradient and of the loss: an item occupies
     * the slot of its iteration (graph/build/version.h), whatever its use
     * number. */
    bool by_iteration;
    /* The tensor whose memory this one names; NULL: no alias. */
    struct mtlm_tensor *alias_of;
    /* Shared ring (graph/build/pool.h): pool owns the slots; NULL: the tensor
     * shares no ring.  A microbatch has pool_size slots in the ring, and the
     * tensor uses slot pool_index of them.  Use u occupies slot (u * pool_size
     * + pool_index) modulo pool->slots. */
    struct mtlm_tensor *pool;
    int pool_index, pool_size;
    /* Slots by an order (graph/build/order_pool.h): use u occupies slot
     * slot_of[u modulo n_slot_of] of pool.  NULL: slots follow the number of
     * the use. */
    int *slot_of, n_slot_of;
    /* Memory block, and offset in the block in bytes.  block -1: the tensor has
     * memory of its own. */
    int block;
    int64_t offset;
    int64_t stride; /* bytes from slot to slot in the block */
    /* The memory overlaps other tensors of the block; control uses order the
     * nodes that use both.  Example: a reduced gradient.  MPI's in-place
     * reduce-scatter overwrites the whole block, so no node may read another
     * gradient of the block until all gradients are cleared. */
    bool view;
    /* Place in the rank's file (graph/build/offload.h): piece, -1: none, and
     * bytes behind the begin of the piece.  The tensor may end in a later
     * piece. */
    int piece;
    int64_t piece_offset;
    /* The unit that brings the tensor's memory from the disk; -1: the memory
     * stays. */
    int unit;
    /* Gradient; NULL until a gradient exists. */
    struct mtlm_tensor *grad;
    /* Received from another rank: the ring has one slot more than the window.
     * The next microbatch's message can then travel while the other slots are
     * in use. */
    bool received;
    /* Activations: the phase that writes the tensor and the phase of its last
     * use.  The two phases decide the ring length (graph/schedule/window.h). */
    enum mtlm_phase first_use, last_use;
};

/* One use of a tensor by a node.  control: ordering only, no data. */
struct mtlm_use {
    struct mtlm_tensor *tensor;
    enum mtlm_access access;
    bool control;
};

struct mtlm_uses {
    struct mtlm_use *use;
    int n;
    size_t capacity;
};

struct mtlm_node {
    int id;                                         /* 0 .. graph->all.n - 1 */
    struct mtlm_call call;                          /* first call of the node */
    struct mtlm_tensor *operand[MTLM_MAX_OPERANDS]; /* its operands */
    /* Further uses, in this order.  A node of several calls: the operands of
     * the later calls, as mtlm_call_spread() takes them.  A bucket's message:
     * its tensors in memory order, sent (MTLM_R, or MTLM_RW in place) before
     * received (MTLM_W).  Every node: control uses last. */
    struct mtlm_uses extra;
    enum mtlm_phase phase;
    enum mtlm_lane lane;
    int stage;           /* virtual stage in the whole model */
    int layer;           /* layer in the whole model; -1 outside the layers */
    bool recomputes;     /* repeats an earlier node (graph/build/recompute.h) */
    bool with_backward;  /* W that reads recomputed tensors: runs with B */
    double flops, bytes; /* operations; bytes of operands */
};

/* Nodes in program order. */
struct mtlm_list {
    struct mtlm_node **node;
    int n;
    size_t capacity;
};

struct mtlm_graph {
    struct mtlm_tensor **tensor;
    int n_tensors;
    size_t tensor_capacity;
    size_t *block; /* [n_blocks], bytes */
    int n_blocks;
    struct mtlm_list all; /* every node, in creation order; owns the nodes */
    /* List, phase, stage and layer of the next nodes (mtlm_graph_at()). */
    struct mtlm_list *into;
    enum mtlm_phase phase;
    int stage, layer;
};

/* Returns an empty graph.  The caller frees the graph with
 * mtlm_graph_destroy(). */
struct mtlm_graph *mtlm_graph_create(void);

/* Frees the graph with its nodes and tensors; NULL is allowed. */
void mtlm_graph_destroy(struct mtlm_graph *graph);

/* Makes the following calls of mtlm_graph_call() append their nodes to list.
 * The nodes get phase, stage and layer.  The graph borrows list. */
void mtlm_graph_at(struct mtlm_graph *graph, struct mtlm_list *list,
                   enum mtlm_phase phase, int stage, int layer);

/* Returns a new tensor with one slot; the graph owns the tensor.  Copies name.
 * mtlm_ring_apply() sets the slots of activations later. */
struct mtlm_tensor *mtlm_graph_tensor(struct mtlm_graph *graph,
                                      enum mtlm_storage storage,
                                      const char *name, struct mtlm_shape shape,
                                      enum mtlm_dtype dtype);

/* Returns the number of a new, empty memory block. */
int mtlm_graph_block(struct mtlm_graph *graph);

/* Puts tensor into block at offset, a multiple of 32 bytes.  Widens the block
 * to hold the tensor. */
void mtlm_graph_place(struct mtlm_graph *graph, struct mtlm_tensor *tensor,
                      int block, int64_t offset);

/* Makes the block at least `bytes` bytes long. */
void mtlm_graph_widen(struct mtlm_graph *graph, int block, size_t bytes);

/* Appends a node with one call of kind to the current list and returns the
 * node.  given[] holds the MTLM_R and MTLM_RW operands at their positions.
 * NULL at the position of an MTLM_W operand makes a new activation with the
 * inferred shape.  attr may be NULL.  Shapes that do not match are a bug of the
 * caller and end the program. */
struct mtlm_node *mtlm_graph_call(struct mtlm_graph *graph,
                                  enum mtlm_op_kind kind,
                                  const union mtlm_attr *attr,
                                  struct mtlm_tensor *const given[]);

/* Adds a further call of the same operation to node.  In the node's list the
 * tensors that the call reads must be complete there.  given[] holds all
 * operands.  Shared operands are the first call's; other operands belong to no
 * other call of the node.  A node has at most MTLM_MAX_CALLS calls. */
void mtlm_graph_add_call(struct mtlm_node *node, const union mtlm_attr *attr,
                         struct mtlm_tensor *const given[]);

/* Appends a further use to node. */
void mtlm_node_add_use(struct mtlm_node *node, struct mtlm_tensor *tensor,
                       enum mtlm_access access, bool control);

/* Returns the number of uses of a node: operands and further uses.  All
 * dependencies between nodes come from uses. */
int mtlm_node_n_uses(const struct mtlm_node *node);

/* Returns use i of a node, 0 <= i < mtlm_node_n_uses(). */
struct mtlm_use mtlm_node_use(const struct mtlm_node *node, int i);

/* Returns the phase whose pass the node runs in, where B and W are apart: the
 * node's own, or B for W that runs with B. */
enum mtlm_phase mtlm_node_pass(const struct mtlm_node *node);

/* Appends node to list; the graph keeps owning the node. */
void mtlm_list_append(struct mtlm_list *list, struct mtlm_node *node);

/* Frees the list's array, not the nodes. */
void mtlm_list_free(struct mtlm_list *list);

/* Returns the tensor that an alias names, or tensor itself.  Follows no
 * pool. */
static inline struct mtlm_tensor *mtlm_tensor_owner(struct mtlm_tensor *tensor)
{
    while (tensor->alias_of)
        tensor = tensor->alias_of;
    return tensor;
}

/* The memory of one use of a tensor: a slot of owner's ring. */
struct mtlm_slot {
    const struct mtlm_tensor *owner;
    int64_t slot;
};

/* Returns the slot that the tensor occupies at its use number `use`, from 0. */
struct mtlm_slot mtlm_tensor_slot(const struct mtlm_tensor *tensor,
                                  int64_t use);

/* A submission of a node: the numbers by which its tensors find their slots. */
struct mtlm_submission {
    int64_t use;       /* of the tensors, from 0 */
    int64_t iteration; /* of a validation or a save: the iteration before */
    int lane;          /* struct mtlm_item */
};

/* Returns the use number with which a submission finds its slot of the
 * tensor. */
static inline int64_t mtlm_tensor_use(const struct mtlm_tensor *tensor,
                                      const struct mtlm_submission *at)
{
    return tensor->by_lane        ? at->lane
           : tensor->by_iteration ? at->iteration
                                  : at->use;
}

/* Returns whether the tensor has slots of its own: no alias, no shared ring. */
static inline bool mtlm_tensor_is_owner(const struct mtlm_tensor *tensor)
{
    return !tensor->alias_of && !tensor->pool;
}

/* Returns whether the tensor is a copy that lies on the disk only. */
static inline bool mtlm_tensor_is_on_disk(const struct mtlm_tensor *tensor)
{
    return tensor->storage == MTLM_STORE_SAVED && tensor->piece >= 0;
}

/* Returns whether slots of both tensors are alike. */
static inline bool mtlm_tensor_is_like(const struct mtlm_tensor *a,
                                       const struct mtlm_tensor *b)
{
    return a->dtype == b->dtype && mtlm_shape_equal(&a->shape, &b->shape);
}

/* Returns the elements of a communication node's message.  Reductions: the full
 * vector.  All-gathers: one rank's block. */
int64_t mtlm_node_elems(const struct mtlm_node *node);

/* Returns the bytes of operands that a node reads and writes.  Of a
 * communication node: the bytes of its message. */
double mtlm_node_bytes(const struct mtlm_node *node);

/* Returns the elements of one slot of the tensor. */
static inline int64_t mtlm_tensor_elems(const struct mtlm_tensor *tensor)
{
    return mtlm_shape_elems(&tensor->shape);
}

/* Returns the bytes of one slot of the tensor. */
double mtlm_tensor_bytes(const struct mtlm_tensor *tensor);

#endif /* MTLM_GRAPH_H */
