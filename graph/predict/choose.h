#ifndef MTLM_GRAPH_CHOOSE_H
#define MTLM_GRAPH_CHOOSE_H

/* Choice of a layout and a micro batch for given machines. */

#include "graph/predict/outline.h"
#include "graph/schedule/stage_wish.h"

/* The machines of a job: per_host ranks on each, numbered machine by machine.
 */
struct mtlm_hosts {
    int ranks, per_host;
    int gpus; /* on each machine; 0: none */
    /* Bytes of the machine that has least; with GPUs, of the GPU that has
     * least, for one rank. */
    double available;
    double unshared;      /* the same of a GPU without other processes on it */
    double process_bytes; /* resident bytes of each process already */
};

/* What to train, and what may be chosen. */
struct mtlm_wish {
    /* Layout and micro_batch are what the options ask for.  Virtual stages and
     * the numbers of microbatches follow from the next three fields. */
    struct mtlm_program_config config;
    struct mtlm_stage_wish stages;
    int64_t global_batch; /* samples; 0: a microbatch per data-parallel rank */
    int64_t eval_iters;
    bool layout_free;
    bool window_free;      /* alpha may grow */
    bool micro_batch_free; /* micro_batch may become a divisor of itself */
    bool hurry; /* stop at the first layout that fits; tries no replicas, and
                 * works out no layout that does not fit */
};

struct mtlm_choice {
    int tp, pp, dp;
    int64_t micro_batch;
    double window;  /* alpha */
    bool fits;      /* into memory, with a margin */
    double need;    /* bytes on the fullest machine, or GPU */
    double seconds; /* forecast of an iteration; 0: not compared */
    bool least;     /* need is a lower bound: not worked out further */
};

/* Sets the choice.  Of the layouts that fit into memory, takes the one with the
 * shortest forecast (graph/predict/forecast.h); where none fits, the one that
 * needs least.  Returns -1 if no layout has so many ranks.
 *
 * A model is spread over the fewest ranks that can hold it, or a few times as
 * many; over the most, where virtual stages are asked for.  The other ranks are
 * data-parallel.  Each layout has the largest micro batch that fits.
 *
 * In a tensor-parallel choice windows grow by a microbatch, which is computed
 * during all-reduces, if that fits too and the schedule takes windows. */
int mtlm_choose(const struct mtlm_wish *wish, const struct mtlm_hosts *hosts,
                struct mtlm_choice *choice);

/* Returns whether `ranks` can share a model with tensor-parallel size t: t
 * divides ranks, heads and MLP, and the layers suffice for the stages. */
bool mtlm_choose_possible(const struct mtlm_wish *wish, int ranks, int t);

/* Returns whether any layout has so many ranks, whatever the memory. */
bool mtlm_choose_any(const struct mtlm_wish *wish, int ranks);

/* Returns the bytes that the outline needs on the fullest machine, or GPU. */
double mtlm_choose_need(const struct mtlm_hosts *hosts,
                        const struct mtlm_outline *outline);

/* Returns the configuration of the wish in the given layout.  With act_mem,
 * call mtlm_activation_memory_measure() before a program is made of it. */
struct mtlm_program_config mtlm_wish_config(const struct mtlm_wish *wish,
                                            int tp, int pp, int dp,
                                            int64_t micro_batch);

#endif /* MTLM_GRAPH_CHOOSE_H */
