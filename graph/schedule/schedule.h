#ifndef MTLM_GRAPH_SCHEDULE_H
#define MTLM_GRAPH_SCHEDULE_H

/* Pipeline schedules (--schedule).  No schedule is a loop over tasks.  A
 * schedule chooses windows, priorities and a few edges; the order of tasks
 * follows at run time.  The entries are in graph/schedule/schedule_list.h. */

#include "graph/schedule/priority.h"
#include "graph/schedule/schedule_list.h"
#include "graph/schedule/window.h"

/* The windows of 1F1B: on equal stages, w_k = p - k. */
#define MTLM_ALPHA_1F1B 1.5

/* Where the windows of a schedule come from. */
enum mtlm_sizing {
    MTLM_SIZING_STAGES,  /* a formula of the stages */
    MTLM_SIZING_OPTIONS, /* --window, --act-mem or --stage-windows */
    MTLM_SIZING_SEARCH,  /* mtlm_search_schedule() chooses virtual stages,
                          * placement and windows within a memory limit */
};

struct mtlm_schedule {
    const char *name;   /* as --schedule spells it */
    const char *help;   /* one line */
    const char *source; /* the publication; NULL: none */
    enum mtlm_sizing sizing;
    /* MTLM_SIZING_SEARCH without --act-mem: the name of a schedule.  The memory
     * limit is the memory that this schedule needs. */
    const char *memory_of;
    bool fused; /* B and W are one: on each virtual stage, all W of a microbatch
                 * precede the send of B's result */
    /* Limits of the virtual stages per rank.  Options that give no number get
     * least_chunks. */
    int least_chunks, most_chunks; /* most_chunks 0: any number */
    /* The schedule requires `placement`. */
    bool placed;
    enum mtlm_placement placement;
    /* Sets w_k and q_k of window[stages].  Returns alpha, or 0 if the windows
     * do not come from alpha. */
    double (*windows)(const struct mtlm_window_model *model,
                      struct mtlm_window *window);
    const struct mtlm_priority_order *order; /* priorities of F, B and W */
    /* Ranks follow the published order of this name (graph/order/published.h)
     * unless --schedule-mode says how.  Windows and priorities serve until the
     * order is built.  false: ranks follow an order only if asked to. */
    bool followed;
};

#define MTLM_SCHEDULE_ONE(name, help, ...) +1
enum { MTLM_SCHEDULE_COUNT = 0 MTLM_SCHEDULE_LIST(MTLM_SCHEDULE_ONE) };

extern const struct mtlm_schedule mtlm_schedules[MTLM_SCHEDULE_COUNT];

/* Returns the schedule of that name, or NULL if there is none. */
const struct mtlm_schedule *mtlm_schedule_find(const char *name);

/* Sets w_k, q_k and g_k of window[stages].  Returns alpha, or 0 if the windows
 * do not come from alpha.  If the memory is too small, every w_k is the
 * smallest one. */
double mtlm_schedule_windows(const struct mtlm_schedule *schedule,
                             const struct mtlm_window_model *model,
                             struct mtlm_window *window);

/* Returns the input of mtlm_priority() for iterations of so many
 * microbatches. */
struct mtlm_priority mtlm_schedule_priority(
    const struct mtlm_schedule *schedule, const struct mtlm_layout *layout,
    int microbatches);

/* Returns whether the layout has the virtual stages and the placement that the
 * schedule requires. */
bool mtlm_schedule_fits(const struct mtlm_schedule *schedule,
                        const struct mtlm_layout *layout);

#endif /* MTLM_GRAPH_SCHEDULE_H */
