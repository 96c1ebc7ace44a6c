#ifndef MTLM_GRAPH_STAGE_TIMES_H
#define MTLM_GRAPH_STAGE_TIMES_H

/* Times of the passes of a pipeline.  Windows, evaluation and search of a
 * schedule count by the same times. */

struct mtlm_stage_times {
    int stages; /* virtual stages of the model; 0: no times */
    /* [stages] seconds of F, B and W of a microbatch on one worker, all
     * positive.  backward and weight are parts of forward's block. */
    double *forward, *backward, *weight;
    double hop; /* seconds of a message between two ranks; >= 0 */
};

/* Returns times that are all 0.  The caller frees the times with
 * mtlm_stage_times_free(). */
struct mtlm_stage_times mtlm_stage_times_create(int stages);

/* Frees the arrays and sets *times to no times. */
void mtlm_stage_times_free(struct mtlm_stage_times *times);

#endif /* MTLM_GRAPH_STAGE_TIMES_H */
