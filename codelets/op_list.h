#ifndef MTLM_OP_LIST_H
#define MTLM_OP_LIST_H

/* The list of operations.  A new operation takes one line here: suffix of enum
 * mtlm_op_kind, name.  A .c file in codelets/ defines the operation's struct
 * mtlm_op and CPU kernel.  A .cu file has the CUDA kernel, if any. */
#define MTLM_OP_LIST(OP)                                                       \
    OP(BATCH, batch)                                                           \
    OP(LOSS_WEIGHTS, loss_weights)                                             \
    OP(EMBEDDING_FWD, embedding_fwd)                                           \
    OP(EMBEDDING_WGRAD, embedding_wgrad)                                       \
    OP(TOKEN_TYPE_FWD, token_type_fwd)                                         \
    OP(POSITION_DROPOUT_FWD, position_dropout_fwd)                             \
    OP(POSITION_DROPOUT_BWD, position_dropout_bwd)                             \
    OP(EMBEDDING_DROPOUT_FWD, embedding_dropout_fwd)                           \
    OP(EMBEDDING_DROPOUT_BWD, embedding_dropout_bwd)                           \
    OP(LAYERNORM_FWD, layernorm_fwd)                                           \
    OP(LAYERNORM_BWD, layernorm_bwd)                                           \
    OP(LAYERNORM_BWD_ADD, layernorm_bwd_add)                                   \
    OP(LINEAR_FWD, linear_fwd)                                                 \
    OP(LINEAR_BIAS_FWD, linear_bias_fwd)                                       \
    OP(LINEAR_DGRAD, linear_dgrad)                                             \
    OP(LINEAR_DGRAD_ADD, linear_dgrad_add)                                     \
    OP(LINEAR_WGRAD, linear_wgrad)                                             \
    OP(LINEAR_BIAS_WGRAD, linear_bias_wgrad)                                   \
    OP(PACK, pack)                                                             \
    OP(LINEAR_GELU_FWD, linear_gelu_fwd)                                       \
    OP(GELU_LINEAR_FWD, gelu_linear_fwd)                                       \
    OP(GELU_LINEAR_DGRAD, gelu_linear_dgrad)                                   \
    OP(BIAS_GELU_FWD, bias_gelu_fwd)                                           \
    OP(BIAS_GELU_BWD, bias_gelu_bwd)                                           \
    OP(BIAS_TANH_FWD, bias_tanh_fwd)                                           \
    OP(BIAS_TANH_BWD, bias_tanh_bwd)                                           \
    OP(BIAS_DROPOUT_ADD_FWD, bias_dropout_add_fwd)                             \
    OP(BIAS_DROPOUT_ADD_BWD, bias_dropout_add_bwd)                             \
    OP(ATTENTION_FWD, attention_fwd)                                           \
    OP(ATTENTION_BWD, attention_bwd)                                           \
    OP(ATTENTION_BWD_ADD, attention_bwd_add)                                   \
    OP(ATTENTION_MORE_FWD, attention_more_fwd)                                 \
    OP(ATTENTION_MORE_BWD, attention_more_bwd)                                 \
    OP(ATTENTION_CACHED, attention_cached)                                     \
    OP(LAST_ROW, last_row)                                                     \
    OP(SAMPLE_TOKEN, sample_token)                                             \
    OP(XENT_STATS, xent_stats)                                                 \
    OP(XENT_RESCALE, xent_rescale)                                             \
    OP(XENT_LOSS, xent_loss)                                                   \
    OP(XENT_BWD, xent_bwd)                                                     \
    OP(ACCURACY, accuracy)                                                     \
    OP(LABEL_MISSES, label_misses)                                             \
    OP(LABEL_HITS, label_hits)                                                 \
    OP(POOL_FWD, pool_fwd)                                                     \
    OP(POOL_BWD, pool_bwd)                                                     \
    OP(SCORES_FWD, scores_fwd)                                                 \
    OP(SCORES_BWD, scores_bwd)                                                 \
    OP(ADD, add)                                                               \
    OP(ADD_CLEAR, add_clear)                                                   \
    OP(FILL, fill)                                                             \
    OP(ZERO, zero)                                                             \
    OP(SQUARE_SUM, square_sum)                                                 \
    OP(COUNT_ZEROS, count_zeros)                                               \
    OP(NORM, norm)                                                             \
    OP(PUBLISH, publish)                                                       \
    OP(FLAGS, flags)                                                           \
    OP(CONTROL_INIT, control_init)                                             \
    OP(CONTROL, control)                                                       \
    OP(EVAL_REPORT, eval_report)                                               \
    OP(ADAM, adam)                                                             \
    OP(ADAM_MASTER, adam_master)                                               \
    OP(ADAM_VERSION, adam_version)                                             \
    OP(SAVE, save)                                                             \
    OP(TP_COPY, tp_copy)                                                       \
    OP(ALL_REDUCE, all_reduce)                                                 \
    OP(REDUCE_SCATTER, reduce_scatter)                                         \
    OP(ALL_GATHER, all_gather)                                                 \
    OP(BUCKET_ALL_REDUCE, bucket_all_reduce)                                   \
    OP(BUCKET_REDUCE_SCATTER, bucket_reduce_scatter)                           \
    OP(BUCKET_ALL_GATHER, bucket_all_gather)                                   \
    OP(SEND, send)                                                             \
    OP(RECV, recv)                                                             \
    OP(LOAD, load)                                                             \
    OP(STORE, store)

#ifdef __cplusplus
extern "C" {
#endif

enum mtlm_op_kind {
#define OP(UC, lc) MTLM_OP_##UC,
    MTLM_OP_LIST(OP)
#undef OP
        MTLM_OP_COUNT
};

struct mtlm_op;

/* The table of operations, by kind. */
extern const struct mtlm_op *const mtlm_ops[MTLM_OP_COUNT];

#ifdef __cplusplus
}
#endif

#endif /* MTLM_OP_LIST_H */
