#ifndef MTLM_GROUP_H
#define MTLM_GROUP_H

/* Groups of ranks that communicate collectively. */
enum mtlm_group {
    MTLM_GROUP_TP,        /* the ranks that share each layer */
    MTLM_GROUP_DP,        /* the ranks with the same part of the model */
    MTLM_GROUP_EMBEDDING, /* the holders of the tied word embedding */
    MTLM_GROUP_WORLD,
    MTLM_GROUP_COUNT
};

enum mtlm_reduce { MTLM_REDUCE_SUM, MTLM_REDUCE_MAX };

#endif /* MTLM_GROUP_H */
