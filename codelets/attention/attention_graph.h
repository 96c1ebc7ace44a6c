#ifndef MTLM_ATTENTION_GRAPH_H
#define MTLM_ATTENTION_GRAPH_H

/* Attention as graphs of cuDNN operations.  The operations follow the order in
 * cuDNN's documentation, so that cuDNN recognises fused attention. */

#include "codelets/cudnn/cudnn_graph.h"

/* Shape of attention on whole samples; attention.c describes the layout of the
 * tensors. */
struct mtlm_attention_graph {
    /* rows: length of a sample; d: elements per query, key, value */
    int64_t samples, heads, rows, d;
    cudnnDataType_t type; /* CUDNN_DATA_BFLOAT16 or CUDNN_DATA_HALF */
    bool causal;
    double dropout; /* probability p of dropping an element */
};

/* Numbers under which mtlm_cudnn_run() takes the addresses of the tensors.  Q,
 * K and V begin at head 0 of sample 0.  LENGTHS_Q and LENGTHS_K have one
 * address: attention's operand lengths.  Tensors marked float are one number in
 * host memory. */
enum {
    MTLM_ATTG_Q = 1,
    MTLM_ATTG_K,
    MTLM_ATTG_V,
    MTLM_ATTG_Y,
    MTLM_ATTG_LSE, /* [samples, heads, rows], in fp32 */
    MTLM_ATTG_LENGTHS_Q,
    MTLM_ATTG_LENGTHS_K,
    MTLM_ATTG_SCALE,  /* float: factor on the scores */
    MTLM_ATTG_PADDED, /* float: -infinity */
    MTLM_ATTG_UNSEEN, /* float: -infinity; only if causal */
    MTLM_ATTG_SEED,   /* int64; SEED, OFFSET, KEEP: only with dropout */
    MTLM_ATTG_OFFSET, /* int64 */
    MTLM_ATTG_KEEP,   /* float: 1 / (1 - p) */
    /* Backward. */
    MTLM_ATTG_DY,
    MTLM_ATTG_DQ,
    MTLM_ATTG_DK,
    MTLM_ATTG_DV,
    MTLM_ATTG_KEPT, /* float: 1 - p, also without dropout */
    MTLM_ATTG_SUMS, /* [samples, heads, rows], in fp32: scratch */
    MTLM_ATTG_COUNT
};

/* Adds the forward graph to *graph, which mtlm_cudnn_graph_start() has started.
 * *graph keeps errors. */
void mtlm_attention_graph_fwd(struct mtlm_cudnn_graph *graph,
                              const struct mtlm_attention_graph *of);

/* Adds the backward graph to *graph, as above. */
void mtlm_attention_graph_bwd(struct mtlm_cudnn_graph *graph,
                              const struct mtlm_attention_graph *of);

#endif /* MTLM_ATTENTION_GRAPH_H */
