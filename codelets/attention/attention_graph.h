#ifndef MTLM_ATTENTION_GRAPH_H
#define MTLM_ATTENTION_GRAPH_H

/* Attention as graphs of cuDNN operations that cuDNN recognises as its fused
 * attention.  The order of operations is that of cuDNN's documentation. */

#include "codelets/cudnn/cudnn_graph.h"

/* Shape of attention on whole samples.  The tensors have the layouts that
 * attention.c describes. */
struct mtlm_attention_graph {
    int64_t samples, heads, rows, d;
    cudnnDataType_t type; /* CUDNN_DATA_BFLOAT16 or CUDNN_DATA_HALF */
    bool causal;
    double dropout;
};

/* Numbers of the tensors.  Q, K and V begin at head 0 of sample 0.  LENGTHS_Q
 * and LENGTHS_K are both the operand lengths.  The caller passes floats by
 * value, in host memory. */
enum {
    MTLM_ATTG_Q = 1,
    MTLM_ATTG_K,
    MTLM_ATTG_V,
    MTLM_ATTG_Y,
    MTLM_ATTG_LSE,
    MTLM_ATTG_LENGTHS_Q,
    MTLM_ATTG_LENGTHS_K,
    MTLM_ATTG_SCALE,  /* float: factor on the scores */
    MTLM_ATTG_PADDED, /* float: -infinity */
    MTLM_ATTG_UNSEEN, /* float: -infinity; only if causal */
    MTLM_ATTG_SEED,   /* SEED, OFFSET, KEEP: only with dropout */
    MTLM_ATTG_OFFSET,
    MTLM_ATTG_KEEP, /* float: 1 / (1 - p) */
    /* Backward. */
    MTLM_ATTG_DY,
    MTLM_ATTG_DQ,
    MTLM_ATTG_DK,
    MTLM_ATTG_DV,
    MTLM_ATTG_KEPT, /* float: 1 - p, also without dropout */
    MTLM_ATTG_SUMS, /* float [samples, heads, rows], private */
    MTLM_ATTG_COUNT
};

/* Builds the forward graph in *graph. */
void mtlm_attention_graph_fwd(struct mtlm_cudnn_graph *graph,
                              const struct mtlm_attention_graph *of);

/* Builds the backward graph in *graph. */
void mtlm_attention_graph_bwd(struct mtlm_cudnn_graph *graph,
                              const struct mtlm_attention_graph *of);

#endif /* MTLM_ATTENTION_GRAPH_H */
