#ifndef MTLM_GRAPH_CHOOSE_H
#define MTLM_GRAPH_CHOOSE_H

#include "graph/predict/outline.h"
#include "graph/schedule/stage_wish.h"

/* Where a job is to run: ranks processes, per_host of them on each machine,
 * numbered machine by machine; available bytes on the one that has least.
 * Where ranks drive GPUs, gpus of them on each machine, available bytes are
 * those that a rank may take of its own, again where they are least. */
struct mtlm_hosts {
    int ranks, per_host;
    int gpus; /* 0: none */
    double available;
    double unshared;      /* of a GPU, if no other process held any of it */
    double process_bytes; /* what each process has of its own already */
};

/* What is to be trained, and what may be chosen for it. */
struct mtlm_wish {
    /* Model, workers, window and so on.  Layout and micro_batch are what was
     * asked for; virtual stages and the numbers of microbatches follow from
     * the next three. */
    struct mtlm_program_config config;
    struct mtlm_stage_wish stages;
    int64_t global_batch; /* 0: one microbatch of each data-parallel rank */
    int64_t eval_iters;
    bool layout_free;
    bool window_free;      /* alpha may become larger */
    bool micro_batch_free; /* micro_batch may become a divisor of itself */
    bool hurry; /* what does not fit need not be worked out, nor replicas
                 * of what does be looked for */
};

struct mtlm_choice {
    int tp, pp, dp;
    int64_t micro_batch;
    double window;  /* alpha */
    bool fits;      /* with something to spare when there was a choice */
    double need;    /* bytes on the fullest machine, or GPU */
    double seconds; /* of an iteration, forecast; 0: not compared */
    bool least;     /* it needs at least that: not worked out further */
};

/* Of the layouts that fit into memory the one with the shortest iteration
 * (graph/predict/forecast.h): among those that hold a model on the fewest ranks
 * that can (the most, where virtual stages are asked for) or on a few times as
 * many, the rest being data-parallel.  For each, the largest micro batch that
 * fits.  Where none fits, the one that needs least.  In a tensor-parallel
 * choice windows then grow by a microbatch, if that fits as well and the
 * schedule is none of the published ones: it is what there is to do while an
 * all-reduce is under way. -1: there is no layout for so many ranks. */
int mtlm_choose(const struct mtlm_wish *wish, const struct mtlm_hosts *hosts,
                struct mtlm_choice *choice);

/* Whether ranks can share the model at all, t of them each layer: t divides
 * them, the heads and the MLP, and the stages are no more than the layers. */
bool mtlm_choose_possible(const struct mtlm_wish *wish, int ranks, int t);

/* Whether there is a layout for so many ranks, whatever the memory. */
bool mtlm_choose_any(const struct mtlm_wish *wish, int ranks);

/* What must be available: bytes on the fullest machine, or GPU. */
double mtlm_choose_need(const struct mtlm_hosts *hosts,
                        const struct mtlm_outline *outline);

/* The configuration with a choice made. */
struct mtlm_program_config mtlm_wish_config(const struct mtlm_wish *wish,
                                            int tp, int pp, int dp,
                                            int64_t micro_batch);

#endif /* MTLM_GRAPH_CHOOSE_H */
