#ifndef MTLM_GROUP_H
#define MTLM_GROUP_H

/* Groups of ranks, each with its own collectives. */
enum mtlm_group {
    MTLM_GROUP_TP,        /* tensor parallel: shards of the same layers */
    MTLM_GROUP_DP,        /* data parallel: replicas of the same shards */
    MTLM_GROUP_EMBEDDING, /* holders of the tied word embedding */
    MTLM_GROUP_WORLD,     /* all ranks */
    MTLM_GROUP_COUNT
};

/* Most memory, in bytes, that a sum of two ranks takes besides the values
 * (runtime/comm/pair_sum.h). */
enum { MTLM_PAIR_SUM_BYTES = 2 << 20 };

/* What a reduction computes. */
enum mtlm_reduce { MTLM_REDUCE_SUM, MTLM_REDUCE_MAX };

#endif /* MTLM_GROUP_H */
