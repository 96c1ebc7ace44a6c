#ifndef MTLM_LAYOUT_LIST_H
#define MTLM_LAYOUT_LIST_H

/* The layouts that a job can have on a cluster, in the order of an estimate:
 * those of the least time of a sample first. */

#include "graph/order/published.h"
#include "graph/predict/choose.h"
#include "launch/options/options.h"
#include "launch/simulate/layout_estimate.h"

struct mtlm_layout_found {
    int tp, pp, dp, virtual_stages;
    int64_t micro_batch;
    int granularity;     /* of struct mtlm_recompute */
    double estimated_s;  /* of an iteration */
    double seconds;      /* of an iteration, simulated */
    double window;       /* alpha; 0: not yet chosen */
    bool whole;          /* with all microbatches */
    bool unlike;         /* tensor-parallel groups on the hosts */
    int64_t samples;     /* of an iteration */
    double tasks;        /* of an iteration, on all evaluated ranks */
    double memory_bytes; /* of the fullest device */
};

struct mtlm_layout_list {
    /* What a search is given, borrowed. */
    const struct mtlm_options *options;
    const struct mtlm_wish *wish;
    const struct mtlm_hosts *hosts;
    const struct mtlm_cluster *cluster;
    struct mtlm_layout_estimate *estimate;
    bool follows; /* the order of a published schedule */
    bool recompute_free;
    struct mtlm_layout_found *layout; /* [n] */
    int n;
};

/* Lists the layouts of hosts->ranks ranks.  The caller destroys the list. */
struct mtlm_layout_list mtlm_layout_list_create(
    const struct mtlm_options *options, const struct mtlm_wish *wish,
    const struct mtlm_hosts *hosts, const struct mtlm_cluster *cluster);

void mtlm_layout_list_destroy(struct mtlm_layout_list *list);

/* Returns the wish with virtual stages, recomputation and windows of the
 * layout. */
struct mtlm_wish mtlm_layout_list_wish(const struct mtlm_layout_list *list,
                                       const struct mtlm_layout_found *f);

/* Returns the program of the layout's first rank. */
struct mtlm_program_config mtlm_layout_list_config(
    const struct mtlm_layout_list *list, const struct mtlm_layout_found *f);

/* Returns the order that the layout of config follows; NULL: none. */
const struct mtlm_published *mtlm_layout_list_order(
    const struct mtlm_layout_list *list,
    const struct mtlm_program_config *config);

#endif /* MTLM_LAYOUT_LIST_H */
