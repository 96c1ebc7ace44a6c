#ifndef MTLM_GRAPH_SCHEDULE_H
#define MTLM_GRAPH_SCHEDULE_H

/* Pipeline schedules (--schedule).  No schedule is a loop: a schedule is a
 * choice of windows, priorities and a few edges, from which an order of tasks
 * arises.  The entries are in graph/schedule/schedule_list.h. */

#include "graph/schedule/priority.h"
#include "graph/schedule/schedule_list.h"
#include "graph/schedule/window.h"

/* Where the windows of a schedule come from. */
enum mtlm_sizing {
    MTLM_SIZING_STAGES,  /* a formula of the stages */
    MTLM_SIZING_OPTIONS, /* --window, --act-mem or --stage-windows */
    MTLM_SIZING_SEARCH,  /* mtlm_search_schedule() chooses virtual stages,
                          * placement and windows within a memory */
};

struct mtlm_schedule {
    const char *name;   /* as --schedule spells it */
    const char *help;   /* one line */
    const char *source; /* the publication; NULL: none */
    enum mtlm_sizing sizing;
    /* Of a search: without --act-mem, the memory is that of this schedule. */
    const char *memory_of;
    bool fused; /* B and W are one: all W of a microbatch precede the send of
                 * its B */
    /* Virtual stages on a rank.  Where options give none, there are
     * least_chunks. */
    int least_chunks, most_chunks; /* most_chunks 0: any number */
    /* The schedule is about which stages a rank holds: it needs placement. */
    bool placed;
    enum mtlm_placement placement;
    /* Sets w_k and q_k of window[stages].  Returns alpha; 0: none was used. */
    double (*windows)(const struct mtlm_window_model *model,
                      struct mtlm_window *window);
    const struct mtlm_priority_order *order; /* of F, B and W */
};

#define MTLM_SCHEDULE_ONE(name, help, ...) +1
enum { MTLM_SCHEDULE_COUNT = 0 MTLM_SCHEDULE_LIST(MTLM_SCHEDULE_ONE) };

extern const struct mtlm_schedule mtlm_schedules[MTLM_SCHEDULE_COUNT];

/* Returns the schedule of that name, or NULL. */
const struct mtlm_schedule *mtlm_schedule_find(const char *name);

/* Sets window[stages].  Returns alpha; 0: none was used.  Where the memory is
 * too small, every window is the least one. */
double mtlm_schedule_windows(const struct mtlm_schedule *schedule,
                             const struct mtlm_window_model *model,
                             struct mtlm_window *window);

/* Returns the input of the priorities of an iteration of microbatches. */
struct mtlm_priority mtlm_schedule_priority(
    const struct mtlm_schedule *schedule, const struct mtlm_layout *layout,
    int microbatches);

/* Returns whether a rank of the layout may have this schedule. */
bool mtlm_schedule_fits(const struct mtlm_schedule *schedule,
                        const struct mtlm_layout *layout);

#endif /* MTLM_GRAPH_SCHEDULE_H */
