#ifndef MTLM_GRAPH_CHOOSE_H
#define MTLM_GRAPH_CHOOSE_H

/* Choice of a layout and a micro batch for given machines. */

#include "graph/predict/outline.h"
#include "graph/predict/stage_cost.h"
#include "graph/schedule/stage_wish.h"

/* The machines of a job.  Each has per_host ranks with consecutive numbers. */
struct mtlm_hosts {
    int ranks, per_host;
    int gpus; /* on each machine; 0: none */
    /* Available bytes of the machine with the least memory.  With GPUs: of the
     * GPU with the least memory, for one rank. */
    double available;
    bool elsewhere; /* the job has other machines, of unknown memory: no
                     * micro batch shrinks to fit */
    /* Free bytes for offloaded state, on each machine: of a disk.  With GPUs:
     * of host memory, for all that ranks keep there.  0: none, or unknown. */
    double disk;
    double disk_need;     /* bytes with which the job would fit; 0: unknown */
    double unshared;      /* available, if no other process used the GPU */
    double process_bytes; /* resident bytes of each process before the choice */
};

/* The model to train, and the settings that may be chosen. */
struct mtlm_wish {
    /* layout and micro_batch as the options ask.  Virtual stages and the
     * numbers of microbatches follow from the next three fields. */
    struct mtlm_program_config config;
    struct mtlm_stage_wish stages;
    /* Models the times of the stages; without a cluster, config.times says
     * them.  Layouts are compared without either. */
    struct mtlm_stage_cost machine;
    /* An order to follow, borrowed; NULL: none.  The config of a layout has
     * the order if ranks, virtual stages and microbatches are the order's. */
    const struct mtlm_box_order *order;
    int64_t order_microbatches;
    int64_t global_batch; /* samples; 0: a microbatch per data-parallel rank */
    int64_t eval_iters;
    bool stages_fixed; /* a search keeps virtual stages and placement */
    bool policy_free;  /* a search may prefer a scheduling policy */
    bool layout_free;
    bool window_free;      /* alpha may grow: mtlm_choose() */
    bool micro_batch_free; /* a divisor of micro_batch may replace micro_batch,
                            * see mtlm_wish_can_share() */
    bool hurry; /* stop at the first layout that fits; all ranks share one model
                 * (dp = 1); layouts that do not fit get no exact plan */
};

struct mtlm_choice {
    int tp, pp, dp;
    int virtual_stages; /* of a rank, when the layout was compared */
    int64_t micro_batch;
    int64_t samples; /* of an iteration, when the layout was compared */
    double window;   /* alpha */
    bool fits;       /* into memory of machine or GPU and host, with a margin */
    double need;     /* bytes on the fullest machine, or GPU */
    double seconds;  /* forecast of an iteration; 0: not compared */
    bool least;      /* need is a lower bound, not an exact plan */
};

/* Layouts that were compared. */
struct mtlm_choices {
    struct mtlm_choice *list; /* [n] they fit, and have a forecast */
    int n;
};

/* Returns whether so many bytes fit on the machine or GPU, with a margin:
 * plans are not known more exactly. */
bool mtlm_choose_fits(const struct mtlm_hosts *hosts, double need);

/* Sets *choice and returns 0.  Returns -1 if no layout has so many ranks.  Of
 * the layouts that fit into memory, takes the one with the shortest forecast
 * of a sample (graph/predict/forecast.h).  Without a global batch, iterations
 * of more replicas have more samples.  If none fits, takes the one that needs
 * least memory.
 *
 * A model is spread over the fewest ranks that can hold the model, or over up
 * to four times as many.  If virtual stages are asked for, the model is spread
 * over the most ranks.  The other ranks are data-parallel.  Each layout has the
 * largest micro batch that divides the batches and fits.
 *
 * In a tensor-parallel choice and on GPUs, windows grow by one microbatch.  It
 * is computed during all-reduces, and in the gaps between the tasks of another
 * one.  The windows grow only if they still fit and the schedule takes alpha
 * from the options. */
int mtlm_choose(const struct mtlm_wish *wish, const struct mtlm_hosts *hosts,
                struct mtlm_choice *choice);

/* As mtlm_choose().  Sets *compared to the layouts that were compared, in the
 * order of the search; the caller frees compared->list. */
int mtlm_choose_comparing(const struct mtlm_wish *wish,
                          const struct mtlm_hosts *hosts,
                          struct mtlm_choice *choice,
                          struct mtlm_choices *compared);

/* Returns the alpha that mtlm_choose() takes for a given layout. */
double mtlm_choose_window(const struct mtlm_wish *wish,
                          const struct mtlm_hosts *hosts, int tp, int pp,
                          int64_t micro_batch);

/* Returns whether `ranks` ranks can share a model with tensor-parallel size t.
 * t must divide ranks, attention heads and MLP size, and the layers must
 * suffice for the stages. */
bool mtlm_choose_possible(const struct mtlm_wish *wish, int ranks, int t);

/* Returns whether any layout has so many ranks, regardless of memory. */
bool mtlm_choose_any(const struct mtlm_wish *wish, int ranks);

/* Returns whether dp data-parallel ranks can share the batches: micro_batch
 * samples per rank divide the global batch, and every step of its ramp-up. They
 * cut no question of a task (mtlm_model_choices()). */
bool mtlm_wish_can_share(const struct mtlm_wish *wish, int dp,
                         int64_t micro_batch);

/* Returns the bytes that the outline needs on the fullest machine, or GPU. */
double mtlm_choose_need(const struct mtlm_hosts *hosts,
                        const struct mtlm_outline *outline);

/* Returns the same of config, whose activations need not be measured. */
double mtlm_choose_need_of(const struct mtlm_hosts *hosts,
                           const struct mtlm_program_config *config);

/* Returns wish->config with the given layout and micro batch.  With act_mem,
 * call mtlm_activation_memory_measure() before you build a program from the
 * result. */
struct mtlm_program_config mtlm_wish_config(const struct mtlm_wish *wish,
                                            int tp, int pp, int dp,
                                            int64_t micro_batch);

/* As mtlm_wish_config(), with layout and micro batch of the choice. */
struct mtlm_program_config mtlm_choice_config(const struct mtlm_wish *wish,
                                              const struct mtlm_choice *choice);

#endif /* MTLM_GRAPH_CHOOSE_H */
